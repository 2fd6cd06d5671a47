"""Libraries in place of ROCm's for an installed ROCm build of CuPy: HIP over the double, and nothing behind the rest.

What CuPy's modules need of which library, and in which version of its symbols, is read from the modules themselves; a
function that the double does not have answers 801 (not supported).
"""

import collections
import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from support import build

from . import building

NOT_SUPPORTED = 801
MARKERS = {"libroctx64.so.4": "ROCTX_4.1", "libroctracer64.so.4": "ROCTRACER_4.0"}  # versions of symbols


def version():
    """Of the ROCm build of CuPy that is installed; None: there is none."""
    for each in importlib.metadata.packages_distributions().get("cupy", []):
        if each.startswith("cupy-rocm"):
            return importlib.metadata.version(each)
    return None


def missing():
    """Why the tests with CuPy cannot be had here; None: they can."""
    if version() is None:
        return "no ROCm build of CuPy is installed (`make test-gpu-double` has one)"
    tools = [tool for tool in ("readelf", "nm") if not shutil.which(tool)]
    return building.missing() or (f"{tools[0]} is not here" if tools else None)


def told(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(site):
    """Names of ROCm's libraries that CuPy's modules are linked to, and by version the functions that they miss."""
    libraries, functions = set(), collections.defaultdict(set)
    for module in [*(site / "cupy_backends").rglob("*.so"), *(site / "cupy").rglob("*.so")]:
        found = re.findall(r"NEEDED.*\[(.*?)\]", told("readelf", "-d", str(module)))
        libraries |= {name for name in found if re.search("hip|roc|rccl", name)}
        for line in told("nm", "-D", "--undefined-only", str(module)).splitlines():
            name, _, version = line.split()[-1].partition("@")
            if re.match("_*hip|roc|nccl", name):
                functions[version].add(name)
    return libraries, functions


def own_functions():
    source = (building.HERE / "hip.c").read_text(encoding="utf-8")
    return set(re.findall(r"^(?:API|HOOK const char \*) ?\*?(hip\w+)\(", source, re.MULTILINE))


def stubs(path, names):
    text = "".join(
        f'__attribute__((visibility("default"))) int {name}(void) {{ return {NOT_SUPPORTED}; }}\n'
        for name in sorted(names)
    )
    path.write_text(text, encoding="utf-8")
    return path


def compile_into(folder, soname, sources, version_map=""):
    path = folder / f"{soname}.map"
    path.write_text(version_map, encoding="utf-8")
    wanted = [f"-Wl,--version-script={path}"] if version_map else []
    command = [building.compiler(), *building.FLAGS, f"-DHIP_RELEASE={release_of(soname)}", *map(str, sources)]
    command += [*wanted, f"-Wl,-soname,{soname}", "-o", str(folder / soname), "-lpthread", "-ldl"]
    subprocess.run(command, check=True)


def release_of(soname):
    return int(soname.rpartition(".")[2])


def built():
    """The HIP library, with the others beside it; compiled if nobody has met this CuPy and this source yet."""
    reason = missing()
    if reason:
        import pytest

        pytest.skip(reason)
    # not imported: that would load what is built here
    site = pathlib.Path(importlib.util.find_spec("cupy").origin).parent.parent
    digest = hashlib.sha256(f"{site} {version()}".encode())
    for path in [pathlib.Path(__file__), *(building.HERE / name for name in ("driver.h", "double.h", "hip.c"))]:
        digest.update(path.read_bytes())
    for name in building.DRIVER:
        digest.update((building.HERE / name).read_bytes())
    folder = build._folder(digest.hexdigest()[:24]) / "cupy"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            compile_all(site, pathlib.Path(draft))
            try:
                os.rename(shutil.copytree(draft, f"{draft}-whole"), folder)
            except OSError:
                shutil.rmtree(f"{draft}-whole")  # somebody else was faster
    return next(path for path in folder.glob("libamdhip64.so.*") if path.suffix != ".map")


def compile_all(site, folder):
    """All libraries that CuPy is linked to, in a folder."""
    libraries, functions = needed(site)
    own = own_functions()
    versions = sorted(version for version in functions if version.startswith("hip_"))
    hip = next(name for name in libraries if name.startswith("libamdhip64"))
    missing = {name for version in versions for name in functions[version]} - own
    # what no module has a version for is exported all the same: the hooks, and what is asked by name
    exported = "".join(f"{version} {{ global: {'; '.join(sorted(functions[version]))}; }};\n" for version in versions)
    sources = [building.HERE / name for name in (*building.DRIVER, "hip.c")]
    compile_into(folder, hip, [*sources, stubs(folder / "hip_stubs.c", missing)], exported)
    for name in sorted(libraries - {hip}):
        version = MARKERS.get(name)
        empty = stubs(folder / f"{name}.c", functions[version] if version else functions[""] - own)
        compile_into(folder, name, [empty], f"{version} {{ global: *; }};\n" if version else "")
