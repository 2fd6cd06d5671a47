"""What is asked for on a device that lend copies nothing to, or of a library of devices: refusals that help."""

import json

import pytest

import lend
from support import fakecuda

pytest.importorskip("numpy")

START = """
import json, sys, types
import numpy as np
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
from support.fakecuda.standins import CupyLike
fake.init()
fake.retain(1)
import lend

def show(*facts):
    print(json.dumps(facts))
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


KINDS = {
    "cuda_host:0": "pin_memory()",
    "rocm_host:0": "pin_memory()",
    "cuda_managed:0": "numba.cuda.managed_array",
    "oneapi:0": '.to("xpu:0")',
    "metal:0": '.to("mps:0")',
    "opencl:0": "a library that has memory on opencl",
    "vulkan:0": "a library that has memory on vulkan",
    "ext_dev:3": "a library that has memory on ext_dev",
}


@pytest.mark.parametrize("target", [None, list], ids=["itself", "list"])
@pytest.mark.parametrize("kind", KINDS)
def test_to_other_kinds_of_devices_lend_copies_nothing_and_says_who_does(kind, target):
    for ask in (lend.to, lend.explain):
        with pytest.raises(lend.errors.NotHostAccessible) as refused:
            ask(b"1234", target, device=kind)
        assert refused.value.fact == (
            f"memory on {kind} was asked for, and lend copies to devices of cuda and rocm alone; this is on cpu"
        )
        assert KINDS[kind] in refused.value.remedy


def test_the_number_of_a_device_that_is_copied_to_is_asked_for():
    with pytest.raises(lend.errors.UnsupportedType, match="needs the number of the device"):
        lend.to(b"1234", device="cuda:?")


def test_pointers_to_objects_are_copied_to_no_device():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(lend.errors.UnsupportedType, match="pointers to Python objects"):
        lend.to(numpy.array([None, 1]), device="cuda:0")


@pytest.mark.parametrize("source", ["CudaArray(Memory(bytes(16)), (4,), '<i4')", "CupyLike()", "lend.view(b'1234')"])
def test_nothing_that_is_asked_for_is_said_to_be_built_one_day(source):
    assert (
        found(f"""
source, said = {source}, []
for target in ("numpy", "torch", "pyarrow", "memoryview", "jax", "tvm_ffi", "polars", None, list):
    for device in ("cuda:0", "cuda:1", "cuda:?", "cuda_host:0", "cuda_managed:0", "rocm:0", "oneapi:0", "opencl:0"):
        for copy in (None, False):
            try: lend.to(source, target, device=device, copy=copy)
            except lend.errors.LendError as refusal:
                words = str(refusal)
                if "built yet" in words or "so far" in words or not refusal.remedy: said.append([device, words])
            except ImportError: pass
show(*said)
""")
        == []
    )


# a module in outline: what it makes is made of the interface alone
CUPY = """
class ndarray:
    def __init__(self, shape): self.shape = shape
def asarray(x):
    made = ndarray(x.__cuda_array_interface__["shape"])
    made.lent, made.address = x, x.__cuda_array_interface__["data"][0]
    return made
cupy = types.ModuleType("cupy")
for each in (ndarray, asarray):
    each.__module__ = "cupy"
    setattr(cupy, each.__name__, each)
sys.modules["cupy"] = cupy
"""


def test_a_function_of_cupy_gets_a_view_on_the_device():
    assert found(f"""{CUPY}
with lend.copies() as log:
    made = lend.to(np.arange(4), cupy.asarray, device="cuda:1")
there = lend.to(CupyLike(), cupy.asarray)
show(list(made.shape), str(made.lent.device), lend.to(made.lent, "numpy", device="cpu").tolist(), log.bytes,
     there.address == there.lent.ptr, str(there.lent.device))
""") == [[4], "cuda:1", [0, 1, 2, 3], 32, True, "cuda:0"]


@pytest.mark.parametrize("target", ['"cupy"', "cupy", "cupy.ndarray", '"cupy.ndarray"'])
def test_cupy_itself_is_no_target_and_its_function_is_named(target):
    assert found(f"""{CUPY}
try: lend.to(np.arange(4), {target}, device="cuda:0")
except ValueError as refusal: show('lend.to(x, cupy.asarray, device="cuda:0")' in str(refusal))
""") == [True]
