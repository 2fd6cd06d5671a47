"""The checks of check_on_gpu.py: their table, and the words of its report."""

IN_PLACE, REFUSED, SIGNED = "read in place, after the wait", "refused", "read where it is signed for"
NOT_FOR_THE_HOST = "refused: NotHostAccessible"
DIES = "the process is ended by SIGSEGV"
CHECKS = {}  # (group, name) -> the function, and whether it is to die


class Skipped(Exception):
    """What stands in the way of a check, though nothing is wrong."""


def check(group, name, *, dies=False):
    def note(function):
        CHECKS[group, name] = function, dies
        return function

    return note


def bytes_of(view, data):
    """What the host reads: the words of the report."""
    import lend

    with lend.copies() as made:
        try:
            got = bytes(memoryview(view))
        except lend.errors.NotHostAccessible:
            return REFUSED
    if made.bytes:
        return "copied unasked"
    return IN_PLACE if got == data else "read too early"


def right(view, data):
    return "right" if view.tobytes() == data else "wrong"


def refused(call):
    import lend

    try:
        call()
    except lend.errors.LendError as refusal:
        return f"refused: {type(refusal).__name__}"
    return "done"
