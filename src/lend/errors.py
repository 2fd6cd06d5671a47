"""What lend raises, and how its messages are laid out.

Every refusal of lend is a `LendError`, which is a `BufferError`: the builtin that the protocols prescribe for a refused
export. Where a caller would look for another builtin as well, the class is that one too::

    BufferError
     └─ LendError
         ├─ CopyRequired         (ValueError)  a copy is needed and was not allowed
         ├─ NotLendable          (TypeError)   the object has nothing that can be lent this way
         ├─ NotHostAccessible    (TypeError)   host memory is needed and this is not
         ├─ ReadOnlyMemory                     writable memory was asked for
         ├─ UnsupportedType                    dtype, nulls or device that cannot be carried, or only lossily
         ├─ UnsupportedLayout                  strides, suboffsets, chunks that cannot be carried
         ├─ MalformedDescriptor                what the producer says contradicts itself, or was consumed before
         ├─ LeaseLost                          released, or moved by its producer
         ├─ StreamError          (ValueError)  a stream that means nothing on this device
         └─ NoSpace              (OSError)     no room for memory of lend's own; has `errno`

Nothing is imported here: this module is on the path of `import lend`.
"""

__all__ = [
    "CopyRequired",
    "LeaseLost",
    "LendError",
    "MalformedDescriptor",
    "NoSpace",
    "NotHostAccessible",
    "NotLendable",
    "ReadOnlyMemory",
    "StreamError",
    "UnsupportedLayout",
    "UnsupportedType",
]

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


def __dir__() -> "list[str]":
    return [*__all__]  # what makes them is no part of it


_LABELS = (("wanted", "wanted"), ("came", "came"), ("tried", "tried"), ("try", "remedy"))
_CONTINUED = "\n" + " " * 11


def _quote(exc: BaseException) -> str:
    """Say an exception in one line: its type, and the first line of its text (torch's goes on with a C++ backtrace)."""
    said = str(exc).partition("\n")[0]
    return f"{type(exc).__name__}: {said}" if said else type(exc).__name__


def _laid_out(fact: str, told: "dict[str, str]") -> str:
    """The whole message: the fact, then a line for each particular."""
    lines = [f"  {label:<6} : {told[name]}".replace("\n", _CONTINUED) for label, name in _LABELS if name in told]
    return "\n".join([fact, *lines])


def add_wanted(error: "LendError", wanted: str) -> None:
    """Let an error on its way say what was wanted, where it does not yet: who asked knows more than who refused."""
    if error.fact is None or error.wanted is not None or len(error.args) != 1:
        return
    error.wanted = wanted
    _tell_anew(error, error.fact)


def change_remedy(error: "LendError", remedy: str) -> None:
    """Let an error on its way name another remedy: one in the words of who asked."""
    if error.fact is None or len(error.args) != 1:
        return
    error.remedy = remedy
    _tell_anew(error, error.fact)


def change_came(error: "LendError", came: str) -> None:
    """Let an error on its way say what came otherwise: who asked knows what did not come yet."""
    if error.fact is None or len(error.args) != 1:
        return
    error.came = came
    _tell_anew(error, error.fact)


def _tell_anew(error: "LendError", fact: str) -> None:
    told = {name: getattr(error, name) for _, name in _LABELS if getattr(error, name) is not None}
    error.args = (_laid_out(fact, told),)


class LendError(BufferError):
    """Refuse something, with the reason; the root of all that lend raises.

    Made by `build` or `from_producer`, an error also keeps its particulars for programs. Made by the plain constructor
    it has its text only.

    Attributes
    ----------
    fact : str or None
        The first line: what is refused, in one sentence.
    wanted, came : str or None
        What was asked for, and what was met instead.
    tried : str or None
        The ways that were tried and why each was closed.
    remedy : str or None
        What to do instead.
    of_type : bool
        True when every object of the producer's type would be refused this way.

    Examples
    --------
    >>> from lend.errors import LendError, ReadOnlyMemory
    >>> error = ReadOnlyMemory.build(
    ...     "this bytes object is read-only; a writable view was asked for",
    ...     came="bytes, uint8[4096] on cpu",
    ...     remedy="lend.view(x, copy=True)",
    ... )
    >>> print(error)
    this bytes object is read-only; a writable view was asked for
      came   : bytes, uint8[4096] on cpu
      try    : lend.view(x, copy=True)
    >>> error.remedy
    'lend.view(x, copy=True)'
    >>> isinstance(error, BufferError)
    True
    """

    fact: "str | None" = None
    wanted: "str | None" = None
    came: "str | None" = None
    tried: "str | None" = None
    remedy: "str | None" = None
    of_type = False

    @classmethod
    def build(
        cls,
        fact: str,
        *,
        wanted: "str | Iterable[str] | None" = None,
        came: "str | Iterable[str] | None" = None,
        tried: "str | Iterable[str] | None" = None,
        remedy: "str | Iterable[str] | None" = None,
    ) -> "Self":
        """Make an error whose message has the layout of all lend's messages.

        Parameters
        ----------
        fact : str
            One sentence: what is refused. Name the type, never "the object".
        wanted, came, tried, remedy : str or iterable of str, optional
            The particulars; several strings are put on lines of their own.

        Returns
        -------
        LendError
            An instance of the class it is called on, not yet raised.
        """
        particulars = {"wanted": wanted, "came": came, "tried": tried, "remedy": remedy}
        told = {name: text if isinstance(text, str) else "\n".join(text) for name, text in particulars.items() if text}
        error = cls(_laid_out(fact, told))
        error.fact = fact
        for name, text in told.items():
            setattr(error, name, text)
        return error

    @classmethod
    def from_producer(
        cls,
        exc: BaseException,
        fact: str,
        *,
        door: str,
        wanted: "str | Iterable[str] | None" = None,
        came: "str | Iterable[str] | None" = None,
        remedy: "str | Iterable[str] | None" = None,
    ) -> "Self":
        """Make an error that quotes an exception of the producer, to be raised `from` it.

        Parameters
        ----------
        exc : BaseException
            What the producer raised.
        fact : str
            One sentence: what could not be done.
        door : str
            The protocol or method that raised, such as ``"__dlpack__"``.
        wanted, came, remedy : str or iterable of str, optional
            As in `build`.

        Returns
        -------
        LendError
            An instance of the class it is called on; its ``tried`` line is ``door -> Type: text``.

        Examples
        --------
        >>> from lend.errors import NotLendable
        >>> print(NotLendable.from_producer(
        ...     RuntimeError("tensor is sparse"), "cannot lend a torch.Tensor as one view", door="__dlpack__"
        ... ))
        cannot lend a torch.Tensor as one view
          tried  : __dlpack__ -> RuntimeError: tensor is sparse
        """
        return cls.build(fact, wanted=wanted, came=came, tried=f"{door} -> {_quote(exc)}", remedy=remedy)


