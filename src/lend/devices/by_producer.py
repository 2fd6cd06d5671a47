"""Copies to the host that the producer makes, of memory that no driver known here could copy.

It is asked by `__dlpack__(dl_device=(1, 0))`, for which it waits for its own work, and gives the whole: a part of that
is where the part of its memory was.
"""

from lend._core.letting_go import lets_go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.views.view import View

NEWEST = (1, 3)
HOST = (1, 0)


@lets_go
def to_host(view: "View", taken: "Callable[[Any], View]") -> "View":
    """The same values in memory of the host, by the library that lent it, so that lend counts no copy.

    `taken` is `lend.view`.
    """
    from lend.devices import refusals
    from lend.views.view import View

    producer: Any = view.owner.producer
    whole = taken(producer)
    try:
        made = producer.__dlpack__(dl_device=HOST, max_version=NEWEST)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise refusals.not_copied(view, f"{type(error).__name__}: {error!s:.200}") from error
    here = taken(made)
    if not here.device.is_host or (here.shape, here.dtype) != (whole.shape, whole.dtype):
        raise refusals.not_copied(view, f"{here.dtype}{list(here.shape)} on {here.device}")
    if (view.ptr, view.shape, view.strides, view.dtype) == (whole.ptr, whole.shape, whole.strides, whole.dtype):
        return here
    low = view.buffer.ptr - whole.ptr
    if not (whole.c_contiguous and here.c_contiguous and 0 <= low <= whole.nbytes - view.buffer.nbytes):
        raise refusals.not_cut_out(view)
    return View.from_pointer(
        here.ptr + view.ptr - whole.ptr,
        view.shape,
        view.dtype,
        owner=here,
        strides=view.strides,
        readonly=here.readonly,
    )
