"""Shortcuts of shortcuts.h, past the unpacking of keywords."""
from cpython.ref cimport PyObject

cdef extern from "shortcuts.h":
    void shorten_call "lend_shorten_1a"(object function, object (*plain)(object))
    void shorten_other_call "lend_shorten_1b"(object function, object (*plain)(object))
    void shorten_call_2 "lend_shorten_2"(object function, PyObject* (*plain)(object, object) noexcept)
    void shorten_method "lend_shorten_method"(object cls, object method, object (*plain)(object, object))
