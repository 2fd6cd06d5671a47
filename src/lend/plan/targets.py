"""Which target is meant: a name, a module, a class of a library, or any callable."""

import sys

from lend.adapters.asking import guarded
from lend.adapters.rules import ANY, EVERY_DEVICE, KEPT, TARGETS, Library, Rules, is_installed
from lend.dtypes import DType
from lend.errors import LendError
from lend.plan import own_classes
from lend.protocols.classes import full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# target -> our adapter, which has its LIBRARY; loaded when the target is named
ADAPTERS = {name: name for name in TARGETS}
_MODULES = {"jax.numpy": "jax"}
# what people write for a target
_MEANT = {
    "np": "numpy", "ndarray": "numpy", "pytorch": "torch", "tensor": "torch", "jnp": "jax", "jaxlib": "jax",
    "pa": "pyarrow", "arrow": "pyarrow", "mv": "memoryview", "buffer": "memoryview", "tvm": "tvm_ffi",
    "tvm-ffi": "tvm_ffi", "apache-tvm-ffi": "tvm_ffi",
}  # fmt: skip
# numpy.ma, by its names: the form of its Target
MASKED = "ma.MaskedArray"
_MASKED_NAMES = ("numpy.ma", "numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray", "np.ma")
# libraries of devices whose functions are targets: they read what a View says of its device
_CALLED = {
    "cupy": 'lend.to(x, cupy.asarray, device="cuda:0")',
    "cudf": 'lend.to(x, cudf.Series, device="cuda:0"), of an array',
}
# top module of a class that may name a target -> target
_TOPS = {**{name: name for name in ADAPTERS}, "jaxlib": "jax", "builtins": "memoryview"}


# keywords that are no options of a target, but requirements of `view`
_REQUIREMENTS = ("align", "ndim", "order", "stream", "writable")
# how what a library makes is converted, where it can be
_CONVERTED = {"numpy": '.astype("{0}")', "torch": ".to(torch.{0})", "jax": '.astype("{0}")', "pyarrow": '.cast("{0}")'}


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
            call, name = self.call, _name_of(self.call)
            known = own_classes.rules(call, whole)
            if known is not None:
                return known
            own = _library_of(call)
            # torch.from_dlpack writes through read-only memory just as a torch.Tensor of ours would
            readonly = KEPT if own is None else own.choose(facts, None, whole).readonly
            giver = own_classes.giver(call, self._forms(own)) if isinstance(call, type) else lambda _: call
            return Rules(
                name, name, "call", giver, devices=EVERY_DEVICE, layout=ANY,
                swapped=True, readonly=readonly, unknown=True,
            )  # fmt: skip
        return OURSELVES

    @staticmethod
    def _forms(own: "Library | None") -> "list[str]":
        """The targets to name in place of a class of a library that is none."""
        first: dict[str, str] = {}
        for name, form in () if own is None else _spelled(own).items():
            first.setdefault(form, name)
        return [*first.values()][:3]

    @property
    def said(self) -> str:
        """What is wanted, for a message about what came: known before the memory is."""
        if self.library is not None:
            forms = dict.fromkeys(self.library.classes.values())
            form = self.form or (next(iter(forms)) if len(forms) == 1 else None)
            name = self.library.name
            return name if form is None or form == name else f"{name}.{form}"
        return "lend.View or lend.Buffer" if self.call is None else f"a call of {_name_of(self.call)}"

    def check_options(self, options: "dict[str, Any]") -> None:
        """Refuse keywords that the target does not know."""
        known = self.library.options if self.library is not None else ()
        unknown = sorted(set(options) - set(known))
        if unknown:
            who = self.library.name if self.library is not None else "this target"
            listed = ", ".join(known) if known else "none"
            word = "an option" if len(unknown) == 1 else "options"
            raise TypeError(
                f"{', '.join(unknown)}: not {word} of {who}; its options: {listed}{self._instead(unknown, options)}"
            )

    def _instead(self, unknown: "list[str]", options: "dict[str, Any]") -> str:
        """What to do instead of giving keywords that people know from elsewhere."""
        name = None if self.library is None else self.library.name
        told = []
        if "dtype" in unknown:
            dtype = _dtype_name(options["dtype"])
            after = "" if name not in _CONVERTED else f', or lend.to(x, "{name}"){_CONVERTED[name].format(dtype)}'
            first = f'convert what you give, lend.to(x, "numpy").astype("{dtype}")'
            told.append(f"lend converts no values: {first}{after if name != 'numpy' else ''}")
        required = [f"{keyword}=..." for keyword in unknown if keyword in _REQUIREMENTS]
        if required:
            target = "target" if name is None else f'"{name}"'
            view = f"lend.view(x, {', '.join(required)})"
            told.append(f"what the memory must be like is for view: lend.to({view}, {target})")
        return "".join(f"; {instead}" for instead in told)


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
    if type(target) is Target:
        return target
    if is_masked(target):
        return Target(_loaded("numpy"), MASKED)
    cls = type(target)
    if issubclass(cls, str):
        return _by_name(target)
    if issubclass(cls, type):
        named = _named_by_class(target)
        if named is not None:
            return named
    elif issubclass(cls, type(sys)):
        name = vars(target).get("__name__")
        name = name if isinstance(name, str) else "this module"
        return Target(_loaded(_MODULES.get(name, name)))
    if callable(target):
        own = _library_of(target)
        # torch's functions have the qualname of a hidden class
        if own is not None and f"{own.name}.{getattr(target, '__name__', None)}" in own.misreading:
            return Target(own)
        return Target(call=target)
    names = ", ".join(_all_names())
    raise TypeError(
        f"a target is a name, a module, a class or a callable, not {full_name(cls)}: lend.to(x, target); names: {names}"
    )


