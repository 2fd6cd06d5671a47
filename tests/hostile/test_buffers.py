"""Exporters whose Py_buffer contradicts itself: refused naming what is wrong, and released exactly once (PB-I5)."""

import pytest

import lend
from lend.errors import LendError, ReadOnlyMemory
from support import children
from support.counting import CountingBuffer

LIES = {
    "ndim -1": ({"ndim": -1}, "ndim|-1"),
    "ndim 65": ({"ndim": 65}, "64|65"),
    "ndim 2**30": ({"ndim": 2**30}, "ndim|1073741824"),
    "no shape": ({"shape": None}, "shape"),
    "a negative extent": ({"shape": (-2, 3)}, "-2"),
    "two negative extents": ({"shape": (-2, -3)}, "-2"),
    "a negative extent beside an empty one": ({"shape": (0, -3), "len": 0}, "-3"),
    "a size that overflows": ({"shape": (2**40, 2**40)}, "size|overflow|shape|large"),
    "a size that wraps to zero": (
        {"shape": (2**32, 2**32), "strides": (0, 0), "len": 0},
        "size|overflow|shape|large|len",
    ),
    "a length of elements": ({"len": 6}, "6.*48|48.*6"),
    "a length of zero": ({"len": 0}, "0.*48|48.*0"),
    "a negative length": ({"len": -48}, "-48"),
    "a negative item size": ({"itemsize": -8}, "-8|itemsize"),
    "a huge item size": ({"itemsize": 2**62}, "itemsize|4611686018427387904"),
    "no pointer": ({"buf": 0}, "buf|pointer|NULL"),
    "strides that overflow": ({"strides": (2**62, 8)}, "stride"),
    "strides that reach too far": ({"strides": (-(2**62), 2**61)}, "stride"),
    "the least stride": ({"strides": (-(2**63), 8)}, "stride"),
    "strides below address 0": ({"strides": (-(2**60), 8)}, "stride"),
    "the last address": ({"buf": -8}, "address"),
}
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


def liar(lie):
    return CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=lie)


@TAKES
@pytest.mark.parametrize("name", LIES)
def test_a_malformed_buffer_is_refused_naming_what_is_wrong(name, take):
    lie, told = LIES[name]
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(liar(lie))


@TAKES
@pytest.mark.parametrize("name", LIES)
def test_a_refused_buffer_is_released_once_as_it_was_given(name, take):
    exporter = liar(LIES[name][0])
    with pytest.raises(LendError):
        take(exporter)
    assert exporter.gets >= 1
    assert exporter.audit() == []


@pytest.mark.parametrize("keywords", [{"copy": True}, {"writable": True}, {"writable": False}], ids=str)
@pytest.mark.parametrize("name", LIES)
def test_no_keyword_makes_a_malformed_buffer_right(name, keywords):
    exporter = liar(LIES[name][0])
    with pytest.raises(LendError):
        lend.view(exporter, **keywords)
    assert exporter.audit() == []


def test_an_item_size_of_zero_has_no_bytes():
    exporter = liar({"itemsize": 0, "len": 0, "format": None})
    try:
        view = lend.view(exporter)
    except LendError:
        pass
    else:
        assert (view.nbytes, view.tobytes()) == (0, b"")
        del view
    assert exporter.audit() == []


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_lies_anywhere_whatever_its_strides(shape):
    exporter = liar({"shape": shape, "strides": (-(2**63), 2**63 - 1), "len": 0})
    assert (lend.view(exporter).shape, lend.buffer(exporter).nbytes) == (shape, 0)


def test_items_of_no_bytes_span_none_wherever_their_strides_lead():
    exporter = CountingBuffer(48, format="0s", itemsize=0, shape=(2, 3), strides=(2**40, 8))
    assert (lend.buffer(exporter).nbytes, lend.view(exporter).buffer.nbytes) == (0, 0)


def test_elements_that_overlap_are_said_to_when_they_may_not_be_written_to():
    with pytest.raises(ReadOnlyMemory, match="CountingBuffer( object)? stands at several places"):
        lend.view(CountingBuffer(8, shape=(4,), strides=(0,)), writable=True)


def test_a_buffer_that_was_refused_may_be_lent_by_another_door():
    class Both(CountingBuffer):
        @property
        def __array_interface__(self):
            return {"version": 3, "shape": (2, 3), "typestr": "<f8", "data": (self.address, False)}

    exporter = Both(48, format="d", itemsize=8, shape=(2, 3), lie={"len": 6}, poison=False)
    assert lend.view(exporter).shape == (2, 3)
    assert exporter.audit() == []


def test_an_exporter_that_lends_again_while_it_is_asked_is_harmless():
    calls, inner = [], []

    def again(flags):
        calls.append(flags)
        if len(calls) <= 3:
            inner.append(lend.view(exporter))

    exporter = CountingBuffer(bytes(range(4)), on_get=again)
    view = lend.view(exporter)
    assert [lent.tolist() for lent in (view, *inner)] == [[0, 1, 2, 3]] * 4
    del view
    inner.clear()
    assert exporter.audit() == []


def test_an_exporter_that_lends_again_while_it_takes_back_is_harmless():
    calls, views = [], []

    def again():
        calls.append(1)
        if len(calls) <= 3:
            views.append(lend.view(exporter))

    exporter = CountingBuffer(4, on_release=again)
    lend.view(exporter)
    for _ in range(3):
        assert exporter.live == 1
        del views[0]
    assert exporter.audit() == []


def test_an_exporter_that_drops_its_view_while_it_takes_back_is_harmless():
    box = []
    exporter = CountingBuffer(4, on_release=box.clear)
    box.extend([lend.view(exporter), lend.view(exporter)])
    box.pop()
    assert exporter.audit() == []


def test_no_malformed_buffer_ends_the_process():
    out = children.run_clean(f"""
        import lend
        from support.counting import CountingBuffer
        for name, (lie, _) in {LIES!r}.items():
            for take in (lend.view, lend.buffer):
                exporter = CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie=lie)
                try: print("accepted", name, take(exporter))
                except lend.errors.LendError: pass
        print("done")
    """)
    assert out == "done\n"
