"""Targets: by name, module, class, callable; and what is said of those that are none."""

import array
import subprocess
import sys

import pytest

import lend
from lend.errors import LendError, NotHostAccessible, NotLendable, UnsupportedType
from support.names import plain_repr


@pytest.mark.parametrize("target", ["memoryview", memoryview])
def test_a_name_and_its_class_are_one_target(target):
    made = lend.to(bytearray(b"abcd"), target)
    assert type(made) is memoryview
    assert made.tolist() == [97, 98, 99, 100]


def test_a_callable_is_called_with_a_view():
    assert isinstance(lend.to(b"1234", lambda view: view), lend.View)


def test_a_callable_is_called_with_the_buffer_that_was_given():
    assert isinstance(lend.to(lend.buffer(b"1234"), lambda buffer: buffer), lend.Buffer)


def test_a_callable_is_given_fresh_memory_when_it_is_asked_for():
    lender = bytearray(b"abcd")
    view = lend.to(lender, lambda view: view, copy=True)
    lender[0] = 0
    assert (view.tolist(), view.readonly) == ([97, 98, 99, 100], False)


def test_what_a_callable_raises_passes():
    def fails(view):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lend.to(b"1234", fails)


def test_a_class_that_is_no_librarys_is_called():
    assert lend.to(b"1234", bytes) == b"1234"
    assert lend.to(b"1234", bytearray) == bytearray(b"1234")


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize(
    ("target", "text"), [("nummpy", "near: numpy"), ("zzz", "there are numpy"), ("x" * 99, "x{60}'\\.\\.\\.")]
)
def test_a_name_that_is_no_target_is_told_the_near_ones(function, target, text):
    with pytest.raises(ValueError, match=text):
        function(b"1234", target)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("np", "numpy"),
        ("Numpy", "numpy"),
        ("numpy.matrix", "numpy"),
        ("pytorch", "torch"),
        ("tensor", "torch"),
        ("jnp", "jax"),
        ("pa", "pyarrow"),
        ("arrow", "pyarrow"),
        ("buffer", "memoryview"),
        ("tvm", "tvm_ffi"),
    ],
)
def test_a_name_that_people_write_for_a_target_is_told_the_right_one(name, near):
    with pytest.raises(ValueError, match=rf"'{name}' names no target; near: {near}; there are numpy, torch"):
        lend.to(b"1234", name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("some/path.npy", r'lend writes no files: numpy\.save\(path, lend\.to\(x, "numpy"\)\)'),
        ("cupy", r'a function of it is one: lend\.to\(x, cupy\.asarray, device="cuda:0"\)'),
        ("cupy.ndarray", r'a function of it is one: lend\.to\(x, cupy\.asarray, device="cuda:0"\)'),
        ("cudf", r'a function of it is one: lend\.to\(x, cudf\.Series, device="cuda:0"\), of an array'),
        ("bytes", r"the class itself is one: lend\.to\(x, bytes\)"),
        ("PIL", r"lend\.to\(x, PIL\.Image\.fromarray\)"),
    ],
)
def test_a_text_that_is_something_else_than_a_target_is_told_what_to_do(name, told):
    with pytest.raises(ValueError, match=told):
        lend.to(b"1234", name)


@pytest.mark.parametrize("target", ["builtins.memoryview", "numpy.ndarray", "jax.numpy", "pyarrow.Tensor"])
def test_a_dotted_name_is_the_class_or_module_that_it_names(target):
    pytest.importorskip(target.partition(".")[0])
    named = {
        "builtins.memoryview": "memoryview",
        "numpy.ndarray": "numpy.ndarray",
        "jax.numpy": "jax.Array",
        "pyarrow.Tensor": "pyarrow.Tensor",
    }
    assert lend.explain(b"1234", target).target == named[target]


@pytest.mark.parametrize("cls", [lend.View, lend.Buffer])
def test_our_own_classes_are_no_targets_and_say_what_makes_them(cls):
    with pytest.raises(TypeError, match=rf"lend\.{cls.__name__} is no target: lend\.{cls.__name__.lower()}\(x\)"):
        lend.to(b"1234", cls)


