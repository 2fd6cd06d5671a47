"""Faults that were reported of libraries that lend arrays: neither implementation repeats one of them.

The names are those of the reports: LIFE of memory that goes away, RO of what is read-only, DTYPE, SHAPE, OFFSET, ASK of
what is asked of producers, DESC of descriptors that lie. What each kind of array is to both, test_both_arrays has.
"""

import gc
import mmap
import struct
import warnings
import weakref

import pytest

from support import producers
from support.both import EACH_SIDE, REFUSED
from support.counting import CountingBuffer, CountingDLPack
from support.producers import ArrayInterface

np = pytest.importorskip("numpy")
FLOATS = struct.pack("<6f", *range(6))


class Memory(bytearray):
    """Can be watched going."""


@EACH_SIDE
def test_life_1_a_map_is_not_closed_under_a_loan(side):
    memory = mmap.mmap(-1, 4096)
    lent = side.take(memory)
    with pytest.raises(BufferError):
        memory.close()
    assert lent.nbytes == 4096
    del lent
    memory.close()


@EACH_SIDE
def test_life_6_memory_does_not_grow_under_a_loan(side):
    memory = bytearray(16)
    lent = side.take(memory)
    with pytest.raises(BufferError):
        memory.extend(b"more")
    assert lent.nbytes == 16


@EACH_SIDE
@pytest.mark.parametrize("version", [{}, {"max_version": (1, 1)}], ids=str)
def test_life_7_a_capsule_is_taken_once(side, version):
    lender = CountingDLPack(FLOATS, (6,))
    capsule = lender.__dlpack__(**version)
    lent = side.take(capsule)
    assert side.asked(capsule) == REFUSED
    del capsule, lent
    assert lender.audit() == []


@EACH_SIDE
def test_life_9_what_is_refused_was_not_consumed(side):
    lender = CountingDLPack(FLOATS, (6,), dtype=(99, 32, 1), keep=True)
    assert side.asked(lender) == REFUSED
    assert set(lender.names) <= {"dltensor", "dltensor_versioned"}
    assert lender.deleted == 0


@EACH_SIDE
def test_life_12_memory_goes_with_the_last_view_and_without_the_collector(side):
    memory = Memory(16)
    gone = weakref.ref(memory)
    gc.disable()
    try:
        lent = side.take(memory)
        del memory
        assert gone() is not None
        del lent
        assert gone() is None
    finally:
        gc.enable()


@EACH_SIDE
def test_life_15_an_exporter_is_asked_and_released_once(side):
    lender = CountingBuffer(FLOATS, format="f", itemsize=4)
    part = side.take_bytes(lender)[4:8]
    assert (lender.live, lender.gets) == (1, 1)
    del part
    assert lender.audit() == []


@EACH_SIDE
def test_life_18_a_cycle_through_the_memory_is_collected(side):
    class Cyclic(bytearray):
        pass

    memory = Cyclic(8)
    memory.lent, gone = side.take(memory), weakref.ref(memory)
    del memory
    gc.collect()
    assert gone() is None


@EACH_SIDE
def test_ro_5_bytes_are_read_only(side):
    assert side.take(b"1234").readonly


@EACH_SIDE
def test_ro_3_an_array_of_jax_is_read_only(side):
    jax = pytest.importorskip("jax")
    assert side.take(jax.numpy.zeros(3)).readonly


@EACH_SIDE
@pytest.mark.parametrize(("protocol", "readonly"), [("newest", False), ("legacy", True)])
def test_ro_6_what_may_be_written_to_is_so_where_the_protocol_can_say_it(side, protocol, readonly):
    assert side.take(CountingDLPack(FLOATS, (6,), protocol=protocol)).readonly == readonly


@EACH_SIDE
@pytest.mark.parametrize("doubt", ["conj", "neg"])
def test_dtype_17_a_tensor_whose_memory_is_not_its_value_is_refused(side, doubt):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1 + 2j]).conj()
    assert side.asked(tensor if doubt == "conj" else tensor.imag) == REFUSED


@EACH_SIDE
def test_dtype_7_a_tensor_that_says_less_than_it_is_is_refused(side):
    torch = pytest.importorskip("torch")
    assert side.asked(torch.zeros(2, dtype=torch.uint8).view(torch.uint4)) == REFUSED


