"""Run the tests of lifetimes, hostile input, the C API and exchange under sanitizers: `make sanitize`.

lend's modules and the compiled helpers of the tests are built anew with AddressSanitizer and UndefinedBehaviorSanitizer
and loaded by this interpreter, whose allocator is switched off so that every block is watched. ThreadSanitizer runs the
tests of threads where a free-threaded interpreter is found. Any report, and any failed test, is a failure.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import interpreters
import sanitize_build
from sanitize_build import ROOT

TESTS = (
    "tests/lifetime",
    "tests/hostile",
    "tests/columns",
    "tests/tables",
    "tests/capi",
    "tests/c",
    "tests/kernels",
    "tests/protocols",
    "tests/views",
    "tests/test_pickling.py",
)
THREADS = ("tests/lifetime/test_threads.py", "tests/protocols/test_threads_stress.py")
# Threads that are still there when the process ends: the sanitizer's own end of a thread trips over its stack, with no
# frame of lend's. And memory that is watched does not come back at once, so its growth says nothing.
NOT_UNDER_ASAN = (
    "lifetime/test_exit.py::test_the_interpreter_ends_quietly_with[tensors deleted by other threads meanwhile]",
    "c/test_take_lifetime.py::test_nothing_piles_up",
    "capi/test_lend_h_edges.py::test_borrowing_many_dimensions_leaves_nothing_behind",
    "capi/test_lend_wrap.py::test_what_is_refused_keeps_no_dimensions",
    "lifetime/test_leaks.py::test_the_resident_size_is_flat",  # all that begin so
    "views/test_buffer_gaps.py::test_numpy_reads_bytes_into_pointers_to_objects",  # records a crash of NumPy's
)
TSAN_LIBS = ("pytest", "pytest-timeout", "hypothesis", "cython>=3.2.8")

# what each sanitizer must notice, or it is not at work: a read behind a block of malloc's
PLANTED = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
ctypes.string_at(libc.malloc(8), 64)
"""


def library(compiler: list[str], name: str) -> str | None:
    """A run-time library of the compiler, to be loaded before all others."""
    found = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = found.stdout.strip()
    return path if os.sep in path else None


def reports(folder: Path) -> list[Path]:
    """The reports that sanitizers wrote, each process its own; not of lengths so large that nobody can have them."""
    return sorted(path for path in folder.glob("report.*") if any(map(_tells, path.read_text("utf-8").splitlines())))


def _tells(line: str) -> bool:
    return bool(line.strip()) and "AddressSanitizer failed to allocate" not in line


def show(found: list[Path]) -> None:
    """Print reports, the first ones whole."""
    for path in found[:5]:
        print(f"== {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[:6000]}")
    if len(found) > 5:
        print(f"== and {len(found) - 5} more in {found[0].parent}")


def run_tests(python: str, site: Path, tests: tuple[str, ...], environment: dict[str, str], words: list[str]) -> int:
    """Run pytest over the instrumented lend; its exit status."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    command = [python, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests, *words]
    environment = {**os.environ, **environment, "PYTHONPATH": path}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def address_and_undefined(folder: Path, words: list[str]) -> bool:
    """ASAN and UBSAN with gcc; True if all is well."""
    compiler = shlex.split(os.environ.get("CC") or "gcc")
    preload = [library(compiler, name) for name in ("libasan.so", "libubsan.so")]
    if shutil.which(compiler[0]) is None or None in preload:
        print(f"ASAN + UBSAN: {compiler[0]} with libasan and libubsan is needed, and is not here")
        return False
    flags = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
    print("== building with ASAN and UBSAN", flush=True)
    site = sanitize_build.build(folder, compiler, ["-O1", "-g", *flags])
    for path in folder.glob("report.*"):
        path.unlink()
    log = f"log_path={folder / 'report'}"
    environment = {
        "LD_PRELOAD": " ".join(filter(None, preload)),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:{log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=0:{log}",
        "LEND_TEST_CFLAGS": shlex.join(flags),
    }
    planted = subprocess.run(
        [sys.executable, "-c", PLANTED], env={**os.environ, **environment}, capture_output=True, check=False
    )
    if planted.returncode == 0 or not reports(folder):
        print("ASAN + UBSAN: a planted fault was not noticed: the sanitizer is not at work")
        return False
    for path in reports(folder):
        path.unlink()
    deselected = [f"--deselect=tests/{test}" for test in NOT_UNDER_ASAN]
    status = run_tests(sys.executable, site, TESTS, environment, [*deselected, *words])
    found = reports(folder)
    show(found)
    print(f"ASAN + UBSAN: {len(found)} reports, tests {'passed' if status == 0 else f'failed (exit status {status})'}")
    return status == 0 and not found


def free_threaded() -> str | None:
    """A free-threaded interpreter of this machine."""
    for executable in interpreters.candidates():
        kind = interpreters.ask(executable)
        if kind is not None and kind[2]:
            return executable
    return None


def thread(folder: Path, words: list[str]) -> bool:
    """TSAN, where there is a free-threaded interpreter; True if nothing is wrong, also where there is none."""
    python = free_threaded()
    if python is None:
        print("TSAN: skipped, as this machine has no free-threaded CPython (on PATH, or among pyenv's versions)")
        return True
    compiler = shlex.split(sysconfig.get_config_var("CC") or "gcc")
    preload = library(compiler, "libtsan.so")
    if preload is None:
        print(f"TSAN: skipped, as {compiler[0]} has no libtsan")
        return True
    venv = folder / "venv"
    if not (venv / "made").exists():
        print("== an environment for the free-threaded interpreter", flush=True)
        sanitize_build.run([python, "-m", "venv", str(venv)])
        sanitize_build.run([str(venv / "bin/python"), "-m", "pip", "install", "-q", *TSAN_LIBS])
        (venv / "made").touch()
    inside = str(venv / "bin/python")
    print("== building with TSAN", flush=True)
    # by that interpreter: it knows its own headers and suffix
    code = (
        "import sys, pathlib, sanitize_build as b; "
        "print(b.build(pathlib.Path(sys.argv[1]), sys.argv[2:3], ['-O1', '-g', '-fsanitize=thread']))"
    )
    sanitize_build.run([inside, "-c", code, str(folder), compiler[0]], cwd=ROOT / "tools")
    for path in folder.glob("report.*"):
        path.unlink()
    environment = {
        "LD_PRELOAD": preload,
        "PYTHON_GIL": "0",
        # the interpreter itself is not instrumented: only what lend's own modules do is judged
        "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:halt_on_error=0:log_path={folder / 'report'}",
    }
    status = run_tests(inside, folder / "site", THREADS, environment, words)
    found = [path for path in reports(folder) if "lend" in path.read_text(encoding="utf-8", errors="replace")]
    show(found)
    print(f"TSAN: {len(found)} reports, tests {'passed' if status == 0 else f'failed (exit status {status})'}")
    return status == 0 and not found


def main() -> int:
    """Both, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / ".sanitize", help="where builds and reports go")
    options, words = parser.parse_known_args()
    folder = options.folder.resolve()
    well = [address_and_undefined(folder / "asan", words), thread(folder / "tsan", words)]
    print("nothing was reported" if all(well) else "NOT CLEAN: see above")
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
