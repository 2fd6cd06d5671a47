"""lend.errors: what each class is besides a LendError, how messages are laid out, what survives pickle."""

import copy
import errno
import pickle

import pytest

from lend import errors

BUILTINS = {
    "CopyRequired": ValueError,
    "NotLendable": TypeError,
    "NotHostAccessible": TypeError,
    "ReadOnlyMemory": BufferError,
    "UnsupportedType": BufferError,
    "UnsupportedLayout": BufferError,
    "MalformedDescriptor": BufferError,
    "LeaseLost": BufferError,
    "StreamError": ValueError,
    "NoSpace": OSError,
}
CLASSES = [getattr(errors, name) for name in errors.__all__]


def carried(error):
    """What of an error must survive a journey."""
    return type(error), str(error), error.args, vars(error), getattr(error, "errno", None)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_a_buffer_error(cls):
    assert issubclass(cls, errors.LendError)
    assert issubclass(cls, BufferError)


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_error_is_caught_by_the_builtin_it_also_is(name, builtin):
    with pytest.raises(builtin):
        raise getattr(errors, name).build("no")


@pytest.mark.parametrize("cls", CLASSES)
def test_error_is_named_after_its_public_module(cls):
    assert cls.__module__ == "lend.errors"


@pytest.mark.parametrize("cls", CLASSES)
def test_docstring_of_the_module_draws_every_class(cls):
    assert cls.__name__ in errors.__doc__


def test_message_is_a_fact_and_aligned_particulars():
    error = errors.LendError.build("a fact", wanted="w", came="c", tried="t", remedy="r")
    assert str(error) == "a fact\n  wanted : w\n  came   : c\n  tried  : t\n  try    : r"


def test_message_leaves_out_what_is_not_told():
    assert str(errors.LendError.build("a fact", remedy="r")) == "a fact\n  try    : r"


def test_long_particulars_continue_under_their_own_column():
    error = errors.LendError.build("a fact", tried=["buffer protocol no", "__dlpack__ no"])
    assert str(error) == "a fact\n  tried  : buffer protocol no\n           __dlpack__ no"


def test_particulars_are_kept_for_programs():
    error = errors.CopyRequired.build("a fact", came="c", tried=iter(["a", "b"]))
    assert (error.fact, error.wanted, error.came, error.tried, error.remedy) == ("a fact", None, "c", "a\nb", None)


def test_plain_error_has_its_text_and_no_particulars():
    error = errors.LeaseLost("this View was released")
    assert (str(error), error.fact, error.remedy) == ("this View was released", None, None)


def test_producer_is_quoted_with_type_and_text():
    error = errors.NotLendable.from_producer(RuntimeError("is sparse"), "cannot lend it", door="__dlpack__", came="c")
    assert str(error) == "cannot lend it\n  came   : c\n  tried  : __dlpack__ -> RuntimeError: is sparse"


def test_producer_without_a_text_is_quoted_by_type():
    assert errors.NotLendable.from_producer(KeyError(), "no", door="d").tried == "d -> KeyError"


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("cls", CLASSES)
def test_error_survives_pickle_and_copy(cls, travel):
    error = cls.build("a fact", came="c", remedy="r")
    assert carried(travel(error)) == carried(error)


def test_no_space_says_its_errno_after_a_journey():
    error = errors.NoSpace.build("no room", errno=errno.ENOMEM)
    assert pickle.loads(pickle.dumps(error)).errno == errno.ENOMEM


def test_no_space_means_enospc_where_nobody_says_otherwise():
    assert errors.NoSpace("no room").errno == errors.NoSpace.build("no room").errno == errno.ENOSPC


def test_no_space_shows_its_text_alone():
    assert str(errors.NoSpace(errno.EDQUOT, "over quota")) == "over quota"


def test_no_space_keeps_the_errno_of_the_exception_it_quotes():
    error = errors.NoSpace.from_producer(OSError(errno.EDQUOT, "quota"), "no room", door="ftruncate")
    assert error.errno == errno.EDQUOT


def test_the_room_of_errors_shows_errors_alone():
    assert dir(errors) == errors.__all__
    assert all(issubclass(getattr(errors, name), errors.LendError) for name in dir(errors))
