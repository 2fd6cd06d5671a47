"""Functions off the fast path, in modules that are built for speed."""

cdef extern from * nogil:
    """
    #if defined(__GNUC__)
    /* a call of a cold function makes its caller cold, and with it the branches that lead there */
    static __attribute__((cold, noinline)) void lend_seldom(void) { __asm__ volatile(""); }
    #else
    #define lend_seldom() ((void)0)
    #endif
    """
    # first in a function that is seldom called: it is built for size, half of it, and out of the way of the others
    void seldom "lend_seldom"()
