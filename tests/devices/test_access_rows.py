"""The table of what the host may touch, row by row on each model of system, and every export of lend's objects on each.

One child for each model makes the rows with work pending on their memory, by all protocols of devices, and tries every
export: a read of what the host may not touch ends the child, one before the work is done is stale by its value.
"""

import functools
import json

import pytest

import lend
from support import fakecuda

ROWS = [
    "device", "pool", "created", "managed", "managed of a pool", "pinned", "registered", "created on a node", "pages",
]  # fmt: skip
MODELS = ["discrete", "hmm", "ats", "jetson", "wsl"]
REACHING = {"hmm", "ats"}  # devices reach all memory of the host
IDLE = {"jetson", "wsl"}  # the host touches managed memory while the device is idle

EXPORTED = {"view": "right", "bytes": "right", "column": "right"}
# what a Column does by kernels or through Arrow's methods of the host it refuses of any memory that is not "cpu"
REFUSED_OF_COLUMNS = {
    "__arrow_c_array__",
    "__arrow_c_stream__",
    "__dataframe__",
    "compact",
    "to numpy",
    "to memoryview",
}
HIDDEN = {"__array_interface__", "__array_struct__"}  # attributes that are not there
SIGNED = {"to numpy on the cpu, no copy", "view on the cpu, no copy", "to a callable on the cpu"}


@functools.cache
def told(model):
    snippet = "import sys\nfrom support import access_rows\naccess_rows.told(*sys.argv[1:])"
    return json.loads(fakecuda.run_clean(snippet, model=model, args=ROWS))


def expected(model, row):
    """Name, answer and wait by the table; and what an export comes to: "right", "refused" or "signed"."""
    if row in ("device", "pool", "created"):
        return ["device", False, "producer"], "refused"
    if row.startswith("managed") and model in IDLE:
        return ["managed, for the host while the device is idle", None, "device"], "signed"
    if row == "pages" and model not in REACHING:
        return ["unknown to the driver", False, "nothing"], "refused"
    name = {
        "managed of a pool": "managed, of a pool",
        "registered": "pinned",
        "created on a node": "pinned",
        "pages": "pages of the host that the device reaches",
    }.get(row, row)
    return [name, True, "producer"], "right"


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("model", MODELS)
def test_access_tells_the_row_and_asks_for_the_address_of_the_host(model, row):
    says, outcome = expected(model, row)
    found = told(model)[row]
    assert (found["says"], found["address"]) == (says, "none" if outcome == "refused" else "same")


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("model", MODELS)
def test_every_export_agrees_with_the_table_waits_copies_nothing_and_leaves_the_context(model, row):
    _, outcome = expected(model, row)
    wrong = {}
    for producer, ways in told(model)[row]["ways"].items():
        for way, came in ways.items():
            if came not in allowed(outcome, row, producer, way):
                wrong[producer, way] = came
    assert not wrong


def allowed(outcome, row, producer, way):
    """What may come of a way; where an attribute is not there nothing was shown either."""
    if outcome == "right" and row == "pages" and producer.startswith("Arrow"):
        outcome = "refused"  # a bare descriptor: no object of the producer's says that the memory lives
    if outcome == "signed" and way in SIGNED:
        return {"right"}
    if outcome != "right":
        return {"refused", "hidden"} if way in HIDDEN else {"refused"}
    if producer.endswith("a column") and way in REFUSED_OF_COLUMNS:
        return {"refused"}
    if producer.startswith("unversioned") and way == "PyBUF_FULL":
        return {
            f"ReadOnlyMemory: this {kind} is read-only; a writable buffer was asked for" for kind in ("View", "Buffer")
        }
    return {"right"}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("model", MODELS)
