"""Arrays from C: what a function in C pays to look at an array that it was given, or to hold it.

Every case is a C function. tvm_ffi's is its test function that takes anything and does nothing; its call alone costs as
much as three arguments, so that the comparison with it is over eight arguments.
"""

from harness.case import Row, Table, Target, floor, ours, peer

TVM = "import tvm_ffi\ncall = tvm_ffi.get_global_func('testing.nop')"


def source(name, setup, look, *, address, request=False):
    """A row for one kind of object: borrowed, held, and as view() from Python."""
    asked = (
        (ours("borrow, with a request", "borrow(x)", "from from_c import borrow_floats as borrow", ""),)
        if request
        else ()
    )
    against = (Target("lend_borrow", look[0], 1.2),) if look else ()
    return Row(
        name,
        (
            *((floor(look[0], f"{look[1]}(x)", f"from peersfloor import {look[1]}"),) if look else ()),
            ours("lend_borrow", "borrow(x)", "from from_c import address, borrow", "address(x)"),
            *asked,
            ours("lend_acquire, lend_release", "acquire(x)", "from from_c import acquire", ""),
            ours("view", "view(x)", pointer="r.ptr"),
            ours(
                "lend_borrow of 8 arguments",
                "borrow(x, x, x, x, x, x, x, x)",
                "from from_c import borrow_each as borrow",
                "",
            ),
            peer("tvm_ffi call of 8 arguments", "call(x, x, x, x, x, x, x, x)", TVM),
            peer("tvm_ffi call of one argument", "call(x)", TVM),
            peer("nanobind ndarray argument", "take(x)", "from nanobind_peer import take"),
        ),
        (
            *against,
            Target("lend_borrow of 8 arguments", "tvm_ffi call of 8 arguments", 1.0),
            Target("lend_acquire, lend_release", "view", 1.0),
        ),
        setup=setup,
        address=address,
    )


ROWS = (
    source(
        "ndarray",
        "import numpy as np\nx = np.zeros(1000, 'f4')",
        ("Py_buffer, looked at", "buf_peek"),
        address="x.ctypes.data",
        request=True,
    ),
    source(
        "ndarray, 3-D",
        "import numpy as np\nx = np.zeros((8, 16, 32), 'f4')",
        ("Py_buffer, looked at", "buf_peek"),
        address="x.ctypes.data",
    ),
    source(
        "torch tensor, int64",
        "import torch\nx = torch.arange(1000)",
        ("exchange table, looked at", "dlx_peek"),
        address="x.data_ptr()",
    ),
    source(
        "torch tensor, float32",
        "import torch\nx = torch.zeros(1000)",
        ("exchange table, looked at", "dlx_peek"),
        address="x.data_ptr()",
        request=True,
    ),
    source(
        "bytes",
        "x = bytes(4000)\nimport numpy as np",
        ("Py_buffer, looked at", "buf_peek"),
        address="np.frombuffer(x, 'u1').ctypes.data",
    ),
    source("lend.View", "import numpy as np\nimport lend\nx = lend.view(np.zeros(1000, 'f4'))", None, address="x.ptr"),
)

TABLE = Table("from_c", "From C", ROWS)
