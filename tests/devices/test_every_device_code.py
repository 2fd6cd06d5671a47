"""One row for each of DLPack's device codes: what is represented, what the host may read, and what a refusal says.

By hand-made capsules, unversioned and versioned, where there is no driver that could be asked.
"""

import pytest

import lend
from lend.devices.access import access
from lend.errors import NotHostAccessible
from support import counting
from support.arrow_device_structs import OnDevice
from support.arrow_structs import Node
from support.counting import CountingDLPack
from support.device_producers import ADDRESS

TOKEN = 0x1235  # a handle: no address, and odd
OFFSET, SHAPE, NUMBERS = 8, (2, 3), (2, 32, 1)

# code -> name, whether `data` is an address, row of the table, what the refusal says (None: the host reads it)
READ, LIBRARY = None, "by the library that made it"
CODES = {
    1: ("cpu", True, "host", READ),
    2: ("cuda", True, "device, as told", "in the process that made it"),
    3: ("cuda_host", True, "pinned, as told", READ),
    4: ("opencl", False, "a handle", LIBRARY),
    5: ("device type 5", False, "a handle", LIBRARY),
    6: ("device type 6", False, "a handle", LIBRARY),
    7: ("vulkan", False, "a handle", LIBRARY),
    8: ("metal", False, "a handle", LIBRARY),
    9: ("vpi", True, "a device of another kind", LIBRARY),
    10: ("rocm", True, "device, as told", "in the process that made it"),
    11: ("rocm_host", True, "pinned, as told", READ),
    12: ("ext_dev", True, "a device of another kind", LIBRARY),
    13: ("cuda_managed", True, "device, as told", "in the process that made it"),
    14: ("oneapi", True, "USM of a kind that is not told", LIBRARY),
    15: ("webgpu", False, "a handle", LIBRARY),
    16: ("hexagon", True, "a device of another kind", LIBRARY),
    17: ("maia", True, "a device of another kind", LIBRARY),
    18: ("trn", True, "a device of another kind", LIBRARY),
    19: ("device type 19", False, "a handle", LIBRARY),
    255: ("device type 255", False, "a handle", LIBRARY),
}
EVERY = pytest.mark.parametrize("code", CODES)
READABLE = pytest.mark.parametrize("code", [code for code, row in CODES.items() if row[3] is READ])
REFUSED = pytest.mark.parametrize("code", [code for code, row in CODES.items() if row[3] is not READ])
VERSIONS = pytest.mark.parametrize("protocol", ["legacy", "versioned"])


def producer(code, protocol="versioned", **facts):
    """Memory of nobody's on a device: of the host by its code, real memory is behind it."""
    if CODES[code][3] is not READ:
        facts.setdefault("data", ADDRESS if CODES[code][1] else TOKEN)
    facts = {"dtype": NUMBERS, "device": (code, number(code)), "byte_offset": OFFSET} | facts
    return CountingDLPack(bytes(range(64)), facts.pop("shape", SHAPE), protocol=protocol, **facts)


def number(code):
    return 0 if code in (1, 3, 11, 13) else 3


def taken(made, bare):
    """By the object, or by its capsule alone."""
    return lend.view(made.__dlpack__(max_version=(1, 0)) if bare else made, writable=True)


def given(view):
    return counting.consume(view.__dlpack__(max_version=(1, 3))).fields


BARE = pytest.mark.parametrize("bare", [False, True], ids=["object", "capsule"])


@EVERY
@VERSIONS
@BARE
def test_device_and_place_are_told_as_they_came(code, protocol, bare):
    name, is_address, _, said = CODES[code]
    view = taken(producer(code, protocol), bare)
    assert (view.device.name, tuple(view.device)) == (name, (code, number(code)))
    if said is not READ:
        assert view.ptr == (ADDRESS + OFFSET if is_address else OFFSET)
        placed = (ADDRESS + OFFSET, 0) if is_address else (TOKEN, OFFSET)
        fields = given(view)
        assert (fields["data"], fields["byte_offset"], fields["device"]) == (*placed, (code, number(code)))


@EVERY
@VERSIONS
@BARE
def test_a_part_begins_further_on_and_a_handle_stays(code, protocol, bare):
    is_address, said = CODES[code][1], CODES[code][3]
    view = taken(producer(code, protocol), bare)
    fields, moved = given(view[1:, 2:]), (3 + 2) * 4
    if said is READ:
        assert view[1:, 2:].tolist() == [[view.tolist()[1][2]]]
    else:
        placed = (ADDRESS + OFFSET + moved, 0) if is_address else (TOKEN, OFFSET + moved)
        assert (fields["data"], fields["byte_offset"]) == placed
    assert (fields["shape"], fields["strides"]) == ((1, 1), (1, 1))


