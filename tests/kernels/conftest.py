"""The kernels as they are installed, and compiled anew for each way to store: past the cache, and plain."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sysconfig

import pytest

from lend._core import kernels as installed

HERE = pathlib.Path(__file__).parent
CORE = HERE.parent.parent / "src" / "lend" / "_core"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"]
BUILDS = {"streaming": ["-DLEND_STREAM_FROM=64"], "plain": ["-DLEND_STREAM_FROM=64", "-DLEND_PLAIN_STORES"]}

_compiled = {}


def compile_kernels(flags, folder):
    """Compile kernels.c with the table of its functions; `LEND_TEST_CFLAGS` adds flags: a sanitizer."""
    path = folder / ("kernels" + sysconfig.get_config_var("EXT_SUFFIX"))
    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    command = [*shlex.split(sysconfig.get_config_var("LDSHARED")), *WARNINGS, "-O1", "-g", "-fPIC", *flags]
    command += [*shlex.split(os.environ.get("LEND_TEST_CFLAGS", "")), f"-I{CORE}"]
    command += [*(f"-isystem{place}" for place in sorted(python)), str(HERE / "module.c"), str(CORE / "kernels.c")]
    run = subprocess.run([*command, "-o", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, f"{shlex.join(command)}\n{run.stdout}{run.stderr}"
    loader = importlib.machinery.ExtensionFileLoader("kernels", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("kernels", path, loader=loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session", params=["installed", *BUILDS])
def kernels(request, tmp_path_factory):
    """One of the builds."""
    if request.param == "installed":
        return installed
    if request.param not in _compiled:
        _compiled[request.param] = compile_kernels(BUILDS[request.param], tmp_path_factory.mktemp(request.param))
    return _compiled[request.param]
