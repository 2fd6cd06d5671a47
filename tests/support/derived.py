"""What can be made from a View, as a table: each of these keeps the memory alive, and each is read-only if it was."""

import copy

from . import counting

HOLDERS = {
    "the view itself": lambda view: view,
    "a slice": lambda view: view[1:3],
    "an element": lambda view: view[0],
    "a reversed slice": lambda view: view[::-1],
    "a new axis": lambda view: view[None],
    "all its elements": list,
    "its transpose": lambda view: view.T,
    "a reshape": lambda view: view.reshape((2, -1)),
    "a reinterpretation": lambda view: view.reinterpret("uint8"),
    "its buffer": lambda view: view.buffer,
    "a slice of its buffer": lambda view: view.buffer[1:3],
    "a view of its buffer": lambda view: view.buffer.view("uint8"),
    "its owner": lambda view: view.owner,
    "its shallow copy": copy.copy,
    "a memoryview": memoryview,
    "a memoryview of a memoryview": lambda view: memoryview(memoryview(view)),
    "a Py_buffer": counting.hold,
    "a Py_buffer of its buffer": lambda view: counting.hold(view.buffer),
    "an unversioned capsule": lambda view: view.__dlpack__(),
    "a versioned capsule": lambda view: view.__dlpack__(max_version=(1, 3)),
    "a tensor from an unversioned capsule": lambda view: counting.consume(view.__dlpack__()),
    "a tensor from a versioned capsule": lambda view: counting.consume(view.__dlpack__(max_version=(1, 3))),
    "a tensor from a slice": lambda view: counting.consume(view[1:].__dlpack__(max_version=(1, 3))),
    "a tensor from the exchange API": counting.exchange_take,
    "an array struct": lambda view: view.__array_struct__,
}
