"""Build lend's compiled modules with other flags than an installed lend has: for a fuzzer, for sanitizers.

The result is a folder to put on PYTHONPATH: `lend/` with links to our Python files and modules compiled anew beside
them. Cython's directives are read from meson.build; nothing is installed.
"""

import concurrent.futures
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
KERNELS = SOURCE / "lend/_core/kernels.c"
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 12, -1)))


def directives() -> list[str]:
    """The arguments that meson.build gives to Cython."""
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    (block,) = re.findall(r"^directives = \{$(.*?)^\}$", text, flags=re.MULTILINE | re.DOTALL)
    return [word for name, value in re.findall(r"'([\w.]+)': '(\w+)'", block) for word in ("-X", f"{name}={value}")]


def shortened() -> set[str]:
    """The modules whose functions are Cython's function objects, as the meson.build of their folder says: plan/ways."""
    found = set()
    for path in (SOURCE / "lend").rglob("meson.build"):
        lists = re.findall(r"foreach name : \[([^\]]*)\]\n  shortened \+=", path.read_text(encoding="utf-8"))
        folder = path.parent.relative_to(SOURCE / "lend")
        found |= {(folder / name).as_posix() for text in lists for name in re.findall(r"'(\w+)'", text)}
    return found


def include_flags() -> list[str]:
    """Where the headers are: Python's, our private ones, the public ones."""
    folders = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    folders |= {str(SOURCE / "lend/_core"), str(SOURCE / "lend/include")}
    return [f"-I{folder}" for folder in sorted(folders)]


def run(command: Sequence[str], **keywords: object) -> None:
    """Run a command; one that fails tells what it said, and ends the build."""
    done = subprocess.run(list(command), capture_output=True, text=True, check=False, **keywords)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def modules() -> list[Path]:
    """All compiled files of lend."""
    return sorted((SOURCE / "lend").rglob("*.pyx"))


def newest_shared() -> float:
    """When the last change was made to what several modules are compiled from."""
    shared = [path for path in SOURCE.rglob("*") if path.suffix in {".pxd", ".pxi", ".h"}] + [KERNELS]
    return max(path.stat().st_mtime for path in [*shared, ROOT / "meson.build", Path(__file__)])


def link_python_files(site: Path) -> None:
    """Make the package around the modules: links, so that an edit is seen at once."""
    for path in (SOURCE / "lend").rglob("*"):
        if path.suffix in {".py", ".pyi", ".typed", ".h", ".pxd", ".in"}:
            target = site / path.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            link_to(target, path)


def link_to(target: Path, path: Path) -> None:
    """Put a link in the place of whatever is there."""
    target.unlink(missing_ok=True)
    target.symlink_to(path)


def installed_module(name: str) -> Path:
    """Where the module of this name (`views/view`) lies in the lend that is installed."""
    found = importlib.util.find_spec("lend")
    if found is None or found.origin is None:
        sys.exit("no lend is installed here, to take the other modules from")
    return Path(found.origin).parent / f"{name}{EXTENSION}"


def build(
    folder: Path,
    compiler: Sequence[str],
    flags: Iterable[str],
    *,
    link: Iterable[str] = (),
    jobs: int = 2,
    only: Iterable[str] | None = None,
) -> Path:
    """Compile what changed into `folder`, and answer with the folder for PYTHONPATH.

    With `only` the modules that it does not name are links to those of the installed lend.
    """
    site, translated = folder / "site", folder / "c"
    link_python_files(site)
    base = newest_shared()
    stamp = folder / "flags.txt"
    said = shlex.join([*compiler, *flags, *link])
    objects = shortened()
    same = stamp.exists() and stamp.read_text(encoding="utf-8") == said

    def one(source: Path) -> None:
        name = source.relative_to(SOURCE).with_suffix("")
        target = site / f"{name}{EXTENSION}"
        short_name = name.relative_to("lend").as_posix()
        if only is not None and short_name not in only:
            link_to(target, installed_module(short_name))
            return
        if same and target.exists() and target.stat().st_mtime > max(base, source.stat().st_mtime):
            return
        c_file = translated / f"{name}.c"
        c_file.parent.mkdir(parents=True, exist_ok=True)
        module = ".".join(name.parts)
        own = ["-X", "binding=True", "-X", "embedsignature=False"] if short_name in objects else []
        cython = [sys.executable, "-m", "cython", "-3", *directives(), *own, "-I", str(SOURCE), str(source)]
        run([*cython, "-o", str(c_file), "--module-name", module])
        # the functions that an installed lend has in one library with its modules
        beside = [str(KERNELS)] if '"kernels.h"' in c_file.read_text(encoding="utf-8") else []
        draft = target.with_name(f"{os.getpid()}-{target.name}")
        common = ["-std=c11", "-fPIC", "-shared", "-fvisibility=hidden", "-w"]
        run([*compiler, *common, *flags, *include_flags(), str(c_file), *beside, "-o", str(draft), *link])
        draft.replace(target)

    if only is not None:
        link_to(site / "lend" / f"_compiled{EXTENSION}", installed_module("_compiled"))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, modules()))
    stamp.write_text(said, encoding="utf-8")
    return site


def find_clang() -> tuple[str, dict[str, Path]] | None:
    """A clang that has libFuzzer, and where its run-time libraries are: `fuzzer` and, perhaps, `asan`."""
    for name in CLANGS:
        clang = shutil.which(name)
        if clang is None:
            continue
        said = subprocess.run([clang, "--print-resource-dir"], capture_output=True, text=True, check=False)
        folder = Path(said.stdout.strip() or "/nowhere")
        if said.returncode != 0 or not folder.is_dir():
            continue
        machine = os.uname().machine
        found = {}
        for key, stem, suffix in (("fuzzer", "libclang_rt.fuzzer_no_main", ".a"), ("asan", "libclang_rt.asan", ".so")):
            for path in [*folder.rglob(f"{stem}-{machine}{suffix}"), *folder.rglob(f"{stem}{suffix}")]:
                found.setdefault(key, path)
        if "fuzzer" in found:
            return clang, found
    return None
