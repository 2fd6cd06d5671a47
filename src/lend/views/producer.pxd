"""Producer, for the compiled files above."""
from lend.views.view cimport View


cdef class Producer:
    cdef dict told               # the Views whose addresses left by an array interface, by their owners

cdef View view_of_producer(object producer)
