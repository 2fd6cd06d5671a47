"""Producer, for the compiled files above."""
from lend.views.view cimport View


cdef class Producer:
    cdef dict told               # the Views whose addresses left by an array interface, by what they lie in

cdef View view_of_producer(object producer)
