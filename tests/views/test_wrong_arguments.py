"""What is no answer to the question is refused by name, and not taken for true."""

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, UnsupportedLayout
from support.counting import CountingDLPack

VIEW = lend.view(b"abcd")


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
@pytest.mark.parametrize("word", ["copy", "writable"])
@pytest.mark.parametrize("value", ["no", 0, 1, [], "True"], ids=repr)
def test_a_yes_or_no_is_true_or_false(take, word, value):
    with pytest.raises(TypeError, match=f"{word} is None, True or False, not"):
        take(b"abc", **{word: value})


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
@pytest.mark.parametrize("value", [True, False, None])
def test_readonly_is_told_to_be_called_writable(take, value):
    with pytest.raises(TypeError, match=r"keyword argument 'readonly': writable=False"):
        take(b"abc", copy=None, readonly=value)
    assert take(bytearray(b"abc"), writable=False).readonly


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_other_keywords_are_refused_as_by_any_function(take):
    with pytest.raises(TypeError, match=rf"{take.__name__}\(\) got an unexpected keyword argument 'nocopy'"):
        take(b"abc", nocopy=True)


def masked():
    return pytest.importorskip("numpy").array([True, False, True, False])


GATHERING = {
    "a list": (lambda: [0, 1], "list", r"numpy\.asarray\(v\)\[index\]"),
    "a mask": (masked, "ndarray", r"numpy\.asarray\(v\)\[index\]"),
    "a list in a tuple": (lambda: ([True] * 4,), "list", r"numpy\.asarray\(v\)\[index\]"),
    "a buffer": (lambda: lend.view(b"ab"), "View", r"numpy\.asarray\(v\)\[index\]"),
    "true": (lambda: True, "bool", r"numpy\.asarray\(v\)\[index\]"),
    "a float": (lambda: 1.0, "float", r"int\(i\)"),
}


@pytest.mark.parametrize("name", GATHERING)
def test_an_index_that_gathers_is_refused_with_a_way_to_do_it(name):
    make, cls, remedy = GATHERING[name]
    with pytest.raises(
        TypeError, match=f"an index is an integer, slice, Ellipsis, None or the name of a field, not {cls}; .*{remedy}"
    ):
        VIEW[make()]


def test_the_way_to_gather_works():
    numpy = pytest.importorskip("numpy")
    assert numpy.asarray(VIEW)[[0, 1]].tobytes() == b"ab"
    assert numpy.asarray(VIEW)[masked()].tobytes() == b"ac"


def test_what_an_index_raises_passes():
    with pytest.raises(TypeError, match="not today"):
        VIEW[type("Index", (), {"__index__": lambda self: (_ for _ in ()).throw(TypeError("not today"))})()]


COPYING = {
    "view": lambda value: lend.view(b"", copy=value),
    "buffer": lambda value: lend.buffer(b"", copy=value),
    "view, writable": lambda value: lend.view(b"", writable=value),
    "buffer, writable": lambda value: lend.buffer(b"", writable=value),
    "to": lambda value: lend.to(b"", "memoryview", copy=value),
    "explain": lambda value: lend.explain(b"", "memoryview", copy=value),
    "explain all": lambda value: lend.explain(b"", copy=value),
    "the array method": lambda value: VIEW.__array__(copy=value),
}


@pytest.mark.parametrize("value", ["x", 0, 1, (1, 0)], ids=repr)
@pytest.mark.parametrize("ask", COPYING.values(), ids=COPYING)
def test_copy_is_true_or_false_and_no_number(ask, value):
    with pytest.raises(TypeError, match=r"(copy|writable) is None, True or False, not "):
        ask(value)


@pytest.mark.parametrize("value", ["x", 0, 1, (1, 0)], ids=repr)
def test_copy_of_dlpack_is_true_or_false(value):
    with pytest.raises(ValueError, match="copy is None, True or False"):
        VIEW.__dlpack__(copy=value, max_version=(1, 3))


