"""dpctl itself, where it is installed with a device that it finds; on a CPU its "device" memory is heap, too, so that a
read of it would prove nothing: that it is refused is what counts."""

import json

import pytest

from support import children

START = """
import json, warnings
warnings.simplefilter("ignore")
import dpctl, dpctl.tensor as dpt, numpy as np
import lend
from lend.devices.access import access
from lend.errors import LendError, NotHostAccessible
if not dpctl.get_devices():
    print(json.dumps("no device"))
    raise SystemExit
def array(kind, dtype="f4"):
    return dpt.reshape(dpt.arange(12, dtype=dtype, usm_type=kind), (3, 4))
def refusal(call):
    try: call()
    except Exception as error: return type(error).__name__
    return "done"
found = []
"""


def found(snippet):
    pytest.importorskip("dpctl", exc_type=ImportError)
    told = json.loads(children.run_clean(START + snippet + "\nprint(json.dumps(found))"))
    if told == "no device":
        pytest.skip("dpctl finds no device: its OpenCL runtime needs OCL_ICD_FILENAMES, or a GPU")
    return told


KINDS = ("device", "shared", "host")


def test_the_kind_of_its_arrays_and_memory_decides():
    snippet = """
for kind in ("device", "shared", "host"):
    for x in (array(kind), array(kind).usm_data):
        view = lend.view(x)
        found.append([access(view).name, view.readonly, view.device.name, refusal(lambda: memoryview(view))])
"""
    outcome = {"device": "NotHostAccessible"}
    rows = [[f"USM {kind}", False, "oneapi", outcome.get(kind, "done")] for kind in KINDS for _ in range(2)]
    assert found(snippet) == rows


def test_shared_and_host_memory_is_numpys_without_a_copy():
    snippet = """
for kind in ("shared", "host"):
    x = array(kind)
    with lend.copies() as made:
        y = np.asarray(lend.view(x[1:, ::2]))
    x[2, 2] = 50
    x.sycl_queue.wait()
    found.append([y.tolist(), made.bytes, np.asarray(lend.view(x.usm_data)).nbytes])
"""
    assert found(snippet) == [[[[4, 6], [8, 50]], 0, 48]] * 2


def test_device_memory_comes_by_name_and_by_nothing_else():
    snippet = """
x = array("device")
found += [lend.to(x, "numpy", device="cpu").tolist(), lend.view(lend.view(x)[1:, ::2], device="cpu").tolist(),
          refusal(lambda: lend.to(x, "numpy")), refusal(lambda: np.asarray(lend.view(x))),
          refusal(lambda: lend.to(x, "numpy", device="cpu", copy=False)),
          lend.explain(x, "numpy", device="cpu").steps[1].who]
"""
    whole = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert found(snippet) == [whole, [[4, 6], [8, 10]], *["NotHostAccessible"] * 3, "producer"]


def test_it_takes_views_by_dlpack_and_by_its_interface_at_the_same_address():
    snippet = """
for kind in ("device", "shared", "host"):
    x = array(kind)
    v = lend.view(x)[1:, 1:3]
    by_dlpack, by_interface = dpt.from_dlpack(v), dpt.asarray(lend.view(x))
    from_memory = dpt.asarray(lend.view(x.usm_data))
    found.append([dpt.asnumpy(by_dlpack).tolist(), by_dlpack._pointer - x._pointer, by_interface._pointer == x._pointer,
                  by_interface.usm_type == x.usm_type, from_memory._pointer == x._pointer])
"""
    assert found(snippet) == [[[[5, 6], [9, 10]], 20, True, True, True]] * 3


def test_read_only_is_kept_and_a_queue_is_a_stream():
    snippet = """
x = array("shared")
x.flags.writable = False
v = lend.view(x)
found += [v.readonly, memoryview(v).readonly, v.__sycl_usm_array_interface__["data"][1],
          refusal(lambda: v.__dlpack__()), v.__dlpack__(stream=dpctl.SyclQueue(), max_version=(1, 0)) is not None]
"""
    assert found(snippet) == [True, True, True, "ReadOnlyMemory", True]


def test_strides_offset_and_size_0():
    snippet = """
x = array("shared", "i4")
found += [lend.view(x[::-1, ::2]).tolist(), lend.view(x.T[1:]).strides, lend.view(x[:0]).tolist(),
          lend.column(dpt.arange(3, usm_type="shared")).tolist()]
class Alone:
    def __init__(self, x): self.x = x
    @property
    def __sycl_usm_array_interface__(self): return self.x.__sycl_usm_array_interface__
found += [lend.view(Alone(x[1:, 1:])).ptr - x._pointer, lend.view(Alone(x[1:, ::2])).strides]
"""
    assert found(snippet) == [[[8, 10], [4, 6], [0, 2]], [4, 16], [], [0, 1, 2], 20, [16, 8]]