class CopyRequired(LendError, ValueError):
    """A copy is needed and `copy=False` (or a function that never copies unasked) did not allow it."""


class NotLendable(LendError, TypeError):
    """The object offers nothing that can be lent in the form that was asked for."""


class NotHostAccessible(LendError, TypeError):
    """The memory is not readable by the host, and host memory was asked for."""


class ReadOnlyMemory(LendError):
    """Writable memory was asked for and this is not."""


class UnsupportedType(LendError):
    """A dtype, a form of nulls or a device cannot be carried, or not without loss."""


class UnsupportedLayout(LendError):
    """Strides, suboffsets or chunks cannot be carried."""


class MalformedDescriptor(LendError):
    """What the producer says about its memory contradicts itself, was consumed before, or has an unknown version."""


class LeaseLost(LendError):
    """The memory is not held any more: it was released, or its producer moved it."""


class StreamError(LendError, ValueError):
    """The stream that was given means nothing on this device, or nothing that is safe."""


class NoSpace(LendError, OSError):
    """There is no room for memory that lend would make.

    Made from an errno and a text, as any OSError; a text alone means ENOSPC. `build` takes `errno=`, `from_producer`
    keeps the errno of the exception that it quotes.

    Attributes
    ----------
    errno : int
        What the system answered.
    strerror : str
        The text of this error.

    Examples
    --------
    >>> import errno
    >>> from lend.errors import NoSpace
    >>> error = NoSpace.build("no room for 1048576 bytes of shared memory", errno=errno.ENOSPC)
    >>> error.errno == errno.ENOSPC
    True
    >>> print(error)
    no room for 1048576 bytes of shared memory
    """

    def __new__(cls, *args: object) -> "Self":
        # BufferError comes first in the order of bases, and its __new__ would leave the fields of OSError unset
        if len(args) == 1:
            from errno import ENOSPC

            args = (ENOSPC, *args)
        return OSError.__new__(cls, *args)

    def __init__(self, *args: object) -> None:
        pass  # OSError is filled by __new__; BaseException.__init__ would put the bare text into args

    def __str__(self) -> str:
        return str(self.strerror)

    @classmethod
    def build(
        cls,
        fact: str,
        *,
        wanted: "str | Iterable[str] | None" = None,
        came: "str | Iterable[str] | None" = None,
        tried: "str | Iterable[str] | None" = None,
        remedy: "str | Iterable[str] | None" = None,
        errno: "int | None" = None,
    ) -> "Self":
        """Make an error as `LendError.build` does, with the errno of the system (ENOSPC if None)."""
        error = super().build(fact, wanted=wanted, came=came, tried=tried, remedy=remedy)
        if errno is not None:
            error.errno = errno
            error.args = (errno, error.strerror)  # what pickle and copy carry
        return error

    @classmethod
    def from_producer(
        cls,
        exc: BaseException,
        fact: str,
        *,
        door: str,
        wanted: "str | Iterable[str] | None" = None,
        came: "str | Iterable[str] | None" = None,
        remedy: "str | Iterable[str] | None" = None,
    ) -> "Self":
        """Make an error as `LendError.from_producer` does, with the errno of the exception."""
        tried = f"{door} -> {_quote(exc)}"
        errno = exc.errno if isinstance(exc, OSError) else None
        return cls.build(fact, wanted=wanted, came=came, tried=tried, remedy=remedy, errno=errno)
