"""What contradicts itself, or cannot be said, is refused: by name of protocol, field and value, and with a remedy."""

import weakref

import pytest

from support import children, counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.malformed import TENSORS, VERSIONED, interfaces
from support.names import plain_repr, plain_str
from support.producers import ABSENT, AnswersEverything, ArrayInterface, DeviceRaises, Gives, PropertyRaises, Raises

testbuffer = pytest.importorskip("_testbuffer")
ALL = TENSORS | VERSIONED
# the headers differ from lend in their words, or know more types: where the field is called otherwise
TOLD = {
    "a mask": "mask",
    "a typestr with a huge size": "typestr",
}


def made(kind, facts, **keywords):
    return kind(64, facts["shape"], **{key: value for key, value in facts.items() if key != "shape"}, **keywords)


@pytest.mark.parametrize("name", ALL)
def test_a_malformed_tensor_is_refused_naming_the_field_and_stays_unconsumed(taker, name):
    facts, told = ALL[name]
    producer = made(CountingDLPack, facts, protocol="versioned", keep=True)
    with pytest.raises(BufferError, match=f"(?s){told}.*DLPack.*try  "):
        taker(producer)
    assert producer.names == ["dltensor_versioned"] * producer.made
    assert producer.deleted == 0
    producer.capsules.clear()
    assert (producer.deleted_by_consumer, producer.audit()) == (0, [])


@pytest.mark.parametrize("name", TENSORS)
def test_a_malformed_unversioned_tensor_is_refused_and_stays_unconsumed(taker, name):
    facts, told = TENSORS[name]
    producer = made(CountingDLPack, facts, protocol="legacy", keep=True)
    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(producer)
    assert producer.names == ["dltensor"] * producer.made
    assert producer.deleted == 0


@pytest.mark.parametrize("name", ALL)
def test_a_malformed_bare_capsule_is_refused_and_stays_unconsumed(taker, name):
    facts, told = ALL[name]
    producer = made(CountingDLPack, facts)
    capsule = producer.capsule()
    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(capsule)
    assert counting.capsule_name(capsule) == "dltensor_versioned"
    del capsule
    assert (producer.deleted_by_consumer, producer.audit()) == (0, [])


@pytest.mark.parametrize("flags", [0, 256, 2048, 4096, (63 - 4) << 8], ids=plain_str)
@pytest.mark.parametrize("name", ALL)
def test_a_malformed_tensor_of_a_table_is_deleted_once_with_no_exception_set(taker, name, flags):
    facts, told = ALL[name]
    producer = made(CountingExchange, facts)
    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(producer, flags=flags)
    assert (producer.deleted_by_consumer, producer.audit()) == (producer.made, [])


def test_a_malformed_tensor_without_a_deleter_is_refused_quietly(taker):
    for kind in (CountingDLPack, CountingExchange):
        with pytest.raises(BufferError):
            taker(made(kind, {"shape": (-1,), "null_deleter": True}))


def test_a_consumed_capsule_is_refused(taker):
    for versioned in (False, True):
        capsule = CountingDLPack(16, (4,)).capsule(versioned)
        first = taker(capsule)
        with pytest.raises(BufferError, match="consumed"):
            taker(capsule)
        assert first.leased


def test_a_capsule_of_another_protocol_is_refused(taker):
    import datetime

    with pytest.raises(BufferError, match="datetime_CAPI"):
        taker(datetime.datetime_CAPI)


@pytest.mark.parametrize("name", interfaces()[2])
def test_a_malformed_interface_is_refused_naming_the_key(taker, name):
    memory, good, table = interfaces()
    changes, told = table[name]
    source = type("Shows", (), {})()
    source.memory = memory
    source.__array_interface__ = {key: value for key, value in (good | changes).items() if value is not ABSENT}
    with pytest.raises(BufferError, match=f"(?s){TOLD.get(name, told)}"):
        taker(source)
    lender = source.__array_interface__.get("data")
    if isinstance(lender, bytearray):
        lender.append(0)  # nothing of it is held


@pytest.mark.parametrize("typestr", ["<f3", "<i3", "<c4", "<u5", "|b2", "<f1", "<M4", "<M8[", "<M8[parsec]", "<M8[0s]"])
def test_a_type_that_does_not_exist_is_refused(taker, typestr):
    with pytest.raises(BufferError, match="typestr"):
        taker(ArrayInterface(bytes(64), (2,), typestr))


@pytest.mark.parametrize(
    "typestr", ["<M8[s]x", "<i4 ", "|V0", "t1", "<O8", "|", "", "é4", "<M8[2147483648s]", "\ud800"]
)
def test_a_typestr_that_says_something_else_is_refused(taker, typestr):
    with pytest.raises(BufferError, match="typestr"):
        taker(ArrayInterface(bytes(64), (2,), typestr))


