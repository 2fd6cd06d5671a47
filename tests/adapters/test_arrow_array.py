"""Objects that have `__arrow_array__` and nothing better: taken by what it gives, which must be an Arrow array."""

import pytest

import lend
from lend.errors import NotLendable

pa = pytest.importorskip("pyarrow")


class Maker:
    def __init__(self, given):
        self.given = given

    def __arrow_array__(self, type=None):
        return self if self.given is Maker else self.given


@pytest.mark.parametrize("given", [pa.array([1, None]), pa.chunked_array([[1], [None]])], ids=["array", "chunked"])
def test_what_it_gives_is_taken(given):
    assert lend.column(Maker(given)).tolist() == [1, None]


WRONG = {
    "nothing": (None, "None"),
    "itself": (Maker, "itself"),
    "a list": ([1, 2], "a list"),
    "a number": (3, "an int"),
    "a scalar": (pa.scalar(3), "a pyarrow.lib.Int64Scalar"),
}


@pytest.mark.parametrize("take", [lend.column, lambda x: lend.to(x, "pyarrow"), lambda x: lend.table({"a": x})])
@pytest.mark.parametrize("case", WRONG)
def test_what_it_gives_that_is_no_array_is_named(case, take):
    given, name = WRONG[case]
    with pytest.raises(NotLendable) as refusal:
        take(Maker(given))
    assert f"Maker, whose __arrow_array__ gave {name}, which is no Arrow array" in str(refusal.value)
    assert "an __arrow_array__ that returns a pyarrow.Array" in refusal.value.remedy


def test_what_it_raises_is_told_and_the_cause():
    class Raiser:
        def __arrow_array__(self, type=None):
            raise ValueError("no units")

    with pytest.raises(NotLendable, match="Raiser, whose __arrow_array__ raised") as refusal:
        lend.column(Raiser())
    assert refusal.value.tried == "__arrow_array__() -> ValueError: no units"
    assert isinstance(refusal.value.__cause__, ValueError)
