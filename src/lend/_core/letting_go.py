"""Errors that hold no lease: a traceback keeps the frames it passed through, and those keep their names."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Work = TypeVar("Work", bound=Callable[..., Any])


def lets_go(work: "Work") -> "Work":
    """The same function, whose errors keep none of the Views that it had: who handles one may resize the producer."""

    def letting_go(*args: "Any", **keywords: "Any") -> "Any":
        try:
            return work(*args, **keywords)
        except BaseException as error:
            del args, keywords
            _clear_frames(error)
            _clear_frames(error.__cause__)
            raise

    letting_go.__wrapped__ = work  # type: ignore[attr-defined] # for inspect.signature
    letting_go.__name__ = work.__name__
    letting_go.__doc__ = work.__doc__
    return letting_go  # type: ignore[return-value]


def _clear_frames(error: "BaseException | None") -> None:
    """Clear the names in lend's own frames. Those of others are theirs, and no line of the traceback is lost."""
    trace = None if error is None else error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        name = frame.f_globals.get("__name__")
        if type(name) is str and name.startswith("lend."):
            try:  # noqa: SIM105 - contextlib is not for the path of an error
                frame.clear()
            except RuntimeError:
                pass  # still running: what handed a View to a target that hands on another
        trace = trace.tb_next