@pytest.mark.parametrize(
    ("cls", "remedy"),
    [("builtins.dict", "memoryview, bytes, bytearray"), ("numpy.memmap", r"lend\.to\(x, numpy\.ndarray\)")],
)
def test_a_class_of_a_library_that_is_made_of_other_things_is_refused_naming_what_to_take(cls, remedy):
    module, _, name = cls.partition(".")
    target = getattr(pytest.importorskip(module), name)
    with pytest.raises(NotLendable, match=f"(?s){name} is made of other things than a View.*try .*{remedy}") as refused:
        lend.to(b"1234", target)
    assert isinstance(refused.value.__cause__, TypeError)


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_a_module_that_is_no_target_is_named(function):
    with pytest.raises(ValueError, match="'json' names no target"):
        function(b"1234", __import__("json"))


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_what_cannot_be_a_target_is_a_type_error(function):
    with pytest.raises(TypeError, match="a target is a name, a module, a class or a callable, not int"):
        function(b"1234", 3)


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_an_option_that_the_target_does_not_know_is_named_with_those_it_knows(function):
    with pytest.raises(TypeError, match="storage, zone: not options of memoryview; its options: none"):
        function(b"1234", "memoryview", zone="drop", storage=True)


MISSING = """
import sys
sys.modules["torch"] = None
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "tvm_ffi":
            raise ModuleNotFoundError("No module named 'tvm_ffi'", name="tvm_ffi")
sys.meta_path.insert(0, Blocker())
import lend
try:
    lend.to(b"1234", "tvm_ffi")
except ImportError as error:
    print(error.name, error)
"""


def test_a_library_that_is_not_installed_is_named_with_its_package():
    run = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("tvm_ffi to hand memory to tvm_ffi, the package apache-tvm-ffi must be installed")


def test_without_target_and_device_there_is_nothing_to_do():
    with pytest.raises(TypeError, match="needs a target"):
        lend.to(b"1234")


def test_the_device_that_it_is_on_asks_for_nothing():
    view = lend.to(bytearray(4), device="cpu")
    assert isinstance(view, lend.View)
    assert isinstance(lend.buffer(b"12").to(device="cpu"), lend.Buffer)


def test_a_view_goes_by_its_own_method_as_well():
    assert lend.view(b"12").to("memoryview").tolist() == [49, 50]
    assert lend.buffer(b"12").to("memoryview").tolist() == [49, 50]


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_a_device_is_refused_where_the_target_has_memory_of_the_host_alone(function):
    with pytest.raises(NotHostAccessible, match="cuda:0 was asked for, and lend.to makes a memoryview of host memory"):
        function(b"1234", "memoryview", device="cuda:0")


def on(kind, data=b"\1\2\3\4"):
    """A View of host memory that says that it lies on a device."""
    holder = bytearray(data)
    address = lend.view(holder).ptr
    return lend.View.from_pointer(address, (4,), "uint8", owner=holder, device=kind, readonly=False)


@pytest.mark.parametrize("kind", ["cuda_host", "rocm_host"])
def test_memory_that_the_host_reads_goes_to_takers_of_host_memory_as_it_lies(kind):
    view = on(kind)
    assert lend.explain(view, "memoryview").copies == ()
    assert lend.to(view, "memoryview").tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("copy", [None, False])
def test_memory_that_the_host_reads_is_lent_to_the_cpu_as_it_lies_when_that_is_asked_for(copy):
    view = on("cuda_host")
    made = lend.to(view, device="cpu", copy=copy)
    assert (str(made.device), made.tolist(), made.ptr) == ("cpu", [1, 2, 3, 4], view.ptr)


