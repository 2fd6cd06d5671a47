"""The double of the driver: what pointers and devices answer on each model of system."""

import json

import pytest

from support import fakecuda

MODELS = ("discrete", "hmm", "ats", "jetson", "wsl")
ASK = """
import ctypes, json
from support.fakecuda import fake

NAMES = {2: "type", 3: "device_pointer", 4: "host_pointer", 8: "managed", 9: "ordinal", 12: "size", 17: "pool"}

def ask(p):
    values = {number: ctypes.c_uint64(0) for number in NAMES}
    places = (ctypes.c_void_p * len(NAMES))(*(ctypes.addressof(v) for v in values.values()))
    rc = fake.rc("cuPointerGetAttributes", len(NAMES), (ctypes.c_int * len(NAMES))(*NAMES), places, fake.U64(p))
    said = {NAMES[number]: v.value for number, v in values.items()}
    ordinal = ctypes.c_int(said["ordinal"] & 0xFFFFFFFF).value
    host = {0: "none", p: "same"}.get(said["host_pointer"], "other")
    if rc: return rc
    reached, pool = bool(said["device_pointer"]), bool(said["pool"])
    return [said["type"], said["managed"], ordinal, host, reached, pool, said["size"]]

memory = ctypes.create_string_buffer(64)
print_all = lambda **answers: print(json.dumps(answers))
"""
KINDS = """
fake.init()
answers = {"pageable": ask(ctypes.addressof(memory))}
answers["device"] = ask(fake.malloc_device(64) + 8)
answers["pool"] = ask(fake.malloc_pool(64))
answers["managed"] = ask(fake.malloc_managed(64))
answers["managed pool"] = ask(fake.malloc_pool_managed(64))
answers["pinned"] = ask(fake.malloc_pinned(64))
r = fake.malloc_registered(64)
answers["registered"] = ask(r.address)
answers["alias"] = ask(r.device)
answers["created"] = ask(fake.Mapped().address)
answers["on a node"] = ask(fake.Mapped(device=None, access=("device", "host")).address)
p = fake.malloc_device(64); fake.free(p)
answers["freed"] = ask(p)
fake.use(1)
answers["device 1"] = ask(fake.malloc_device(64))
answers["attributes"] = [fake.attribute(n) for n in (18, 86, 88, 89, 91, 100, 101)]
print(json.dumps(answers))
"""
#                   type managed ordinal host device_pointer pool size
USUAL = {
    "device": [2, 0, 0, "none", True, False, 64],
    "pool": [2, 0, 0, "none", True, True, 64],
    "managed": [2, 1, 0, "same", True, False, 64],
    "managed pool": [1, 0, 0, "same", True, True, 64],
    "pinned": [1, 0, 0, "same", True, False, 64],
    "registered": [1, 0, 0, "same", True, False, 64],
    "alias": [1, 0, 0, "same", True, False, 64],
    "created": [2, 0, 0, "none", True, False, 2 << 20],
    "on a node": [1, 0, 0, "same", True, False, 2 << 20],
    "freed": [0, 0, -2, "none", False, False, 0],
    "device 1": [2, 0, 1, "none", True, False, 64],
}
UNKNOWN, REACHED = [0, 0, -2, "none", False, False, 0], [0, 0, -2, "same", True, False, 0]
ATTRIBUTES = {
    "discrete": [0, 0, 0, 1, 1, 0, 0],
    "hmm": [0, 0, 1, 1, 1, 0, 0],
    "ats": [0, 1, 1, 1, 1, 1, 1],
    "jetson": [1, 0, 0, 0, 1, 0, 0],
    "wsl": [0, 0, 0, 0, 1, 0, 0],
}


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_pointer_answers_as_the_model_has_it(model):
    answers = json.loads(fakecuda.run_clean(ASK + KINDS, model=model))
    assert answers.pop("attributes") == ATTRIBUTES[model]
    assert answers.pop("pageable") == (REACHED if model in ("hmm", "ats") else UNKNOWN)
    assert answers == USUAL


def test_a_disjoint_registration_tells_the_hosts_address_for_its_alias():
    answers = json.loads(fakecuda.run_clean(ASK + KINDS, register_disjoint=1))
    assert (answers["alias"], answers["attributes"][4]) == ([1, 0, 0, "other", True, False, 64], 0)


def test_device_memory_that_the_host_reads_has_a_host_pointer():
    answers = json.loads(fakecuda.run_clean(ASK + KINDS, device_host_access=1))
    assert answers["device"] == [2, 0, 0, "same", True, False, 64]


def test_a_query_before_init_says_not_initialised_and_starts_nothing():
    snippet = "print(ask(ctypes.addressof(memory)), fake.calls('cuInit'), fake.depth())"
    assert fakecuda.run_clean(ASK + snippet) == "3 0 0\n"


def test_a_system_without_a_device_says_so():
    assert fakecuda.run_clean("from support.fakecuda import fake; print(fake.rc('cuInit', 0))", nodevice=1) == "100\n"


def test_the_singular_query_fails_for_what_the_plural_answers_with_nulls():
    snippet = """
fake.init()
value = ctypes.c_uint64(7)
one = lambda number, p: fake.rc("cuPointerGetAttribute", ctypes.byref(value), number, fake.U64(p))
p = fake.malloc_device(64)
print([one(n, ctypes.addressof(memory)) for n in range(1, 22)] == [1] * 21)
print([one(n, p) for n in range(1, 22)])
"""
    told = fakecuda.run_clean(ASK + snippet).splitlines()
    refused = {4: 1, 5: 801}  # no address for the host, no tokens
    assert told == ["True", str([refused.get(number, 0) for number in range(1, 22)])]


@pytest.mark.parametrize("load", [True, False])
def test_the_library_is_found_by_its_name_only_once_it_is_loaded(load):
    snippet = """
import ctypes, os
try:
    ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    print("loaded")
except OSError:
    print("not loaded")
print(ctypes.CDLL("libcuda.so.1").fakecuda_live())
"""
    assert fakecuda.run_clean(snippet, load=load) == ("loaded\n0\n" if load else "not loaded\n0\n")
