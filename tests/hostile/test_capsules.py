"""Malformed DLPack tensors: refused naming the field, the capsule left unconsumed, no deleter called by lend (DESC)."""

import pytest

import lend
from lend.errors import LendError
from support import children, counting
from support.counting import CountingDLPack, CountingExchange
from support.malformed import TENSORS, VERSIONED

ALL = TENSORS | VERSIONED
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


def made(kind, facts, **keywords):
    return kind(64, facts["shape"], **{key: value for key, value in facts.items() if key != "shape"}, **keywords)


@TAKES
@pytest.mark.parametrize("name", ALL)
def test_a_malformed_tensor_is_refused_naming_the_field_and_stays_unconsumed(name, take):
    facts, told = ALL[name]
    producer = made(CountingDLPack, facts, protocol="versioned", keep=True)
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(producer)
    assert producer.names == ["dltensor_versioned"] * producer.made
    assert producer.deleted == 0
    producer.capsules.clear()
    assert (producer.deleted_by_consumer, producer.audit()) == (0, [])


@TAKES
@pytest.mark.parametrize("name", TENSORS)
def test_a_malformed_unversioned_tensor_is_refused_and_stays_unconsumed(name, take):
    facts, told = TENSORS[name]
    producer = made(CountingDLPack, facts, protocol="legacy", keep=True)
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(producer)
    assert producer.names == ["dltensor"] * producer.made
    assert producer.deleted == 0


@pytest.mark.parametrize("keywords", [{"copy": True}, {"writable": False}, {"writable": True}], ids=str)
@pytest.mark.parametrize("name", ALL)
def test_no_keyword_makes_a_malformed_tensor_right(name, keywords):
    producer = made(CountingDLPack, ALL[name][0], protocol="versioned", keep=True)
    with pytest.raises(LendError):
        lend.view(producer, **keywords)
    assert producer.deleted_by_consumer == 0


@pytest.mark.parametrize("name", ALL)
def test_a_malformed_bare_capsule_is_refused_and_stays_unconsumed(name):
    facts, told = ALL[name]
    producer = made(CountingDLPack, facts)
    capsule = producer.capsule()
    with pytest.raises(LendError, match=f"(?s){told}"):
        lend.view(capsule)
    assert counting.capsule_name(capsule) == "dltensor_versioned"
    del capsule
    assert (producer.deleted_by_consumer, producer.audit()) == (0, [])


@TAKES
@pytest.mark.parametrize("name", ALL)
def test_a_malformed_tensor_of_a_table_is_deleted_once_with_no_exception_set(name, take):
    facts, told = ALL[name]
    producer = made(CountingExchange, facts)
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(producer)
    assert (producer.deleted_by_consumer, producer.audit()) == (producer.made, [])


def test_a_malformed_tensor_without_a_deleter_is_refused_quietly():
    for kind in (CountingDLPack, CountingExchange):
        with pytest.raises(LendError):
            lend.view(made(kind, {"shape": (-1,), "null_deleter": True}))


def test_a_refused_capsule_may_be_mended_and_taken():
    producer = CountingDLPack(64, (4,), flags=counting.READ_ONLY)
    capsule = producer.capsule()
    with pytest.raises(LendError):
        lend.view(capsule, writable=True)
    view = lend.view(capsule)
    assert view.shape == (4,)
    del view
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


def test_no_malformed_tensor_ends_the_process():
    out = children.run_clean("""
        import lend
        from support.counting import CountingDLPack, CountingExchange
        from support.malformed import TENSORS, VERSIONED
        for name, (facts, _) in (TENSORS | VERSIONED).items():
            facts = dict(facts); shape = facts.pop("shape")
            doors = [CountingDLPack(64, shape, protocol=p, **facts) for p in ("versioned", "legacy")]
            if name in VERSIONED: doors.pop()
            doors += [CountingExchange(64, shape, **facts), CountingDLPack(64, shape, **facts).capsule()]
            for producer in doors:
                for take in (lend.view, lend.buffer):
                    try: print("accepted", name, take(producer))
                    except lend.errors.LendError: pass
        print("done")
    """)
    assert out == "done\n"
