"""The same tests in a process whose kernels are built with AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

HERE = pathlib.Path(__file__).parent
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -O0"


def runtime():
    """The runtime of AddressSanitizer, which must be loaded before the interpreter, or None."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if not sys.platform.startswith("linux") or shutil.which(compiler) is None:
        return None
    run = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True)
    return found if run.returncode == 0 and os.path.isabs(found := run.stdout.strip()) else None


@pytest.mark.skipif("LEND_TEST_CFLAGS" in os.environ, reason="the kernels are built with flags of somebody's already")
@pytest.mark.skipif(runtime() is None, reason="no AddressSanitizer beside the compiler")
def test_kernels_touch_nothing_but_their_rows_and_do_nothing_undefined():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE), "-k", "streaming or plain"]
    environment = {
        "LD_PRELOAD": runtime(),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LEND_TEST_CFLAGS": FLAGS,
        "LEND_TEST_EVERY_LENGTH": "13",
    }
    run = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