@EVERY
@BARE
def test_read_only_stays_read_only_in_every_part_and_loan(code, bare):
    made = producer(code, flags=counting.READ_ONLY)
    view = lend.view(made.__dlpack__(max_version=(1, 0)) if bare else made)
    assert view.readonly
    again = lend.view(view[1:].__dlpack__(max_version=(1, 0)))
    assert again.readonly
    with pytest.raises(BufferError, match="read-only"):
        view[1:].__dlpack__()  # an unversioned capsule could not say it


@EVERY
def test_an_unversioned_capsule_leaves_writing_to_the_callers_word(code):
    assert lend.view(producer(code, "legacy")).readonly
    assert not lend.view(producer(code, "legacy"), writable=True).readonly


@EVERY
@VERSIONS
@BARE
def test_it_is_given_back_once(code, protocol, bare):
    made = producer(code, protocol)
    view = taken(made, bare)
    part = view[1:]
    capsule, other = part.__dlpack__(max_version=(1, 0)), view.buffer
    loan = lend.view(capsule)
    del view, part, capsule, other
    assert made.live == 1
    del loan
    assert made.audit() == []


@EVERY
@VERSIONS
def test_a_refused_capsule_is_given_back_by_its_own_destructor(code, protocol):
    made = producer(code, protocol, ndim=-1)
    with pytest.raises(lend.LendError, match="ndim"):
        lend.view(made)
    assert (made.audit(), made.deleted_by_consumer) == ([], 0)


@EVERY
@VERSIONS
def test_of_no_bytes_the_device_is_kept_and_anybody_reads_nothing(code, protocol):
    made = producer(code, protocol, shape=(2, 0), data=ADDRESS)
    view = lend.view(made, writable=True)
    fields = given(view)
    assert (fields["data"], fields["byte_offset"], fields["device"]) == (0, 0, (code, number(code)))
    assert (view.tolist(), bytes(memoryview(view)), access(view).name) == ([[], []], b"", "empty")


@READABLE
@VERSIONS
@BARE
def test_the_host_reads_what_is_its_own(code, protocol, bare):
    view = taken(producer(code, protocol), bare)
    assert (access(view).name, access(view).host) == (CODES[code][2], True)
    assert bytes(memoryview(view)) == view.tobytes() == bytes(range(OFFSET, OFFSET + 24))


@REFUSED
@VERSIONS
@BARE
def test_anything_else_is_refused_with_its_device_its_reason_and_a_remedy(code, protocol, bare):
    name, _, row, said = CODES[code]
    view = taken(producer(code, protocol), bare)
    assert (access(view).name, access(view).host) == (row, False)
    with pytest.raises(NotHostAccessible) as refusal:
        memoryview(view)
    assert f"on {name}:{number(code)} ({row}): " in str(refusal.value)
    assert said in refusal.value.remedy
    # a capsule has nobody behind it who could be asked
    asks = 'lend.to(x, target, device="cpu"), which asks its library for a copy by name' in refusal.value.remedy
    assert asks == (not bare)


# -- a copy on the host by who lent it, where no driver makes one ----------------------------------------------------


class Copying(CountingDLPack):
    """A producer that copies to the host when it is asked by `dl_device`, and keeps what it made."""

    answer = "copies"

    def __dlpack__(self, *, dl_device=None, **asked):
        if dl_device is None:
            return super().__dlpack__(**asked)
        self.asked.append({"dl_device": dl_device, **asked})
        if self.answer == "raises":
            raise BufferError("this memory does not go to the host")
        if self.answer == "ignores":
            return super().__dlpack__(**asked)
        shape = (6,) if self.answer == "flat" else SHAPE
        numbers = b"".join(value.to_bytes(4, "little") for value in range(6))
        self.made_on_host = CountingDLPack(numbers, shape, dtype=(1, 32, 1), flags=self.sealed | counting.IS_COPIED)
        return self.made_on_host.__dlpack__(**asked)

    sealed = 0


def copying(code, **facts):
    facts = {"dtype": (1, 32, 1), "device": (code, number(code)), "byte_offset": OFFSET} | facts
    return Copying(64, SHAPE, data=ADDRESS if CODES[code][1] else TOKEN, **facts)


VALUES = [[0, 1, 2], [3, 4, 5]]
PARTS = {
    "all": (lambda view: view, VALUES),
    "a row": (lambda view: view[1], VALUES[1]),
    "an element": (lambda view: view[1, 2], 5),
    "backwards": (lambda view: view[::-1, ::2], [[3, 5], [0, 2]]),
    "transposed": (lambda view: view.T, [[0, 3], [1, 4], [2, 5]]),
    "a part of a part": (lambda view: view[1:].T[1:], [[4], [5]]),
    "other numbers": (lambda view: view.reinterpret("uint16")[0], [0, 0, 1, 0, 2, 0]),
}


