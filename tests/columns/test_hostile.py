"""Arrow structs that cannot be true: an exception that names what is wrong, the structs left alone, never a crash."""

import gc
import json

import pytest

import lend
from lend.errors import LendError
from support import arrow_structs, children, hostile_arrow
from support.arrow_structs import Made, Node, Streamed


@pytest.fixture(scope="module")
def answers():
    """What was said of each case, all in one process; if that ends, the case that ended it is the last one told."""
    snippet = """
    import json, os, resource
    from support import hostile_arrow

    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which maps far more than it uses
        # what takes a lying length for true, runs out of memory
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    for case, (made, _) in hostile_arrow.CASES.items():
        print(json.dumps([case, None]), flush=True)
        print(json.dumps([case, hostile_arrow.judged(lambda: eval(made, vars(hostile_arrow)))]), flush=True)
    """
    result = children.run(snippet, timeout=300)
    found = dict(json.loads(line) for line in result.out.splitlines())
    assert result.rc == 0, f"{list(found)[-1]!r} ended the process: {result.rc}\n{result.err}"
    return found


@pytest.mark.parametrize("case", hostile_arrow.CASES)
def test_what_cannot_be_true_is_refused_by_what_is_wrong(case, answers):
    assert hostile_arrow.CASES[case][1] in answers[case]


@pytest.mark.parametrize("case", [case for case in hostile_arrow.CASES if hostile_arrow.CASES[case][1]])
def test_what_cannot_be_true_is_not_read(case, answers):
    assert answers[case].startswith("read: ") == hostile_arrow.CASES[case][1].startswith("read: ")


@pytest.mark.parametrize("number", range(len(hostile_arrow.good())))
def test_the_good_structs_that_are_spoilt_can_be_read(number):
    assert hostile_arrow.judged(lambda: Made(hostile_arrow.good()[number])).startswith("read: ")


@pytest.mark.parametrize("levels", [1, 63, 64])
def test_64_levels_are_read(levels):
    assert hostile_arrow.judged(lambda: hostile_arrow.deep(levels)).startswith("read: ")


def test_a_refusal_names_the_column_and_the_field():
    inner = Node("+s", 3, buffers=[None], children=[Node("l", 3, buffers=[None, None], name="deep")], name="mid")
    with pytest.raises(LendError, match="field 'mid' > 'deep' in column 'top' of .*Made cannot be taken: its buffer 1"):
        lend.column(Made(Node("+s", 3, buffers=[None], children=[inner], name="top")))


def test_a_refusal_names_a_dictionary():
    node = Node("c", 1, buffers=[None, b"\0"], name="k", dictionary=Node("l", 1, buffers=[None, None]))
    with pytest.raises(LendError, match="field its dictionary in column 'k'"):
        lend.column(Made(node))


def test_a_refusal_names_a_field_without_a_name_by_its_number():
    with pytest.raises(LendError, match="field child 0 in the array"):
        lend.column(Made(Node("+s", 3, buffers=[None], children=[Node("l", 3, buffers=[None, None])])))


def test_a_contradiction_in_the_contents_names_the_column():
    column = lend.column(Made(Node("u", 1, buffers=[None, hostile_arrow.i(0, 1), b"\xff"], name="t")))
    with pytest.raises(LendError, match="column 't' contradicts itself: element 0 is not UTF-8"):
        column.tolist()


def test_a_column_that_contradicts_itself_shows_itself_all_the_same():
    column = lend.column(Made(hostile_arrow.sparse([0, 9])))
    assert ", nulls that cannot be counted, lent by" in repr(column)


def test_a_lie_about_no_nulls_is_found_by_the_full_check():
    column = lend.column(Made(Node("c", 2, 0, buffers=[b"\1", b"ab"])))
    with pytest.raises(LendError, match="its null_count is 0, and its bitmap says 1"):
        column.verify(full=True)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_spoilt_at_random_is_read_or_refused(seed):
    assert set(hostile_arrow.rounds(seed, 150)) <= {"read", "MalformedDescriptor", "UnsupportedType"}


def test_what_is_spoilt_at_random_is_given_back():
    gc.collect()
    before = arrow_structs.living()
    hostile_arrow.rounds(99, 100)
    gc.collect()
    # what lost its release callback before it was taken is nobody's
    assert arrow_structs.living() - before < 100


@pytest.mark.slow
def test_much_that_is_spoilt_at_random_is_read_or_refused_and_never_a_crash():
    snippet = """
    import faulthandler, sys
    from support import hostile_arrow

    faulthandler.enable()
    for seed in range(100, 140):
        print(seed, hostile_arrow.rounds(seed, 500), flush=True)
    """
    result = children.run(snippet, timeout=3000)
    assert result.rc == 0, f"{result.out[-300:]}\n{result.err}"


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
@pytest.mark.parametrize("answer", [None, 3, (), (1, 2), [1, 2], (None, None), (1, 2, 3), "x"], ids=repr)
def test_answers_that_are_no_capsules_are_refused(method, answer):
    made = type("Odd", (), {method: lambda self, requested_schema=None: answer})()
    with pytest.raises(LendError, match="Odd"):
        lend.column(made)


def test_a_stream_that_ends_in_an_error_tells_its_text_and_its_number():
    with pytest.raises(LendError, match=r"did not give its next array: the disk is gone(.|\n)*errno 5"):
        lend.column(Streamed(Node("l"), [(5, "the disk is gone")]))


def test_an_error_text_that_is_no_utf8_is_told_all_the_same():
    with pytest.raises(LendError, match="gone \ufffd"):
        lend.column(Streamed(Node("l"), [(5, b"gone \xff")]))