def of_arrays() -> "dict[str, Target]":
    """What is installed and makes arrays of columns, numpy.ma among it, by its names; nothing is imported."""
    named = [(name, library(name)) for name in ADAPTERS if name != "pyarrow"]
    found = {name: Target(theirs) for name, theirs in named if not theirs.package or is_installed(name)}
    return {**found, "numpy.ma": Target(library("numpy"), MASKED)} if "numpy" in found else found


def is_masked(target: "Any") -> bool:
    """Whether a target is numpy.ma, by its name, its module or its class."""
    cls = type(target)
    if cls is Target:
        return bool(target.form == MASKED)
    if issubclass(cls, str):
        return target in _MASKED_NAMES
    if issubclass(cls, type):
        return full_name(target) in _MASKED_NAMES
    return issubclass(cls, type(sys)) and vars(target).get("__name__") == "numpy.ma"


def _by_name(name: str) -> Target:
    """A target by the name of a library, or by the dotted name of a module or class of it that is known."""
    if name in ADAPTERS:
        return Target(_loaded(name))
    if name in _MODULES:
        return Target(_loaded(_MODULES[name]))
    top = name.partition(".")[0]
    if "." in name and top in _TOPS:
        owner = _TOPS[top]
        form = _spelled(library(owner)).get(name)
        if form is not None:
            return Target(_loaded(owner), form)
    raise _unknown(name)


def _spelled(found: Library) -> "dict[str, str]":
    """The dotted names of the classes of a library: as they are called, and as they are imported."""
    short = {f"{found.name}.{full.rpartition('.')[2]}": form for full, form in found.classes.items()}
    return {**short, **found.classes}


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
    module = module_of(cls)
    if module.startswith("lend."):
        what = full_name(cls).rpartition(".")[2]
        raise TypeError(f"lend.{what} is no target: lend.{what.lower()}(x) makes one")
    top = _TOPS.get(module.partition(".")[0])
    if top is None:
        if module.partition(".")[0] == "cupy" and full_name(cls).rpartition(".")[2] == "ndarray":
            raise _unknown("cupy.ndarray")  # which makes room, and takes nothing
        return None
    found = library(top)
    # jax calls its class "jaxlib._jax.Array", in a module "jax"
    form = found.classes.get(f"{module}.{full_name(cls).rpartition('.')[2]}")
    return None if form is None else Target(found, form)


@guarded
def _library_of(call: "Any") -> "Library | None":
    """The library among our targets that a callable comes from."""
    module = module_of(call) if isinstance(call, type) else getattr(call, "__module__", None)
    top = _TOPS.get(module.partition(".")[0]) if isinstance(module, str) and module != "builtins" else None
    return None if top is None else library(top)


def _dtype_name(dtype: "Any") -> str:
    """A dtype that somebody asked for, as NumPy spells it."""
    try:
        return str(DType(dtype).newbyteorder("native").name)
    except (LendError, TypeError, ValueError):
        return "float32"


def _unknown(name: str) -> ValueError:
    from lend.adapters.row_advice import looks_like_path

    shown = repr(name) if len(name) <= 60 else repr(name[:60]) + "..."
    there = f"there are {', '.join(_all_names())}; their modules and classes (numpy.ndarray), and any callable"
    near = _near(name)
    if near:
        return ValueError(f"{shown} names no target; near: {near}; {there}")
    called = _CALLED.get(name.partition(".")[0])
    if called is not None:
        return ValueError(f"{shown} names no target; a function of it is one: {called}; {there}")
    if looks_like_path(name):
        return ValueError(
            f'{shown} names no target, and lend writes no files: numpy.save(path, lend.to(x, "numpy")); {there}'
        )
    if name.partition(".")[0].lower() in ("pil", "pillow"):
        return ValueError(f"{shown} names no target; a function of it is one: lend.to(x, PIL.Image.fromarray); {there}")
    if name in ("bytes", "bytearray", "list", "tuple"):
        return ValueError(f"{shown} names no target; the class itself is one: lend.to(x, {name}); {there}")
    return ValueError(f"{shown} names no target; {there}")


def _all_names() -> "list[str]":
    """The targets of arrays, and those of columns and tables."""
    from lend.adapters.frame_takers import TAKERS

    return list(dict.fromkeys([*ADAPTERS, "numpy.ma", *TAKERS]))


def _near(name: str) -> str:
    from difflib import get_close_matches

    if name in _CALLED:
        return ""
    asked = name[:40].strip().lower()
    if asked in ADAPTERS or asked in _MEANT:
        return _MEANT.get(asked, asked)
    found = get_close_matches(asked, [each for each in _all_names() if "." not in each], n=2, cutoff=0.75)
    if not found and asked.partition(".")[0] in _TOPS:
        found = [_TOPS[asked.partition(".")[0]]]
    return ", ".join(found)


def _imported(module: str) -> "ModuleType":
    __import__(module)
    return sys.modules[module]


@guarded
def _name_of(call: "Any") -> str:
    if isinstance(call, type):
        return full_name(call)
    module, name = getattr(call, "__module__", None), getattr(call, "__qualname__", None)
    if not isinstance(name, str):
        return full_name(type(call))
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name
