"""What a class is called, where it comes from and what stands in it.

Read from the slots of the class itself: a metaclass, `__getattribute__` or `__class__` of a foreign library is never
asked, for it may answer anything, raise, or be what went wrong in the first place.
"""

__all__ = ["bases_of", "dict_of", "full_name", "module_of", "representation_of", "shows"]

_mro = type.__dict__["__mro__"].__get__
dict_of = type.__dict__["__dict__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__

_LONGEST = 120


def bases_of(cls: type) -> "tuple[type, ...]":
    """The class and those above it."""
    found: tuple[type, ...] | None = _mro(cls)
    if found is None:
        # a class of C that nobody has looked at yet: looking makes it ready
        type.__getattribute__(cls, "__doc__")
        found = _mro(cls) or ()
    return found


def module_of(cls: type) -> str:
    """The module that a class says it is of; empty where it says nothing that is a module."""
    try:
        module = _module(cls)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def full_name(cls: type) -> str:
    """numpy.ndarray, bytes: a class as its users know it, on one line and of a bearable length."""
    module = module_of(cls)
    whole = str(_qualname(cls))
    if module and module != "builtins":
        whole = f"{module}.{whole}"
    if not whole.isprintable():
        whole = repr(whole)[1:-1]
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}..."


def shows(cls: type, attribute: str) -> bool:
    """Whether a class or one above it has the attribute: where the interpreter looks for special methods."""
    for base in bases_of(cls):  # noqa: SIM110 - a generator costs three times as much, and this is asked for each column
        if attribute in dict_of(base):
            return True
    return False


_OF_ARROW = ("pyarrow", "arro3", "nanoarrow")
_OTHERS = ("numpy", "pandas", "polars", "torch", "cupy", "cudf", "jax")


def representation_of(cls: type) -> "str | None":
    """Which library's form of data a class is of, a class of the user's below it too: "arrow", "numpy", "pandas"."""
    for base in bases_of(cls):
        top = module_of(base).partition(".")[0]
        if top in _OF_ARROW:
            return "arrow"
        if top in _OTHERS:
            return top
    return None


def shows_columns(cls: type) -> bool:
    """Whether the objects of a class offer themselves as columns."""
    if shows(cls, "__arrow_c_stream__") or shows(cls, "__arrow_c_device_stream__"):
        return True
    names = ("__arrow_c_array__", "__arrow_c_device_array__", "__dataframe__")
    # an image of Pillow's is an array, whatever else it offers
    return not shows(cls, "__array_interface__") and any(shows(cls, name) for name in names)