def test_explain_says_what_is_done_and_a_copy_is_made_by_name_alone(model, row):
    _, outcome = expected(model, row)
    found = told(model)[row]
    values = [91, 92, 93, 94]
    if outcome == "right":
        assert (found["explained"], found["by name"]) == ([["take", "wait", "give"], 0], [0, values, 0])
    elif row == "pages":  # freed, or somebody else's: the driver cannot copy it either
        assert (found["explained"], found["by name"]) == ("refused", ["refused", "refused", 0])
    else:
        assert (found["explained"], found["by name"]) == ("refused", [16, values, 1])


# what shows memory, and is tried above
SHOWING = """
__array__ __array_interface__ __array_struct__ __arrow_array__ __arrow_c_array__ __arrow_c_stream__ __bool__ __bytes__
__buffer__ __complex__ __copy__ __dataframe__ __deepcopy__ __dlpack__ __float__ __getitem__ __int__ __iter__
__jax_array__ __reduce_ex__ _arrow_c_array array_interface buffer buffers compact copy item low null_count reinterpret
reshape T to tobytes tolist verify view
"""
# what tells of it, and of devices to those who read them
TELLING = """
__arrow_c_device_array__ __arrow_c_device_stream__ __arrow_c_schema__ __contains__ __cuda_array_interface__
__delitem__ __dlpack_c_exchange_api__ __dlpack_device__ __enter__ __exit__ __init__ __len__ __new__ __release_buffer__
__repr__ __setitem__ __sizeof__ __sycl_usm_array_interface__ _arrow_c_device_array _describe _repr_html_ aligned
alignment bufsize buffer_facts c_contiguous children chunks cuda_array_interface device dictionary dtype exclusive
f_contiguous from_buffers from_pointer itemsize length metadata name native native_object nbytes
ndim nulls offset owner ptr
readonly release released rename shape size stride strides writability_untold
"""


@pytest.mark.parametrize("cls", [lend.View, lend.Buffer, lend.Column], ids=["View", "Buffer", "Column"])
def test_whatever_a_class_has_is_known_to_be_tried_or_to_tell_alone(cls):
    usual = {name: getattr(object, name) for name in dir(object)}
    there = {name for name in dir(cls) if name not in usual or getattr(cls, name) is not usual[name]}
    there -= {"__doc__", "__init_subclass__", "__subclasshook__", "__getstate__", "__class__"}
    assert there <= set((SHOWING + TELLING).split()), "try it in support/host_exports.py"


LIBRARIES = {
    "pyarrow": {
        "to pyarrow": "lambda x: bytes(lend.to(x, 'pyarrow').buffers()[1])[:SIZE]",
        "pyarrow.array": "lambda x: bytes(pyarrow.array(x).buffers()[1])[:SIZE]",
        "pyarrow.py_buffer": "lambda x: pyarrow.py_buffer(x).to_pybytes()",
    },
    "torch": {
        "to torch": "lambda x: lend.to(x, 'torch', alias_readonly=True).numpy().tobytes()",
        "torch.frombuffer": "lambda x: torch.frombuffer(x, dtype=torch.uint8).numpy().tobytes()",
    },
    "PIL.Image": {"an image": "lambda x: PIL.Image.frombuffer('L', (4, 4), x).tobytes()"},
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_of_the_host_get_what_it_may_read_and_are_refused_the_rest(library):
    pytest.importorskip(library)
    ways = ", ".join(f"{name!r}: {way}" for name, way in LIBRARIES[library].items())
    snippet = f"""
import {library}
import json, lend
from support import host_exports
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
from support.host_exports import SIZE
fake.init()
found = []
for kind in ("device", "managed", "pinned"):
    m = Memory(bytes(SIZE), kind)
    take = lambda: lend.view(CudaArray(m, (4,), "<u4", stream="own"))
    found.append(list(host_exports.tried({{{ways}}}, take, m.fill).values()))
print(json.dumps(found))
"""
    count = len(LIBRARIES[library])
    refused, *read = json.loads(fakecuda.run_clean(snippet, options=()))
    assert read == [["right"] * count] * 2
    assert not {"right", "stale"} & set(refused)  # torch writes an error of its own
