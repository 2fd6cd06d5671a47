"""Compiles include/lend_take.h into extension modules, once for each language and mode that it promises."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sysconfig

import pytest

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE.parent.parent / "src" / "lend" / "include"
PEDANTIC = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
BUILDS = {
    "c99": ["-std=c99", "-O2"],
    "cpp11": ["-std=c++11", "-x", "c++", "-O1"],
    "limited": ["-std=c99", "-DPy_LIMITED_API=0x030b0000", "-O1"],
    "both": ["-std=c99", "-DBOTH", "-O1"],  # lend.h in the same file
    "both_cpp": ["-std=c++11", "-x", "c++", "-DBOTH", "-O1"],
}

# lend_view.flags, lend_request.flags
READONLY, C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, EXCLUSIVE, OPAQUE_HANDLE = 1, 2, 4, 8, 16, 32


def compile_module(name, flags, folder):
    """Compile take_module.c; `LEND_TEST_CFLAGS` adds flags: a sanitizer, or a folder with another header."""
    compiler = shlex.split(sysconfig.get_config_var("LDCXXSHARED" if "c++" in flags else "LDSHARED"))
    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    path = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    command = [*compiler, *PEDANTIC, *shlex.split(os.environ.get("LEND_TEST_CFLAGS", "")), "-fPIC", "-g", "-pthread"]
    command += [f"-I{INCLUDE}", *(f"-isystem{place}" for place in sorted(python)), f"-DNAME={name}", *flags]
    run = subprocess.run([*command, str(HERE / "take_module.c"), "-o", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, f"{shlex.join(command)}\n{run.stdout}{run.stderr}"
    return path


class Taker:
    """One compiled module, and how a test asks it."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        loader = importlib.machinery.ExtensionFileLoader(name, str(path))
        self.module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
        loader.exec_module(self.module)

    def take(self, obj, **request):
        """What lend_take gives; a request of its keywords, or none."""
        return Taken(self.module, self.module.take(obj, request) if request else self.module.take(obj))

    __call__ = take


class Taken:
    """A lend_view by its fields."""

    def __init__(self, module, capsule):
        self.module, self.capsule = module, capsule
        self.__dict__.update(module.facts(capsule))

    readonly = property(lambda self: bool(self.flags & READONLY))
    c_contiguous = property(lambda self: bool(self.flags & C_CONTIGUOUS))
    f_contiguous = property(lambda self: bool(self.flags & F_CONTIGUOUS))
    aligned = property(lambda self: bool(self.flags & ALIGNED))
    exclusive = property(lambda self: bool(self.flags & EXCLUSIVE))
    code, order, unit, bits, lanes, itemsize, multiplier = (
        property(lambda self, i=i: self.dtype[i]) for i in range(7)
    )  # fmt: skip

    def tobytes(self):
        return self.module.tobytes(self.capsule)

    def fill(self, byte):
        self.module.fill(self.capsule, byte)

    def release(self):
        self.module.release(self.capsule)

    def release_on_thread(self):
        self.module.release_on_thread(self.capsule)


_compiled = {}


def compiled(name, tmp_path_factory):
    """One of the builds, made when a test first wants it."""
    if name not in _compiled:
        folder = tmp_path_factory.mktemp("lend_take")
        _compiled[name] = Taker(f"lend_take_{name}", compile_module(f"lend_take_{name}", BUILDS[name], folder))
    return _compiled[name]


@pytest.fixture(scope="session", params=["c99", "cpp11", "limited"])
def taker(request, tmp_path_factory):
    """lend_take, compiled in each of the ways that it promises."""
    return compiled(request.param, tmp_path_factory)


@pytest.fixture(scope="session", params=["both", "both_cpp"])
def both(request, tmp_path_factory):
    """lend.h and lend_take.h in one file."""
    return compiled(request.param, tmp_path_factory)


KINDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "complex": 5, "bool": 6}
KINDS |= {"opaque": 128, "datetime": 129, "timedelta": 130}
MANAGED = 13  # the number of its device in DLPack
UNITS = ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


def c_dtype(dtype):
    """A DType of lend's as the fields of lend_dtype."""
    order = {None: "|", "little": "<", "big": ">"}[dtype.byteorder]
    timed = dtype.kind in ("datetime", "timedelta")
    unit = UNITS.index(dtype.unit or "generic") if timed else 0
    opaque = dtype.kind == "opaque"
    return (
        KINDS[dtype.kind],
        order,
        unit,
        0 if opaque else dtype.bits,
        1 if opaque else dtype.lanes,
        dtype.itemsize,
        dtype.multiplier if timed else 1,
    )


@pytest.fixture(scope="session")
def same():
    """Asserts that lend_take and lend.view say the same of an object, in every field, and read the same bytes."""

    def check(taken, view):
        assert taken.abi == 1 << 16 and taken.struct_size == 240
        assert taken.dtype == c_dtype(view.dtype)
        assert (taken.shape, taken.strides) == (view.shape, view.strides)
        assert (taken.ndim, taken.size, taken.nbytes) == (view.ndim, view.size, view.nbytes)
        assert taken.ptr == view.ptr
        assert taken.readonly == view.readonly
        assert (taken.c_contiguous, taken.f_contiguous) == (view.c_contiguous, view.f_contiguous)
        assert taken.aligned == view.aligned
        assert taken.device == (view.device.type, view.device.id)
        assert (taken.sync, taken.byte_offset, taken.leased) == (0, 0, True)
        if view.device.type == MANAGED:  # whose driver would have to be asked
            return
        held = taken.tobytes()
        if view.dtype.kind == "bool":
            held = bytes(byte != 0 for byte in held)  # so lend writes them out
        assert held == view.tobytes()

    return check
