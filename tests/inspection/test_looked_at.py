"""What loans() and copies() answer, as it is shown, written down and sent elsewhere."""

import copy
import json
import pickle

import pytest

import lend
from lend.inspection.loans import Loans, loans


def of(*producers):
    """The loans of these producers alone: other tests may have left some alive."""
    return Loans(loan for loan in loans() if any(loan.producer is producer for producer in producers))


def lent(count):
    """Producers of different sizes, the Views of them, and their loans."""
    producers = [bytearray(100 + i) for i in range(count)]
    views = [lend.view(producer) for producer in producers]
    return views, of(*producers)


def test_many_loans_are_printed_up_to_the_twenty_largest():
    views, found = lent(23)
    head, names, *rows, rest = str(found).splitlines()
    assert head.startswith("23 leases pin ")
    assert names.split()[:2] == ["bytes", "kind"]
    assert [row.split()[0] for row in rows] == [str(nbytes) for nbytes in range(122, 102, -1)]
    assert rest == "  ... and 3 more, 303 bytes"
    assert len(found) == len(views) == len(found.to_dict()["loans"])


def test_twenty_loans_are_all_printed():
    views, found = lent(20)
    assert len(str(found).splitlines()) == 2 + len(views)


def test_a_notebook_is_shown_the_same_table():
    views, found = lent(21)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 1 + 20
    assert "<p>... and 1 more, 100 bytes</p>" in shown
    assert f"<p>{len(views)} leases pin " in shown
    assert Loans()._repr_html_() == "<p>nothing is lent</p>"


def test_loans_are_pickled_as_plain_facts():
    views, found = lent(2)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert (again[0].owner, again[0].producer) == (None, None)
    assert (repr(again[0]), str(again)) == (repr(found[0]), str(found))
    assert views


def test_a_loan_that_is_copied_still_knows_its_owner():
    views, found = lent(1)
    assert copy.copy(found[0]).owner is copy.deepcopy(found[0]).owner is views[0].owner


def test_one_byte_is_one_byte():
    producer = bytearray(1)
    view = lend.view(producer)
    found = of(producer)
    assert repr(found[0]).startswith("<Loan: 1 byte on cpu")
    assert str(found).startswith("1 lease pins 1 byte\n")
    view.release()


def test_one_export_is_one_export():
    view = lend.view(bytearray(4))
    shown = memoryview(view)
    assert repr(view).endswith("lent by bytearray, 1 open export>")
    with pytest.raises(lend.LendError, match="cannot be released: 1 buffer-protocol export of it is open\n"):
        view.release()
    second = memoryview(view)
    assert repr(view).endswith("2 open exports>")
    assert shown.tobytes() == second.tobytes()


def test_copies_go_through_json_and_pickle():
    with lend.copies() as made:
        lend.view(b"abcd", copy=True)
    again = json.loads(json.dumps(made.to_dict()))
    assert again == {
        "count": 1,
        "bytes": 4,
        "recent": [{"what": "uint8[4] of bytes", "why": "copy=True", "nbytes": 4}],
    }
    assert pickle.loads(pickle.dumps(made)).to_dict() == again


def test_the_last_64_copies_are_kept_and_all_are_counted():
    with lend.copies() as made:
        for _ in range(70):
            lend.view(b"abcd", copy=True)
    assert (made.count, made.bytes, len(made.recent)) == (70, 280, 64)
