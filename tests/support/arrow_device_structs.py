"""Arrow's structs for devices made by hand, of ctypes alone, like those of `arrow_structs`: they count releases.

made = OnDevice(Node("l", 3, buffers=[None, ADDRESS]), device_type=2, device_id=1)
made.held.sync_event = ADDRESS    # any field may be spoilt before it is handed out
lend.column(made)                 # it has __arrow_c_device_array__
"""

import ctypes

from . import arrow_structs
from .arrow_structs import Array, Made, Stream, capsule

_pointer = ctypes.c_void_p


class DeviceArray(ctypes.Structure):
    """An array and where it is; flat, as an array is its first member."""

    _fields_ = [
        *Array._fields_, ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32), ("sync_event", _pointer),
        ("reserved", ctypes.c_int64 * 3),
    ]  # fmt: skip


class DeviceStream(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), *Stream._fields_]


for _name, _kind in ((b"arrow_device_array", DeviceArray), (b"arrow_device_array_stream", DeviceStream)):
    arrow_structs._NAMES.append(_name)
    arrow_structs._KINDS[_name] = _kind


class OnDevice(Made):
    """The structs of a Node with the device that they are said to be on."""

    def __init__(self, node, device_type=1, device_id=-1, sync_event=None, reserved=(0, 0, 0)):
        super().__init__(node)
        self.held = DeviceArray(device_id=device_id, device_type=device_type, sync_event=sync_event)
        self.held.reserved[:] = reserved
        arrow_structs._moved(self.array, ctypes.addressof(self.held))

    def capsules(self):
        return capsule(self.schema, b"arrow_schema"), capsule(self.held, b"arrow_device_array")

    def __arrow_c_device_array__(self, requested_schema=None, **options):
        return self.capsules()

    __arrow_c_array__ = None  # it has none of the host


class StreamedOnDevice:
    """A stream of such arrays; `parts` are OnDevice, or errors as (errno, text), which end it."""

    def __init__(self, schema, parts, device_type=1):
        self.schema, self.parts, self.released, self.said, self.describing = schema, list(parts), 0, None, None
        callbacks = (ctypes.cast(function, _pointer).value for function in (_get_schema, _get_next, _get_last_error))
        self.stream = DeviceStream(
            device_type, *callbacks, ctypes.cast(_release_stream, _pointer).value, arrow_structs._kept(self)
        )

    def __arrow_c_device_stream__(self, requested_schema=None, **options):
        return capsule(self.stream, b"arrow_device_array_stream")


def _of(stream):
    return arrow_structs._living[DeviceStream.from_address(stream).private_data]


@arrow_structs._pull
def _get_schema(stream, out):
    self = _of(stream)
    self.describing = Made(self.schema)
    arrow_structs._release_array(ctypes.addressof(self.describing.array))
    arrow_structs._moved(self.describing.schema, out)
    return 0


@arrow_structs._pull
def _get_next(stream, out):
    self = _of(stream)
    if not self.parts:
        ctypes.memset(out, 0, ctypes.sizeof(DeviceArray))
        return 0
    part = self.parts.pop(0)
    if isinstance(part, tuple):
        number, text = part
        self.said = ctypes.create_string_buffer(text.encode())
        return number
    arrow_structs._release_schema(ctypes.addressof(part.schema))
    arrow_structs._moved(part.held, out)
    return 0


@arrow_structs._tell
def _get_last_error(stream):
    said = _of(stream).said
    return None if said is None else ctypes.addressof(said)


@arrow_structs._callback
def _release_stream(address):
    stream = DeviceStream.from_address(address)
    arrow_structs._living.pop(stream.private_data).released += 1
    stream.release = None


arrow_structs._RELEASES.update({DeviceArray: arrow_structs._release_array, DeviceStream: _release_stream})
