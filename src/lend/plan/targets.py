"""Which target is meant: a name, a module, a class of a library, or any callable."""

import sys

from lend.adapters.rules import ANY, EVERY_DEVICE, KEPT, Library, Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# target -> our adapter, which has its LIBRARY; loaded when the target is named
ADAPTERS = {
    "numpy": "numpy",
    "torch": "torch",
    "jax": "jax",
    "pyarrow": "pyarrow",
    "memoryview": "memoryview",
    "tvm_ffi": "tvm_ffi",
}
_MODULES = {"jax.numpy": "jax"}
# top module of a class that may name a target -> target
_TOPS = {**{name: name for name in ADAPTERS}, "jaxlib": "jax", "builtins": "memoryview"}


class Target:
    """A target that was understood.

    Attributes
    ----------
    library : Library or None
        Whose it is; None for a callable, and for no target at all.
    form : str or None
        The kind of object, where a class was named.
    call : callable or None
        What is called with our object.
    """

    __slots__ = ("call", "form", "library")

    def __init__(self, library: "Library | None" = None, form: "str | None" = None, call: "Any" = None) -> None:
        self.library = library
        self.form = form
        self.call = call

    def rules(self, facts: "Any", whole: bool) -> Rules:
        """The rules for memory like this."""
        if self.library is not None:
            return self.library.choose(facts, self.form, whole)
        if self.call is not None:
            name = _name_of(self.call)
            top = getattr(self.call, "__module__", None)
            own = _TOPS.get(top.partition(".")[0]) if isinstance(top, str) and top != "builtins" else None
            # torch.from_dlpack writes through read-only memory just as a torch.Tensor of ours would
            readonly = KEPT if own is None else library(own).choose(facts, None, whole).readonly
            return Rules(
                name, name, "call", lambda _: self.call, devices=EVERY_DEVICE, layout=ANY,
                swapped=True, readonly=readonly, unknown=True,
            )  # fmt: skip
        return OURSELVES

    def check_options(self, options: "dict[str, Any]") -> None:
        """Refuse keywords that the target does not know."""
        known = self.library.options if self.library is not None else ()
        unknown = sorted(set(options) - set(known))
        if unknown:
            who = self.library.name if self.library is not None else "this target"
            listed = ", ".join(known) if known else "none"
            word = "an option" if len(unknown) == 1 else "options"
            raise TypeError(f"{', '.join(unknown)}: not {word} of {who}; its options: {listed}")


OURSELVES = Rules(
    "lend", "lend.View", "lend itself", lambda _: lambda view: view, devices=EVERY_DEVICE, layout=ANY, swapped=True
)


def resolve(target: "Any") -> Target:
    """Understand a target, and import the library that it names.

    Raises
    ------
    ValueError
        For a name or module that is no target.
    ImportError
        When the library is not installed.
    TypeError
        When the target is nothing that could take anything.
    """
    if target is None:
        return Target()
    if isinstance(target, str):
        return Target(_loaded(target))
    if isinstance(target, type):
        named = _named_by_class(target)
        if named is not None:
            return named
    elif isinstance(target, type(sys)):
        return Target(_loaded(_MODULES.get(target.__name__, target.__name__)))
    if callable(target):
        return Target(call=target)
    names = ", ".join(ADAPTERS)
    raise TypeError(f"a target is a name, a module, a class or a callable, not {type(target).__name__}; names: {names}")


def library(name: str) -> Library:
    """The record of a library, which is not imported for it."""
    module = _imported(f"lend.adapters.{ADAPTERS[name]}")
    found: Library = module.LIBRARY
    return found


def _loaded(name: str) -> Library:
    if name not in ADAPTERS:
        raise _unknown(name)
    found = library(name)
    if name not in sys.modules and found.package:
        try:
            _imported(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise ImportError(
                f"to hand memory to {name}, the package {found.package} must be installed, and it is not", name=name
            ) from error
    return found


def _named_by_class(cls: type) -> "Target | None":
    top = _TOPS.get(cls.__module__.partition(".")[0])
    if top is None:
        return None
    found = library(top)
    # jax calls its class "jaxlib._jax.Array", in a module "jax"
    form = found.classes.get(f"{cls.__module__}.{cls.__name__.rpartition('.')[2]}")
    return None if form is None else Target(found, form)


def _unknown(name: str) -> ValueError:
    from difflib import get_close_matches

    near = get_close_matches(name[:40].lower(), ADAPTERS, n=3)
    shown = repr(name) if len(name) <= 60 else repr(name[:60]) + "..."
    hint = f"near: {', '.join(near)}" if near else f"there are {', '.join(ADAPTERS)}, their modules and classes"
    return ValueError(f"{shown} names no target; {hint}, or give a callable")


def _imported(module: str) -> "ModuleType":
    __import__(module)
    return sys.modules[module]


def _name_of(call: "Any") -> str:
    module, name = getattr(call, "__module__", None), getattr(call, "__qualname__", None)
    if not isinstance(name, str):
        return type(call).__qualname__
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name
