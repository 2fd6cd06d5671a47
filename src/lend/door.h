/* How the doors of the compiled modules find what is behind them. */
#define LEND_BEGINNINGS "lend._compiled.BEGINNINGS"

struct lend_beginning {
    const char *name;
    PyObject *(*begin)(void); /* what CPython calls PyInit_name */
};
