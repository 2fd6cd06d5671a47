"""What the fuzzer (tests/fuzz) found, each as the whole kind that it is one of."""

import ctypes
import time

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotLendable, UnsupportedLayout
from support import children
from support.counting import CarelessBuffer, CountingBuffer, CountingDLPack, CountingExchange

TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
TOP = 2**64
BLOCK = (ctypes.c_char * 64)()


class Raises(Exception):
    """What the classes here raise."""


def raises(*_):
    raise Raises


METHODS = ("__eq__", "__getitem__", "__len__", "__iter__", "__contains__", "__bool__", "__str__", "__int__")
OBJECTS = {"str": "text", "int": 5, "float": 1.5, "complex": 1j, "list": [1], "tuple": (1,), "dict": {}, "set": {1}}


@TAKES
@pytest.mark.parametrize("name", OBJECTS)
def test_a_builtin_whose_methods_raise_is_refused_in_our_words(name, take):
    base = type(OBJECTS[name])
    odd = type("Odd", (base,), {**dict.fromkeys(METHODS, raises), "__hash__": base.__hash__})(OBJECTS[name])
    with pytest.raises(NotLendable, match="Odd"):
        take(odd)


WIDE = {
    "from the top on": {"buf": TOP - 8 - TOP},
    "downwards from the bottom": {"buf": 16, "strides": (-24, -8)},
    "over the top by a stride": {"buf": TOP - 32 - TOP, "strides": (8, 16)},
}


@TAKES
@pytest.mark.parametrize("name", WIDE)
def test_a_buffer_that_leaves_the_address_space_is_refused(name, take):
    exporter = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=WIDE[name])
    with pytest.raises(MalformedDescriptor, match="bounds|too high for a len"):
        take(exporter)
    assert exporter.audit() == []


def shown(facts):
    return type("Shows", (), {"__array_interface__": facts})()


@TAKES
def test_a_buffer_inside_an_interface_that_leaves_the_address_space_is_refused(take):
    lender = CountingBuffer(48, lie={"buf": -8})
    with pytest.raises(MalformedDescriptor, match="bounds|too high for a len"):
        take(shown({"version": 3, "shape": (6,), "typestr": "<f8", "data": lender}))
    assert lender.audit() == []


INSIDE = {
    "ndim below all": {"ndim": -(2**31)},
    "ndim 65": {"ndim": 65},
    "strides without a shape": {"shape": None},
    "ndim 2**30 without a shape": {"ndim": 2**30, "shape": None},
}


def test_a_malformed_buffer_inside_an_interface_does_not_end_the_process():
    out = children.run_clean(f"""
        import lend
        from support.counting import CountingBuffer
        for lie in {list(INSIDE.values())!r}:
            lender = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=lie)
            inside = type("Shows", (), {{"__array_interface__": {{"shape": (6,), "typestr": "<f8", "data": lender}}}})()
            for take in (lend.view, lend.buffer):
                try: print("accepted", take(inside))
                except lend.errors.MalformedDescriptor: print("refused", lender.audit())
    """)
    assert out == "refused []\n" * 2 * len(INSIDE)


BACKWARDS = {
    "buffer": lambda: CountingBuffer(24, format="d", itemsize=8, shape=(3,), lie={"buf": 16, "strides": (-8,)}),
    "array interface": lambda: type("Shows", (), {"__array_interface__": {
        "shape": (3,), "typestr": "<f8", "strides": (-8,), "data": (16, True), "version": 3}})(),
}  # fmt: skip


@pytest.mark.parametrize("name", BACKWARDS)
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_elements_that_run_backwards_down_to_no_address_are_refused(name, take):
    with pytest.raises(MalformedDescriptor):
        take(BACKWARDS[name]())


def test_a_pointer_from_which_elements_run_backwards_to_no_address_is_refused():
    with pytest.raises(MalformedDescriptor):
        lend.View.from_pointer(16, (3,), "float64", strides=(-8,), owner=BLOCK)
    assert lend.View.from_pointer(17, (3,), "float64", strides=(-8,), owner=BLOCK).ptr == 17


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("number", [-1, LEAST, MOST, 0, 7])
@pytest.mark.parametrize("field", ["itemsize", "ndim", "len", "readonly"])
@pytest.mark.parametrize("fits", [True, False], ids=["", "refused"])
def test_a_buffer_inside_an_interface_is_given_back_whatever_it_says(field, number, fits):
    if field in ("ndim", "readonly") and abs(number) > 7:
        number >>= 32
    lender = CountingBuffer(48, lie={field: number})
    facts = {"shape": (6 if fits else 7,), "typestr": "<f8", "data": lender}
    inside = type("Shows", (), {"__array_interface__": facts})()
    try:
        lend.view(inside).release()
    except LendError:
        pass
    assert lender.audit() == []


@pytest.mark.parametrize("field", ["strides", "shape"])
def test_rows_behind_pointers_that_are_told_by_half_do_not_end_the_process(field):
    out = children.run_clean(f"""
        import lend
        from support.counting import CountingBuffer
        lie = {{"suboffsets": (0, -1), {field!r}: None}}
        takes = (lend.view, lend.buffer, lambda x: lend.view(x, copy=True), lambda x: lend.to(x, "memoryview"),
                 lambda x: lend.explain(x, "memoryview"))
        for take in takes:
            rows = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=lie)
            try: print("accepted", take(rows))
            except lend.errors.MalformedDescriptor: print("refused", rows.audit())
    """)
    assert out == "refused []\n" * 5