@pytest.mark.parametrize("kind", ["cuda", "rocm:1", "oneapi"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_memory_that_the_host_cannot_read_is_refused_by_takers_of_host_memory(kind, copy):
    view = on(kind)
    with pytest.raises(NotHostAccessible, match=r"(?s)the host may not read memory on .*try .*cop|process"):
        lend.to(view, "memoryview", copy=copy)


def test_a_callable_gets_an_array_as_it_lies_whatever_becomes_of_the_nulls_of_columns():
    with pytest.raises(UnsupportedType, match="nulls='nan' says what becomes of the nulls of a column"):
        lend.to(b"1234", len, nulls="nan")


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_copy_is_one_of_three(function):
    with pytest.raises(TypeError, match="copy is None, True or False, not 'always'"):
        function(b"1234", "memoryview", copy="always")


@pytest.mark.parametrize("obj", [[1, 2], 3, "text", None, object()], ids=plain_repr)
def test_what_lends_nothing_is_refused_alike_by_both(obj):
    refusals = []
    for function in (lend.to, lend.explain):
        with pytest.raises(LendError) as refused:
            function(obj, "memoryview")
        refusals.append((type(refused.value), str(refused.value)))
    assert refusals[0] == refusals[1]


def test_a_released_view_goes_nowhere():
    view = lend.view(bytearray(4))
    view.release()
    for function in (lend.to, lend.explain):
        with pytest.raises(lend.errors.LeaseLost):
            function(view, "memoryview")


EXPLAINED = """
import sys
import lend
lend.explain(bytearray(8))
print([name for name in ("numpy", "torch", "jax", "pyarrow", "tvm_ffi") if name in sys.modules])
"""


def test_telling_where_memory_can_go_imports_no_library():
    run = subprocess.run([sys.executable, "-c", EXPLAINED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_list_of_an_array_has_its_values():
    assert lend.to(array.array("d", [1.0, 2.0]), list) == [1.0, 2.0]
    assert lend.to(memoryview(bytes(range(6))).cast("B", (2, 3)), tuple) == ([0, 1, 2], [3, 4, 5])
    assert lend.to(b"aab", set) == {97, 98}
    assert lend.to(b"aab", frozenset) == {97, 98}
    assert lend.to(lend.view(b"\x21").reinterpret("int4_packed"), list) == [1, 2]


def test_a_set_of_two_dimensions_is_refused_as_lists_cannot_be_in_one():
    with pytest.raises(NotLendable, match="set is made of other things than a View"):
        lend.to(memoryview(bytes(6)).cast("B", (2, 3)), set)


@pytest.mark.parametrize("said", [1, 0, "x", None])
def test_a_signature_is_true_or_false(said):
    with pytest.raises(TypeError, match="alias_readonly is True or False, not"):
        lend.to(b"1234", "memoryview", alias_readonly=said)


@pytest.mark.parametrize("kind", ["cuda_host", "rocm_host"])
def test_a_copy_is_never_said_to_lie_on_another_device(kind):
    view = on(kind)
    asked = [
        lambda: lend.view(view, device=kind, copy=True),
        lambda: lend.to(view, device=kind, copy=True),
        lambda: lend.to(view, lambda given: given, device=kind, copy=True),
        lambda: lend.explain(view, device=kind, copy=True),
    ]
    for ask in asked:
        with pytest.raises(NotHostAccessible, match="was required, and what lend copies lies in memory of the cpu"):
            ask()
    assert lend.view(view, device=kind).ptr == view.ptr
    assert lend.to(view, device=kind).ptr == view.ptr


@pytest.mark.parametrize("copy", [None, True, False])
def test_a_target_on_the_host_does_not_show_memory_that_is_to_stay_on_a_device(copy):
    with pytest.raises(NotHostAccessible, match=r"(?s)is to stay on cuda_host:0 \(device\).*device=\"cpu\""):
        lend.to(on("cuda_host"), "memoryview", device="cuda_host", copy=copy)


def test_a_callable_gets_memory_of_the_cpu_when_that_is_asked_for():
    view = on("cuda_host")
    made = lend.to(view, lambda given: given, device="cpu")
    assert (str(made.device), made.tolist(), made.ptr) == ("cpu", [1, 2, 3, 4], view.ptr)
    assert lend.explain(view, lambda given: given, device="cpu").bytes_copied is None
