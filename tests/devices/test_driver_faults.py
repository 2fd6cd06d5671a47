"""Each function of the driver that lend calls fails, while each thing is done that lend does with a driver: an error
says the driver's name for it, nothing is left of what was begun, no old byte is shown, the contexts are as they were.
"""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")

CODES = {1: "INVALID_VALUE", 2: "OUT_OF_MEMORY", 201: "INVALID_CONTEXT", 400: "INVALID_HANDLE", 801: "NOT_SUPPORTED"}
ASKING = ["cuPointerGetAttributes", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxGetState",
          "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuCtxGetCurrent", "cuCtxGetDevice"]  # fmt: skip
WORKING = ["cuMemcpyAsync", "cuMemcpy3DAsync", "cuMemAlloc", "cuCtxSynchronize", "cuThreadExchangeStreamCaptureMode",
           "cuStreamCreate", "cuStreamSynchronize", "cuStreamIsCapturing", "cuStreamWaitEvent", "cuEventCreate",
           "cuEventRecord", "cuEventQuery", "cuEventSynchronize"]  # fmt: skip
# what gives back: where it fails nobody can give it back, and that is all
ENDING = ["cuMemFree", "cuStreamDestroy", "cuEventDestroy", "cuCtxPopCurrent", "cuDevicePrimaryCtxRelease"]


def told(function, *codes):
    snippet = "import sys\nfrom support import driver_faults\ndriver_faults.told(*sys.argv[1:])"
    return json.loads(fakecuda.run_clean(snippet, args=(function, *codes)))


@pytest.mark.parametrize("function", ASKING + WORKING)
def test_an_error_of_the_driver_is_told_by_its_name_and_nothing_is_left(function):
    wrong = []
    for code, operation, used, came, kept, here, *left in told(function, *CODES):
        named = ("CUDA_ERROR" in came and str(code) in came) or "has no context" in came
        if not (came in ("right", "the consumer failed") or named) or not kept or not here:
            wrong.append((code, operation, used, came, left))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("function", ENDING)
def test_what_the_driver_does_not_take_back_ends_nothing_else(function):
    wrong = [(code, operation, came) for code, operation, _, came, *_ in told(function, 2)
             if came not in ("right", "the consumer failed") and "CUDA_ERROR" not in came]  # fmt: skip
    assert not wrong


@pytest.mark.parametrize("code", [700, 719])
@pytest.mark.parametrize("function", ["cuMemcpyAsync", "cuStreamSynchronize", "cuEventRecord", "cuMemAlloc"])
def test_an_error_that_stays_with_the_context_is_told_by_its_name(function, code):
    snippet = f"""
from support.driver_faults import *
fake.init()
fake.retain(1)
scene = Scene()
views = [scene.told(scene.far), scene.host]
fake.fail({function!r}, {code}, 1)
said = []
for view, device in zip(views, ("cpu", "cuda:1")):
    for _ in range(2):
        try: lend.view(view, device=device)
        except LendError as refused: said.append(str(refused))
print(json.dumps([said, fake.depth(), fake.current_device()]))
"""
    said, depth, device = json.loads(fakecuda.run_clean(snippet))
    assert said
    assert all(f"({code})" in text for text in said)
    assert (depth, device) == (1, 0)


def test_an_error_that_the_driver_has_no_name_for_is_told_by_its_number():
    snippet = """
from support.driver_faults import *
fake.init()
fake.retain(1)
scene = Scene()
fake.fail("cuMemcpyAsync", 2)
fake.fail("cuGetErrorName", 1)
try: lend.view(scene.told(scene.far), device="cpu")
except LendError as refused: print(str(refused).splitlines()[0])
"""
    assert "copying to the host failed: an error without a name (2)" in fakecuda.run_clean(snippet)
