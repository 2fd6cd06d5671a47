"""The kernels for Python, on addresses: kernels.h tells what each does, kernels.pyi how it is called."""

cdef extern from "kernel_table.h":
    int add_kernels "lend_add_kernels"(dict names_of_module, str module) except -1

add_kernels(globals(), __name__)
