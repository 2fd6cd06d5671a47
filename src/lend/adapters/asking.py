"""Asking foreign objects: what they raise becomes a refusal that names them."""

from lend.errors import LendError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")


def quoted(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def guarded(ask: "Callable[[Any], Answer]") -> "Callable[[Any], Answer]":
    """The same question to an object, whose exceptions are quoted and kept as the cause of ours."""

    def guarded_ask(obj: "Any") -> "Answer":
        try:
            return ask(obj)
        except (LendError, MemoryError, RecursionError):
            raise
        except Exception as error:  # what a producer raises becomes ours, with it as the cause
            from lend.protocols import refusals

            raise refusals.misbehaved(obj, error) from error

    guarded_ask.__doc__ = ask.__doc__
    return guarded_ask
