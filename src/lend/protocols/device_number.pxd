"""What an object with a device interface says of its device by `__dlpack_device__`, asked by both interfaces."""
from lend._core.owners cimport Protocol
from lend.protocols.array_interface cimport refuse, refuse_producer
from lend.protocols.integers cimport read_size


cdef inline int number_of(object obj, Protocol protocol, int* kind) except? -2:
    """The number of the device, its type in `kind` (0: not announced); -1 where no number is told."""
    cdef Py_ssize_t told = 0
    cdef Py_ssize_t number = -1
    cdef bint good = False
    cdef object pair = None, method
    kind[0] = 0
    try:
        # without an error where it is absent, which costs as much as all the rest
        method = getattr(obj, "__dlpack_device__", None)
        if method is None:
            return -1
        pair = method()
        good = (isinstance(pair, tuple) and len(<tuple> pair) == 2 and read_size((<tuple> pair)[0], &told)
                and 0 < told < 256 and read_size((<tuple> pair)[1], &number) and -1 <= number <= 0x7FFFFFFF)
    except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
        refuse_producer(obj, protocol, error)
    if not good:
        refuse("bad_answer", obj, protocol, ("__dlpack_device__()", "a pair (device type, device id)", pair))
    kind[0] = <int> told
    return <int> number
