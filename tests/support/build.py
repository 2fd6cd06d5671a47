"""Compile the C helper of `support.counting`, once for each interpreter and state of its source."""

import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig
import tempfile

SOURCES = (
    "counting.c",
    "counting_hold.c",
    "counting_dlpack.c",
    "counting_taken.c",
    "counting_exchange.c",
    "counting_struct.c",
    "counting_careless.c",
)
NAME = "lend_counting"
HERE = pathlib.Path(__file__).parent


def load():
    """The compiled module, built if this interpreter has not met this source yet.

    `LEND_TEST_CFLAGS` adds flags (a sanitizer, say) and makes a build of its own.
    """
    compiler = sysconfig.get_config_var("LDSHARED")
    if not compiler:
        raise RuntimeError("the counting helper of the tests needs a C compiler, and sysconfig names none")
    flags = shlex.split(os.environ.get("LEND_TEST_CFLAGS", ""))
    path = _folder(_fingerprint(flags)) / (NAME + sysconfig.get_config_var("EXT_SUFFIX"))
    if not path.exists():
        _compile(shlex.split(compiler), flags, path)
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _fingerprint(flags):
    """Changes with the source, the interpreter and the flags."""
    digest = hashlib.sha256(repr((sys.version, sys.executable, flags)).encode())
    for name in ("counting.h", *SOURCES):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:24]


def _folder(fingerprint):
    """A private folder under the system's temporary one: never the source tree, never a folder others may write."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    base = pathlib.Path(tempfile.gettempdir(), f"lend-tests-{user}")
    base.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and base.stat().st_uid != user:
        raise RuntimeError(f"{base} belongs to somebody else")
    folder = base / fingerprint
    folder.mkdir(exist_ok=True)
    return folder


def _compile(compiler, flags, path):
    """Into a file beside the target, then renamed: several workers may build at once."""
    draft = path.with_name(f"{os.getpid()}-{path.name}")
    include = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    command = [*compiler, "-O1", "-g", "-fPIC", "-pthread", *flags, *(f"-I{folder}" for folder in sorted(include))]
    command += [*(str(HERE / name) for name in SOURCES), "-o", str(draft)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{run.stdout}{run.stderr}")
    os.replace(draft, path)
