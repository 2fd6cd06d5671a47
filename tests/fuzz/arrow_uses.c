/* What a user does with what came by Arrow's structs: it is read, checked, cut, given again and taken again. */
#include "fuzz.h"

static const char uses[] =
    "import lend\n"
    "from lend.errors import LendError, MalformedDescriptor\n"
    "class Pair:\n"
    "    def __init__(self, pair): self.pair = pair\n"
    "    def __arrow_c_array__(self, requested_schema=None): return self.pair\n"
    "def values(thing):\n"
    "    if len(thing) > 4096: return None\n"
    "    columns = thing.columns if isinstance(thing, lend.Table) else (thing,)\n"
    "    return repr([column.tolist() for column in columns])\n"
    "def verified(thing):\n"
    "    thing.verify(full=True)\n"
    "    return True\n"
    "def attempt(work, *given):\n"
    "    try: return work(*given)\n"
    "    except LendError: return None\n"
    "def again(thing, way):\n"
    "    take = lend.table if isinstance(thing, lend.Table) else lend.column\n"
    "    if way & 1: return take(thing.__arrow_c_stream__())\n"
    "    give = getattr(thing, '__arrow_c_array__', None)\n"
    "    return thing if give is None else take(give())\n"
    "def one(thing, what, way):\n"
    "    table = isinstance(thing, lend.Table)\n"
    "    if what == 0: return thing.verify(full=way & 1 == 0)\n"
    "    if what == 1: return values(thing)\n"
    "    if what == 2:\n"
    "        sound, told = attempt(verified, thing), attempt(values, thing)\n"
    "        other = again(thing, way)\n"
    "        if sound and attempt(values, other) != told: raise AssertionError('values changed on their way: ' + repr(told))\n"
    "        return other\n"
    "    if what == 3: return thing[way % 5 : way // 5]\n"
    "    if what == 4:\n"
    "        if table: return thing[way % len(thing.names)] if thing.names else None\n"
    "        inner = (*thing.children, *([thing.dictionary] if thing.dictionary is not None else ()))\n"
    "        return inner[way % len(inner)] if inner else None\n"
    "    if what == 5: return thing.chunks[way % len(thing.chunks)] if len(thing.chunks) else None\n"
    "    if what == 6: repr(thing); return repr(thing.dtypes if table else thing.dtype)\n"
    "    if what == 7: return thing.compact() if len(thing) <= 4096 else None\n"
    "    if what == 8: return thing.metadata if table else (thing.nulls, thing.null_count, thing.metadata)\n"
    "    if what == 9:\n"
    "        if table: return thing.select(range(min(way % 3, thing.num_columns)))\n"
    "        for part in thing.buffers.values():\n"
    "            for held in part if isinstance(part, tuple) else (part,): sum(bytes(held))\n"
    "        return None\n"
    "    if what == 10: return None if table else thing.view().tolist()\n"
    "    few = len(thing) <= 4096\n"
    "    if what == 11: lend.explain(thing, 'pyarrow' if way & 1 else 'numpy')\n"
    "    if what == 12 and few: lend.to(thing, 'numpy', nulls='object' if way & 1 else None)\n"
    "    if what == 13:\n"
    "        thing.verify(full=True)\n"
    "        try: values(thing)\n"
    "        except MalformedDescriptor as error: raise AssertionError('it was verified, and still ' + str(error))\n"
    "        return None\n"
    "    if what == 14 and few and thing.names if table else False: thing.__dataframe__().get_column(0).get_buffers()\n"
    "    if what == 15 and not table: thing.release()\n"
    "    return None\n"
    "def use(made, script):\n"
    "    for what, way in zip(script[::2], script[1::2]):\n"
    "        found = None\n"
    "        try: found = one(made, what % 16, way)\n"
    "        except (LendError, MemoryError): continue\n"
    "        if isinstance(found, (lend.Column, lend.Table)): made = found\n"
    "def take(source, way):\n"
    "    if isinstance(source, tuple) and way & 2: source = Pair(source)\n"
    "    return lend.table(source) if way & 1 else lend.column(source)\n";

PyObject *make_arrow(input *in, unsigned streamed) {
    static PyObject *take_it, *use_it;
    PyObject *source, *made, *script, *done;
    uint8_t way;
    if (take_it == NULL) {
        PyObject *names = PyDict_New(), *run;
        run = names == NULL ? NULL : PyRun_String(uses, Py_file_input, names, names);
        if (run == NULL) fault("the harness's own uses");
        Py_DECREF(run);
        take_it = Py_XNewRef(PyDict_GetItemString(names, "take"));
        use_it = Py_XNewRef(PyDict_GetItemString(names, "use"));
    }
    way = next_byte(in);
    if (way >= 0xF0) lend_fuzz_fail_in = 1 + next_byte(in) % 32;
    {
        const long fails = lend_fuzz_fail_in;
        lend_fuzz_fail_in = 0;
        source = make_arrow_source(in, way & 1, streamed);
        lend_fuzz_fail_in = fails;
    }
    if (source == NULL) fault("no memory in the harness");
    made = PyObject_CallFunction(take_it, "Ni", source, (int)way);
    if (!returned(made, LEND_ERROR)) {
        lend_fuzz_fail_in = 0;
        return NULL;
    }
    script = PyBytes_FromStringAndSize((const char *)in->at, in->end - in->at > 16 ? 16 : in->end - in->at);
    done = PyObject_CallFunctionObjArgs(use_it, made, script, NULL);
    lend_fuzz_fail_in = 0;
    Py_DECREF(script);
    Py_DECREF(made);
    if (returned(done, LEND_ERROR)) Py_DECREF(done);
    taken++;
    return NULL;
}
