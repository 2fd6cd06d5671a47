"""Classes whose metaclass, `__getattribute__`, `__dict__`, `__class__` or `__module__` misbehave.

Whatever they raise ends as a LendError that names the class, with what was raised as its cause.
"""

import subprocess
import sys

import pytest

import lend
from lend.errors import LendError


class Boom(Exception):
    """What the classes here raise."""


def boom(*_):
    raise Boom("from the class")


class Hides(type):
    """A metaclass that answers nothing."""

    def __getattribute__(cls, name):
        raise Boom(name)


class HidesModule(type):
    @property
    def __module__(cls):
        raise Boom("__module__")


class HidesName(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__"):
            raise Boom(name)
        return type.__getattribute__(cls, name)


class HidesBases(type):
    @property
    def __mro__(cls):
        raise Boom("__mro__")


def odd(meta=type, **namespace):
    return type.__call__(meta, "Odd", (), {"__module__": "odd", **namespace})


CLASSES = {
    "a metaclass that raises": lambda: odd(Hides),
    "a metaclass that hides the module": lambda: odd(HidesModule),
    "a metaclass that hides the name": lambda: odd(HidesName),
    "a metaclass that hides the bases": lambda: odd(HidesBases),
    "a module that is None": lambda: odd(__module__=None),
    "a module that is a number": lambda: odd(__module__=5),
    "a module that is a property": lambda: odd(__module__=property(boom)),
    "a name with a line break": lambda: odd(__qualname__="a\nb"),
    "attributes that raise": lambda: odd(__getattribute__=boom),
    "missing attributes that raise": lambda: odd(__getattr__=boom),
    "a __dict__ that raises": lambda: odd(__dict__=property(boom)),
    "a __dict__ that is a number": lambda: odd(__dict__=5),
    "a __class__ that raises": lambda: odd(__class__=property(boom)),
    "a __class__ that lies": lambda: odd(__class__=property(lambda self: str)),
    "a _describe that raises": lambda: odd(_describe=boom),
}
CALLS = {
    "view": lambda x: lend.view(x),
    "buffer": lambda x: lend.buffer(x),
    "view with copy": lambda x: lend.view(x, copy=True),
    "to": lambda x: lend.to(x, "memoryview"),
    "to with nulls": lambda x: lend.to(x, "memoryview", nulls="nan"),
    "explain": lambda x: lend.explain(x),
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("call", CALLS)
def test_an_object_of_an_odd_class_is_refused_by_lend_in_one_piece(name, call):
    obj = type.__call__(CLASSES[name]())
    with pytest.raises(LendError) as refused:
        CALLS[call](obj)
    assert "Odd" in refused.value.fact or r"a\nb" in refused.value.fact
    assert "\n" not in refused.value.fact


def test_what_an_object_raises_when_it_is_looked_at_is_the_cause():
    obj = odd(__getattribute__=boom)()
    with pytest.raises(LendError, match="(?s)odd.Odd raised when lend looked at it.*Boom: from the class") as refused:
        lend.view(obj)
    assert isinstance(refused.value.__cause__, Boom)


@pytest.mark.parametrize("kind", [MemoryError, RecursionError, KeyboardInterrupt])
def test_what_is_nobodys_refusal_passes(kind):
    def interrupted(*_):
        raise kind

    with pytest.raises(kind):
        lend.view(odd(__getattribute__=interrupted)())


@pytest.mark.parametrize("name", CLASSES)
def test_an_odd_class_may_be_a_target_and_is_called(name):
    cls = CLASSES[name]()
    lend.explain(b"12", cls)
    assert type(cls) is type or lend.explain(b"12", cls).target


def test_a_callable_that_raises_when_it_is_looked_at_is_named():
    target = odd(__getattribute__=boom, __call__=lambda self, view: view)()
    with pytest.raises(LendError, match=r"odd\.Odd raised when lend looked at it") as refused:
        lend.to(b"12", target)
    assert isinstance(refused.value.__cause__, Boom)


def test_an_image_that_raises_when_it_is_looked_at_is_named():
    image = pytest.importorskip("PIL.Image")
    closed = type("Closed", (image.Image,), {"__module__": "odd", "mode": property(boom)})()
    with pytest.raises(LendError, match=r"odd\.Closed raised when lend looked at it"):
        lend.to(closed, "memoryview")


def test_a_tensor_whose_class_raises_is_taken_for_the_tensor_that_it_is():
    torch = pytest.importorskip("torch")
    cls = type("Shy", (torch.Tensor,), {"__module__": "odd", "requires_grad": property(boom)})
    tensor = torch.Tensor._make_subclass(cls, torch.tensor([1.0, 2.0]))
    assert lend.to(tensor, "memoryview").tolist() == [1.0, 2.0]


def test_a_class_of_tensors_that_raises_when_it_is_looked_at_is_named():
    torch = pytest.importorskip("torch")
    meta = type("Meta", (type(torch.Tensor),), {"__torch_dispatch__": property(boom)})
    cls = meta("Shy", (torch.Tensor,), {"__module__": "odd"})
    tensor = torch.zeros(2).as_subclass(cls)
    with pytest.raises(LendError, match=r"odd\.Shy raised when lend looked at it"):
        lend.to(tensor, "memoryview")


def test_an_array_that_raises_when_it_is_verified_is_named():
    np = pytest.importorskip("numpy")
    cls = type("Shy", (np.ndarray,), {"__module__": "odd", "__array_interface__": property(boom)})
    view = lend.view(np.zeros(3).view(cls))
    with pytest.raises(LendError, match=r"odd\.Shy raised when lend looked at it"):
        view.verify()


def test_what_a_foreign_class_calls_its_description_is_never_called():
    cls = type("Odd", (bytes,), {"_describe": boom})
    with pytest.raises(lend.errors.ReadOnlyMemory):
        lend.view(cls(b"ab"), writable=True)


UNREADY = """
import lend
from _testbuffer import ndarray
print(lend.explain(ndarray([1, 2], shape=[2]), "memoryview").source)
"""


def test_a_class_of_c_that_nobody_has_looked_at_yet_is_read():
    pytest.importorskip("_testbuffer")
    run = subprocess.run([sys.executable, "-c", UNREADY], capture_output=True, text=True, check=True)
    assert run.stdout == "uint8[2] on cpu, read-only, lent by ndarray\n"
