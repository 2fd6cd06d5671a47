"""Columns on devices as the host may read them now: each buffer by its row of the table, its work waited for."""
from lend._core.arrow_layout cimport LAYOUT_VIEWS
from lend._core.record cimport DEVICE_CPU, byte_count
from lend.columns.column cimport Column, children_of, dictionary_of, put_device, twin
from lend.columns.parts cimport bytes_at
from lend.views.buffers cimport Buffer

from lend.devices.access import on_host as buffer_on_host


def on_host(Column column, sync=None):
    """The same column over the same memory and owners, on the device "cpu"; itself, if it is there already.

    `sync` says what each buffer is waited for, as `access.on_host` has it.

    Raises
    ------
    NotHostAccessible
        The host may not read one of its buffers, or cannot know how far it goes (views of text).
    """
    cdef Column made
    cdef Buffer told, here
    cdef int place
    if column.record.device_type == DEVICE_CPU:
        return column
    children_of(column)
    dictionary_of(column)
    made = twin(column)
    if made.record.layout == LAYOUT_VIEWS and made.record.length:
        from lend.protocols.refusals import not_host
        raise not_host(column, None)
    made.record.device_type = DEVICE_CPU
    made.record.device_id = 0
    made.places = None
    # in this order: how long text is its last offset says
    for place in range(3):
        if made.record.buffers[place] is NULL:
            continue
        told = bytes_at(made, place)
        put_device(column, place, &told.record)
        if byte_count(&told.record):
            here = buffer_on_host(told, sync)
            made.record.buffers[place] += here.record.data - told.record.data
    if made.parts is not None:
        made.parts = tuple([on_host(part, sync) for part in made.parts])
    if made.words is not None:
        made.words = on_host(made.words, sync)
    return made