@pytest.mark.parametrize("facts", [None, 5, "shape", [], (), object(), {"shape"}], ids=plain_repr)
def test_an_interface_that_is_no_dict_is_refused(taker, facts):
    source = type("Shows", (), {"__array_interface__": facts})()
    with pytest.raises(BufferError, match="__array_interface__"):
        taker(source)


@pytest.mark.parametrize("strides", [None, (4,), (-4,), (0,)], ids=plain_str)
def test_the_last_byte_of_a_buffer_may_be_used_and_no_more(taker, strides):
    start = 12 if strides == (-4,) else 0
    shape = (4,)
    taken = taker(ArrayInterface(b"", shape, "<f4", data=bytearray(16), strides=strides, offset=start))
    assert taken.nbytes == 16
    beyond = {"offset": start + (-1 if start else 1)} if strides != (0,) else {"offset": 13}
    with pytest.raises(BufferError, match=r"bounds|offset"):
        taker(ArrayInterface(b"", shape, "<f4", data=bytearray(16), strides=strides, **beyond))


def test_an_offset_beside_an_address_is_refused(taker):
    with pytest.raises(BufferError, match="offset"):
        taker(ArrayInterface(bytes(64), (2,), "<f4", offset=8))


def test_true_is_no_extent(taker):
    with pytest.raises(BufferError, match="shape"):
        taker(ArrayInterface(bytes(64), (True,), "<f4"))


def test_a_pointer_that_leaves_no_room_below_is_refused(taker):
    with pytest.raises(BufferError, match="bounds"):
        taker(ArrayInterface(bytes(64), (4,), "<f4", data=(8, False), strides=(-4,)))


DESCRS = {
    "another size": [("a", "<i4")],
    "no list": 5,
    "no tuples": ["a"],
    "too many parts": [("a", "<i8", (1,), 5)],
    "a negative extent": [("a", "<i4", (-2,))],
    "two negative extents": [("a", "<i2", (-2, -2))],
    "a huge extent": [("a", "<i4", (2**40,))],
    "an extent past an int": [("a", "<i4", (2**70,))],
    "no typestr": [("a", "8")],
    "objects": [("a", "|O")],
    "objects within": [("a", [("b", "|O")])],
    "a lone surrogate": [("a", "\ud800")],
}


@pytest.mark.parametrize("name", DESCRS)
def test_a_descr_that_cannot_be_is_refused(taker, name):
    with pytest.raises(BufferError, match="descr"):
        taker(ArrayInterface(bytes(64), (2,), "|V8", descr=DESCRS[name]))


def test_a_descr_that_goes_too_deep_is_refused(taker):
    descr = [("a", "<i8")]
    for _ in range(40):
        descr = [("a", descr)]
    with pytest.raises(BufferError, match="descr"):
        taker(ArrayInterface(bytes(64), (2,), "|V8", descr=descr))


def test_a_descr_that_holds_itself_is_refused(taker):
    descr = []
    descr.append(("a", descr))
    with pytest.raises(BufferError, match="descr"):
        taker(ArrayInterface(bytes(64), (2,), "|V8", descr=descr))


LIES = {
    "ndim": ({"ndim": 65}, "ndim is 65"),
    "a negative ndim": ({"ndim": -1}, "ndim is -1"),
    "no shape": ({"shape": None}, "shape is NULL"),
    "itemsize": ({"itemsize": -4}, "itemsize is -4"),
    "a huge itemsize": ({"itemsize": 2**32}, "itemsize"),
    "len": ({"len": 15}, "len is 15"),
    "a negative len": ({"len": -1}, "len is -1"),
    "another itemsize": ({"itemsize": 8}, "format"),
    "no address": ({"buf": 0}, "buf"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_buffer_that_contradicts_itself_is_refused_and_given_back(taker, name):
    lie, told = LIES[name]
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4, shape=(4,), lie=lie)
    with pytest.raises(BufferError, match=f"(?s){told}.*buffer protocol.*try  "):
        taker(exporter)
    assert (exporter.live, exporter.gets) == (0, exporter.releases)


@pytest.mark.parametrize("shape", [(-4,), (2**62,), (2**32, 2**32), (0, 2**62, 8)], ids=plain_str)
def test_a_shape_that_cannot_be_is_refused(taker, shape):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4, shape=shape)
    with pytest.raises(BufferError, match="shape"):
        taker(exporter)
    assert exporter.live == 0


def test_a_number_of_elements_that_does_not_fit_is_refused_even_without_bytes(taker):
    with pytest.raises(BufferError, match="shape"):
        taker(CountingBuffer(b"", format=None, itemsize=0, shape=(2**40, 2**40)))