@REFUSED
@pytest.mark.parametrize("part", PARTS)
def test_who_lent_it_is_asked_for_a_copy_on_the_host_by_name(code, part):
    take, values = PARTS[part]
    made = copying(code)
    view = take(lend.view(made))
    assert lend.view(view, device="cpu").tolist() == lend.to(view, "numpy", device="cpu").tolist() == values
    assert [each["dl_device"] for each in made.asked if "dl_device" in each] == [(1, 0)] * 2
    del view
    assert (made.audit(), made.made_on_host.audit()) == ([], [])


def test_a_plan_says_that_the_producer_copies_and_asks_for_nothing():
    made = copying(8)
    with lend.copies() as counted:
        plan = lend.explain(made, "numpy", device="cpu")
        asked = [each for each in made.asked if "dl_device" in each]
        array = lend.to(made, "numpy", device="cpu")
    (step,) = plan.copies
    assert (step.who, step.nbytes, plan.bytes_copied, asked) == ("producer", 24, 24, [])
    assert (array.flags.writeable, counted.bytes) == (True, 0)


def test_what_came_read_only_is_copied_once_more_for_who_must_write():
    made = copying(8)
    made.sealed = counting.READ_ONLY
    assert lend.to(made, "numpy", device="cpu").flags.writeable
    assert lend.view(made, device="cpu").readonly


@pytest.mark.parametrize("answer", ["raises", "ignores", "flat"])
@pytest.mark.parametrize("ask", [lambda x: lend.view(x, device="cpu"), lambda x: lend.to(x, "numpy", device="cpu")])
def test_a_producer_that_gives_no_such_copy_is_named_with_what_it_gave(answer, ask):
    made = copying(8)
    made.answer = answer
    told = {"raises": "BufferError: this memory", "ignores": "on metal:3", "flat": r"int32\[6\]|uint32\[6\]"}
    with pytest.raises(NotHostAccessible, match=f"(?s)by its producer, and was not.*-> .*({told[answer]})"):
        ask(made)
    assert made.audit() == []


def test_a_part_of_memory_in_another_order_is_not_guessed_at():
    made = copying(8, strides=(1, 2))
    view = lend.view(made)
    assert lend.view(view, device="cpu").tolist() == VALUES
    with pytest.raises(NotHostAccessible, match="cannot be cut out"):
        lend.view(view[1:], device="cpu")


@pytest.mark.parametrize("options", [{"copy": False}, {}])
def test_nobody_is_asked_where_no_copy_was_allowed_or_none_was_named(options):
    made = copying(8)
    named = {"device": "cpu"} if options else {}
    with pytest.raises(NotHostAccessible):
        lend.to(made, "numpy", **named, **options)
    assert not any("dl_device" in each for each in made.asked)


# -- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [code for code in CODES if code not in (1, 2, 3, 10, 11, 13)])
@pytest.mark.parametrize("stream", [0, 1, 2, 0x5000])
def test_a_stream_of_a_device_on_which_lend_orders_nothing_is_refused(code, stream):
    with pytest.raises(lend.errors.StreamError, match="SYCL" if code == 14 else "orders no work"):
        lend.view(producer(code)).__dlpack__(stream=stream, max_version=(1, 0))


@pytest.mark.parametrize("code", [code for code in CODES if code != 1])
@pytest.mark.parametrize("stream", [None, -1])
def test_no_order_is_asked_of_any_device(code, stream):
    assert lend.view(producer(code)).__dlpack__(stream=stream, max_version=(1, 0)) is not None


# -- Arrow's device arrays, whose codes are the same -----------------------------------------------------------------


@pytest.mark.parametrize("code", [code for code in CODES if code not in (5, 6, 19, 255) and CODES[code][3] is not READ])
def test_an_arrow_array_on_a_device_with_addresses_is_a_column_there_and_one_of_handles_is_refused(code):
    name, is_address, _, _ = CODES[code]
    made = OnDevice(Node("l", 3, buffers=[None, ADDRESS]), code, number(code))
    if not is_address:
        with pytest.raises(lend.LendError, match=f"memory on {name}:3 has handles in place of addresses"):
            lend.column(made)
        return
    column = lend.column(made)
    assert (tuple(column.device), column.view().ptr) == ((code, number(code)), ADDRESS)
    with pytest.raises(NotHostAccessible, match=name):
        column.tolist()