def test_a_buffer_that_does_not_say_whose_it_is_does_not_end_the_process():
    out = children.run_clean("""
        import lend
        from support.counting import CarelessBuffer
        nameless = CarelessBuffer(b"1234")
        nameless.nameless = 1
        inside = type("Shows", (), {"__array_interface__": {"shape": (4,), "typestr": "|u1", "data": nameless}})()
        for obj in (nameless, inside):
            for take in (lend.view, lend.buffer):
                try: take(obj)
                except lend.errors.MalformedDescriptor as refusal: print("obj" in str(refusal))
    """)
    assert out == "True\n" * 4


def test_a_buffer_inside_an_interface_that_fails_without_an_exception_does_not_end_the_process():
    out = children.run_clean("""
        import lend
        from support.counting import CarelessBuffer
        silent = CarelessBuffer(b"1234")
        silent.silent = 1
        inside = type("Shows", (), {"__array_interface__": {"shape": (4,), "typestr": "|u1", "data": silent}})()
        for take in (lend.view, lend.buffer):
            try: take(inside)
            except lend.errors.NotLendable: print("refused")
    """)
    assert out == "refused\n" * 2


@pytest.mark.parametrize("error", [RuntimeError, KeyError, BufferError, TypeError])
@TAKES
def test_what_an_exporter_raises_to_a_writer_is_quoted(take, error):
    def refuse(flags):
        raise error("not now")

    with pytest.raises(NotLendable, match="not now") as caught:
        take(CountingBuffer(8, on_get=refuse), writable=True)
    assert isinstance(caught.value.__cause__, error)


@TAKES
def test_an_exporter_that_fails_to_a_writer_without_an_exception_is_refused(take):
    silent = CarelessBuffer(b"1234")
    silent.silent = 1
    with pytest.raises(NotLendable, match="without setting an exception"):
        take(silent, writable=True)


@TAKES
@pytest.mark.parametrize("name", ["ptr", "size"])
def test_a_property_that_raises_a_bare_buffer_error_is_quoted(take, name):
    def refuse(self):
        raise BufferError("not now")

    odd = type("Odd", (), {"ptr": 64, "size": 8, name: property(refuse)})()
    with pytest.raises(NotLendable, match="not now"):
        take(odd)


@TAKES
@pytest.mark.parametrize("size", [2**62, 2**63 - 1])
def test_a_size_that_no_address_space_has_is_refused(take, size):
    with pytest.raises(MalformedDescriptor, match="size"):
        take(type("Odd", (), {"ptr": 64, "size": size})())


@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
@pytest.mark.parametrize("offset", [16, 24, 4096])
def test_an_offset_that_leads_round_the_address_space_is_refused(kind, offset):
    producer = kind(64, (1,), data=TOP - 16, byte_offset=offset)
    with pytest.raises(MalformedDescriptor, match="byte_offset"):
        lend.view(producer)
    assert producer.audit() == []


def test_items_of_no_bytes_touch_none_wherever_their_strides_lead():
    exporter = CountingBuffer(
        0, format=None, itemsize=0, shape=(3, 4), strides=(4096, 8), lie={"itemsize": 0, "len": 0, "buf": 0}
    )
    view = lend.view(exporter)
    assert (view.nbytes, view.buffer.nbytes, bytes(view.buffer), view.owner.nbytes) == (0, 0, b"", 0)


def test_a_copy_of_items_of_no_bytes_does_not_count_them():
    many = lend.View.from_pointer(ctypes.addressof(BLOCK), (2**40, 2**20), "opaque[0]", strides=(3, 7), owner=BLOCK)
    begin = time.monotonic()
    assert (many.tobytes(), many.copy().shape) == (b"", (2**40, 2**20))
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("ndim", [65, 2**40, 2**70])
def test_a_number_of_dimensions_that_nobody_has_is_refused_in_few_words(ndim):
    with pytest.raises(UnsupportedLayout) as caught:
        lend.view(b"abc", ndim=ndim)
    assert len(str(caught.value)) < 500


def test_a_span_of_both_signs_wider_than_an_address_space_is_refused():
    with pytest.raises(LendError):
        lend.View.from_pointer(2**62, (2, 2), "uint8", strides=(2**62 - 2, -(2**62) + 2), owner=BLOCK)


def test_items_too_large_for_a_view_are_refused_at_once():
    begin = time.monotonic()
    with pytest.raises(UnsupportedLayout):
        lend.View.from_pointer(2**61, (2**57 + 1,), "uint8", owner=BLOCK).reinterpret("opaque[4294967291]")
    assert time.monotonic() - begin < 1


@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_rows_behind_pointers_that_an_array_method_gives_are_refused(ask):
    rows = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie={"suboffsets": (0, -1)})
    odd = type("Odd", (), {"__array__": lambda self, dtype=None, copy=None: rows})()
    with pytest.raises(UnsupportedLayout, match="suboffsets"):
        ask(odd, "memoryview")
