"""Compile an extension module against lend.h, as somebody who installed lend would."""

import importlib.machinery
import importlib.util
import shlex
import subprocess
import sysconfig

import lend


def compile_module(source, name, folder, *, compiler=None, flags=()):
    """Build one extension module and load it; a warning is an error."""
    linker = shlex.split(compiler or sysconfig.get_config_var("LDSHARED") or "cc -shared")
    path = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    include = [
        f"-I{lend.get_include()}",
        f"-I{sysconfig.get_path('include')}",
        f"-I{sysconfig.get_path('platinclude')}",
    ]
    command = [*linker, "-fPIC", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", *flags, *include]
    run = subprocess.run([*command, str(source), "-o", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, f"{shlex.join(command)}\n{run.stderr}"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