@pytest.mark.parametrize("strides", [(2**62,), (-(2**63),), (2**61,), (-(2**61),)], ids=plain_str)
def test_strides_that_reach_too_far_are_refused(taker, strides):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4, shape=(4,), strides=strides)
    with pytest.raises(BufferError, match="stride.*bounds"):
        taker(exporter)
    assert exporter.live == 0


def test_strides_that_reach_too_far_together_are_refused(taker):
    facts = {"shape": (2, 2, 2), "strides": (2**60, 2**60, 2**60), "dtype": (0, 16, 1)}
    with pytest.raises(BufferError, match="stride.*bounds"):
        taker(made(CountingDLPack, facts))


def test_suboffsets_are_refused_with_the_remedy(taker):
    rows = testbuffer.ndarray(list(range(12)), shape=[3, 4], format="h", flags=testbuffer.ND_PIL)
    with pytest.raises(BufferError, match=r"(?s)suboffset 0 is 0.*LEND_COPY_IF_NEEDED"):
        taker(rows)


UNKNOWN = ["O", "&i", "ii", "2i", "(2,3)f", "X{}", "t", "p", "Zx", "Z", "T{O:a:}", "T{i:a:&i:b:}", "T{i:a:", "z", "ä"]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_format_that_is_no_one_dtype_is_refused(taker, text):
    exporter = CountingBuffer(bytes(16), format=text, itemsize=8, shape=(2,))
    with pytest.raises(BufferError, match="format"):
        taker(exporter)
    assert exporter.live == 0


def test_a_device_that_is_announced_otherwise_is_refused(taker):
    producer = CountingDLPack(16, (4,), device=(1, 0), keep=True)
    producer.announced = (2, 0)
    with pytest.raises(BufferError, match=r"(?s)device type 2.*says 1"):
        taker(producer)
    assert producer.names == ["dltensor_versioned"]


@pytest.mark.parametrize(
    "device", [None, 1, (1,), (1, 2, 3), ("1", 0), (True, 0), (0, 0), (-1, 0), (2**40, 0)], ids=plain_repr
)
def test_an_announced_device_that_is_none_is_refused(taker, device):
    producer = CountingDLPack(16, (4,))
    producer.announced = device
    with pytest.raises(BufferError, match="__dlpack_device__"):
        taker(producer)
    assert producer.made == 0


@pytest.mark.parametrize("answer", [None, 5, b"capsule", object(), {}], ids=lambda answer: type(answer).__name__)
def test_an_answer_that_is_no_capsule_is_refused(taker, answer):
    with pytest.raises(BufferError, match="not a DLPack capsule"):
        taker(Gives(answer))


@pytest.mark.parametrize("failure", [ValueError("not now"), "silent", "null"], ids=plain_str)
def test_a_table_that_fails_is_a_refusal(taker, failure):
    producer = CountingExchange(16, (4,), failure=failure)
    with pytest.raises(BufferError, match="(?s)exchange API") as raised:
        taker(producer)
    assert producer.audit() == []
    if isinstance(failure, ValueError):
        assert raised.value.__cause__ is failure
        assert "ValueError: not now" in str(raised.value)


def test_a_table_serves_its_own_type_alone(taker):
    kind = type("Subclass", (CountingExchange,), {})
    producer = kind(16, (4,))
    with pytest.raises(TypeError, match="no buffer protocol"):
        taker(producer)
    assert producer.made == 0


def test_an_older_table_is_found_behind_a_newer_one(taker):
    newer = counting.exchange_table(version=(2, 0), previous=counting.exchange_table())
    kind = type("Newer", (CountingExchange,), {"__dlpack_c_exchange_api__": newer})
    assert taker(kind(16, (4,))).shape == (4,)


@pytest.mark.parametrize("table", [counting.exchange_table(version=(2, 0)), counting.exchange_table(name="other"), 5])
def test_a_table_that_cannot_be_read_is_no_door(taker, table):
    kind = type("Other", (CountingExchange,), {"__dlpack_c_exchange_api__": table})
    with pytest.raises(TypeError):
        taker(kind(16, (4,)))


def test_what_a_producer_raises_is_the_cause(taker):
    producer = Raises(16, (4,))
    with pytest.raises(BufferError, match="RuntimeError: the tensor is not ready") as raised:
        taker(producer)
    assert raised.value.__cause__ is producer.error
    assert len(producer.asked) == 1


def test_a_type_error_from_inside_is_not_asked_again(taker):
    producer = Raises(16, (4,))
    producer.error = TypeError("unexpected keyword, says somebody deep inside")
    with pytest.raises(BufferError, match="deep inside"):
        taker(producer)
    assert len(producer.asked) == 1


def test_of_two_refused_signatures_the_first_is_the_cause(taker):
    class Needs(CountingDLPack):
        def __dlpack__(self, needed):
            raise AssertionError

    with pytest.raises(BufferError, match="max_version"):
        taker(Needs(16, (4,)))