@EACH_SIDE
def test_dtype_8_another_byte_order_is_told_and_its_values_are_right(side):
    array = np.array([1, 2], ">u2")
    assert (side.asked(array).dtype, side.take(array).tolist()) == (">u2", [1, 2])


@EACH_SIDE
def test_dtype_16_bits_are_no_array(side):
    pa = pytest.importorskip("pyarrow")
    assert side.asked(pa.array([True, False])) == REFUSED


@EACH_SIDE
def test_shape_1_strides_are_negative_where_they_are(side):
    assert side.asked(np.arange(4)[::-1]).strides == (-8,)


@EACH_SIDE
def test_shape_3_the_stride_of_one_row_means_nothing(side):
    assert side.asked(np.ndarray((1, 3), "f8", bytearray(24), strides=(4, 8))).c_contiguous


@EACH_SIDE
def test_shape_7_nothing_may_lie_nowhere(side):
    lent = side.take(CountingDLPack(b"", (0,), data=0))
    assert (lent.shape, lent.nbytes, lent.tolist()) == ((0,), 0, [])


@EACH_SIDE
def test_shape_9_too_many_dimensions_are_refused(side):
    assert side.asked(CountingDLPack(bytes(4), (1,) * 200)) == REFUSED


@EACH_SIDE
@pytest.mark.parametrize("skipped", [8, 3])
def test_offset_1_and_2_a_byte_offset_counts(side, skipped):
    lender = CountingDLPack(FLOATS, (4,), byte_offset=skipped)
    assert side.take(lender).tolist() == list(struct.unpack_from("<4f", FLOATS, skipped))


@EACH_SIDE
def test_ask_4_a_producer_without_keywords_is_asked_without(side):
    assert side.take(producers.NoKeywords(FLOATS, (6,))).tolist() == [0, 1, 2, 3, 4, 5]


@EACH_SIDE
def test_ask_5_a_type_error_from_within_is_not_asked_again(side):
    asked = []

    class Broken:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **keywords):
            asked.append(keywords)
            return len(3)

    assert (side.asked(Broken()), len(asked)) == (REFUSED, 1)


@EACH_SIDE
@pytest.mark.parametrize("kind", [3, 11])
def test_ask_8_pinned_memory_is_read_by_the_host(side, kind):
    assert side.take(CountingDLPack(FLOATS, (6,), device=(kind, 0))).tolist() == [0, 1, 2, 3, 4, 5]


@EACH_SIDE
def test_ask_9_cpus_have_no_numbers(side):
    assert side.asked(CountingDLPack(FLOATS, (6,), device=(1, 3))).device == (1, 0)


@EACH_SIDE
def test_ask_12_no_warning_of_a_producer_reaches_who_asks(side):
    pa = pytest.importorskip("pyarrow")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert side.take(pa.array([1, 2])).tolist() == [1, 2]


@EACH_SIDE
@pytest.mark.parametrize("size", ["size", "bufsize", "nbytes"])
def test_ask_14_a_pointer_and_a_size_are_bytes_that_nobody_may_write_to(side, size):
    lent = side.take_bytes(producers.Span(b"1234", size=size))
    assert (lent.nbytes, lent.readonly, side.take(lent).tolist()) == (4, True, [49, 50, 51, 52])


@EACH_SIDE
@pytest.mark.parametrize(
    "told", [{"shape": (100,)}, {"offset": -1}, {"strides": (4096,)}, {"shape": (1,) * 136}, {"shape": (-3,)},
             {"shape": (2**32, 2**32, 16)}, {"shape": None}], ids=str,
)  # fmt: skip
def test_desc_1_to_7_an_interface_that_leaves_its_memory_is_refused(side, told):
    lender = ArrayInterface(b"", (2,), "<i4")
    lender.facts |= {"data": bytearray(8)} | told
    if lender.facts["shape"] is None:
        del lender.facts["shape"]
    assert side.asked(lender) == REFUSED


@EACH_SIDE
@pytest.mark.parametrize("wrong", [{"ndim": -1}, {"ndim": 2**30}, {"null_shape": True}, {"data": 0}], ids=str)
def test_desc_4_a_malformed_capsule_is_refused_and_not_consumed(side, wrong):
    lender = CountingDLPack(FLOATS, (6,), keep=True, **wrong)
    assert side.asked(lender) == REFUSED
    assert lender.deleted == 0