@pytest.mark.parametrize("value", [5, "cpu", ("cpu", 0), (1,), (1, 0, 0), (None, 0)], ids=repr)
def test_a_device_of_dlpack_is_a_pair_of_integers(value):
    with pytest.raises(TypeError, match="dl_device is a pair of integers"):
        VIEW.__dlpack__(dl_device=value, max_version=(1, 3))


@pytest.mark.parametrize("value", [1, "1.0", (1,), (1, 2, 3)], ids=repr)
def test_a_version_of_dlpack_is_a_pair(value):
    with pytest.raises(TypeError):
        VIEW.__dlpack__(max_version=value)


@pytest.mark.parametrize(("asked", "right"), [((2**80, 0), "versioned"), ((1, 2**80), "versioned"), ((0, 2**80), "un")])
def test_a_version_beyond_64_bits_is_the_largest(asked, right):
    view = lend.view(bytearray(4))
    assert ("versioned" in repr(view.__dlpack__(max_version=asked))) is (right == "versioned")


def test_a_negative_size_is_named_as_such():
    with pytest.raises(MalformedDescriptor, match="nbytes is -1, not a number of bytes"):
        lend.Buffer.from_pointer(64, -1, owner=VIEW)


@pytest.mark.parametrize("made_of", [(), (b"abc",), (1, 2)])
@pytest.mark.parametrize("cls", [lend.View, lend.Buffer])
def test_the_classes_say_who_makes_them(cls, made_of):
    with pytest.raises(TypeError, match=rf"is made by lend\.{cls.__name__.lower()}\(x\)"):
        cls(*made_of)


@pytest.mark.parametrize("dtype", ["int16", "int64"])
def test_the_remedy_for_a_dimension_that_does_not_divide_works(dtype):
    v = lend.view(bytes(11))
    with pytest.raises(UnsupportedLayout) as caught:
        v.reinterpret(dtype)
    advice = caught.value.remedy.partition("such as ")[2]
    assert eval(advice).reinterpret(dtype).itemsize == lend.DType(dtype).itemsize


def test_memory_that_the_host_reads_is_copied_to_the_cpu_when_told_to():
    pinned = CountingDLPack(b"abcd", (4,), dtype=(1, 8, 1), device=(3, 0))
    made = lend.view(pinned, device="cpu", copy=True)
    assert (str(made.device), made.tobytes()) == ("cpu", b"abcd")


@pytest.mark.parametrize("copy", [None, False])
def test_memory_that_the_host_reads_is_lent_to_the_cpu_as_it_lies(copy):
    pinned = CountingDLPack(b"abcd", (4,), dtype=(1, 8, 1), device=(3, 0))
    made = lend.view(pinned, device="cpu", copy=copy)
    assert (str(made.device), made.ptr, made.tobytes()) == ("cpu", lend.view(pinned).ptr, b"abcd")


def test_an_object_of_any_attribute_is_not_said_to_have_a_time_zone():
    from unittest.mock import MagicMock

    with pytest.raises(LendError) as caught:
        lend.view(MagicMock())
    assert "time zone" not in str(caught.value)


def assigned(lent):
    lent[0] = 1


def deleted(lent):
    del lent[0]


@pytest.mark.parametrize("change", [assigned, deleted])
@pytest.mark.parametrize("lend_it", [lend.view, lend.buffer])
def test_what_is_lent_is_not_assigned_to_and_says_what_is(change, lend_it):
    with pytest.raises(
        TypeError, match=r'is not assigned to; hand it on.*lend\.to\(v, "numpy"\)\[0\] = 1, memoryview\(v\)'
    ):
        change(lend_it(bytearray(4)))
    with pytest.raises(TypeError, match=rf"is read-only.*lend\.{lend_it.__name__}\(x, copy=True\), handed on"):
        change(lend_it(bytes(4)))


def test_what_it_says_is_written_to_is():
    memory = bytearray(4)
    memoryview(lend.view(memory))[0] = 1
    assert memory[0] == 1