def test_a_device_that_cannot_be_told_is_a_refusal(taker):
    producer = DeviceRaises(16, (4,))
    with pytest.raises(BufferError, match="no device yet"):
        taker(producer)
    assert producer.made == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
@pytest.mark.parametrize("attribute", ["__dlpack__", "__array_interface__", "__cuda_array_interface__"])
def test_what_is_no_refusal_passes(taker, attribute, error):
    with pytest.raises(error):
        taker(PropertyRaises(error, attribute))


@pytest.mark.parametrize("attribute", ["__dlpack__", "__array_interface__", "__cuda_array_interface__"])
def test_an_attribute_that_raises_is_a_refusal(taker, attribute):
    error = ValueError("gone")
    with pytest.raises(BufferError, match=r"ValueError: gone") as raised:
        taker(PropertyRaises(error, attribute))
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "obj", [object(), 5, "text", [1.0], None, {}, type, bytes, CountingDLPack, Ellipsis], ids=plain_repr
)
def test_an_object_without_a_protocol_is_a_type_error(taker, obj):
    with pytest.raises(TypeError, match=r"(?s)no buffer protocol.*try  "):
        taker(obj)


def test_a_mock_is_refused(taker):
    with pytest.raises(BufferError, match="AnswersEverything"):
        taker(AnswersEverything())


def test_a_released_memoryview_is_refused(taker):
    view = memoryview(b"1234")
    view.release()
    with pytest.raises(BufferError, match="released"):
        taker(view)


def test_what_every_door_said_is_told(taker):
    class Closed(CountingDLPack):
        def __dlpack__(self, **keywords):
            raise ValueError("first")

        @property
        def __array_interface__(self):
            raise LookupError("second")

    with pytest.raises(BufferError) as raised:
        taker(Closed(16, (4,)))
    assert "  tried  : DLPack -> it refused: ValueError: first\n" in str(raised.value)
    assert "  tried  : array interface -> it refused: LookupError: second\n" in str(raised.value)
    assert isinstance(raised.value.__cause__, BufferError)


def test_a_value_that_cannot_be_shown_is_refused_all_the_same(taker):
    class Hidden:
        def __repr__(self):
            raise ValueError

    with pytest.raises(BufferError, match="shape"):
        taker(ArrayInterface(bytes(8), Hidden(), "<f4"))


def test_numbers_that_change_the_dict_while_they_are_read_do_no_harm(taker):
    class Clears:
        def __index__(self):
            source.facts.clear()
            return 2

    source = ArrayInterface(bytes(8), (Clears(),), "<f4")
    assert taker(source).shape == (2,)


def test_a_capsule_that_is_consumed_while_it_is_looked_at_is_refused(taker):
    class Late(CountingDLPack):
        @property
        def requires_grad(self):
            self.consumed = counting.consume(self.capsules[0])
            return False

    producer = Late(16, (4,), keep=True)
    with pytest.raises(BufferError, match="meanwhile"):
        taker(producer)
    producer.consumed = None
    producer.capsules.clear()
    assert producer.audit() == []


def test_a_refusal_keeps_nothing_of_the_object_alive(taker):
    class Shows:
        __array_interface__ = {"shape": (-1,), "typestr": "<f4", "data": (64, False)}

    source = Shows()
    alive = weakref.ref(source)
    with pytest.raises(BufferError):
        taker(source)
    del source
    assert alive() is None


def test_nothing_malformed_ends_the_process(taker):
    out = children.run_clean(
        """
        import importlib.machinery, importlib.util, sys
        name, path = sys.argv[1:]
        loader = importlib.machinery.ExtensionFileLoader(name, path)
        module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
        loader.exec_module(module)
        from support.counting import CountingDLPack, CountingExchange
        from support.malformed import TENSORS, VERSIONED, interfaces
        from support.producers import ABSENT
        def refused(source, *request):
            try: print("accepted", module.take(source, *request))
            except BufferError: pass
        for name, (facts, _) in (TENSORS | VERSIONED).items():
            facts = dict(facts); shape = facts.pop("shape")
            doors = [CountingDLPack(64, shape, protocol=p, **facts) for p in ("versioned", "legacy")]
            if name in VERSIONED: doors.pop()
            for door in [*doors, CountingExchange(64, shape, **facts), CountingDLPack(64, shape, **facts).capsule()]:
                refused(door)
                refused(door, {"flags": 4096})
        memory, good, table = interfaces()
        class Shows: pass
        for changes, _ in table.values():
            source = Shows()
            source.__array_interface__ = {k: v for k, v in (good | changes).items() if v is not ABSENT}
            refused(source)
            refused(source, {"flags": 4096})
        print("done")
        """,
        args=(taker.name, taker.path),
    )
    assert out == "done\n"
