"""Check what is in the sdist and the wheel of a folder: `python tools/check_dist.py dist`."""

import sys
import tarfile
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST_INSTALL = 3_250_000  # bytes; of arrays alone it was 1_500_000, columns, tables and devices are the rest
PUBLIC = {"py.typed", "lend.h", "lend_take.h"}


def expected(source: Path) -> set[str]:
    """Names that a wheel must hold, modules written as `lend/front.<ext>`, from the files of the source tree."""
    names = {"lend/_compiled.<ext>"}
    for path in source.rglob("*"):
        name = path.relative_to(source.parent).as_posix()
        if path.suffix in {".py", ".pyi"} or path.name in PUBLIC or name == "lend/__init__.pxd":
            names.add(name)
        elif path.name == "lend.pc.in":
            names.add("lend/pkgconfig/lend.pc")
        elif path.suffix == ".pyx":
            names.add(name.removesuffix(".pyx") + ".<ext>")
    return names


def check_wheel(path: Path) -> list[str]:
    """What is wrong with the wheel, in sentences."""
    with zipfile.ZipFile(path) as wheel:
        entries = wheel.infolist()
    installed = sum(entry.file_size for entry in entries)
    suffix = max((s for s in EXTENSION_SUFFIXES if s.count(".") > 1), key=len)
    names = {entry.filename.replace(suffix, ".<ext>") for entry in entries}
    package = {name for name in names if name.startswith("lend/")}
    wanted = expected(ROOT / "src" / "lend")
    packed = path.stat().st_size
    print(f"{path.name}: {len(package)} files, {installed / 1000:.0f} KB installed, {packed / 1000:.0f} KB packed")
    for entry in sorted(entries, key=lambda entry: -entry.file_size)[:5]:
        print(f"  {entry.file_size / 1000:7.0f} KB  {entry.filename}")

    problems = [f"{path.name} lacks {name}" for name in sorted(wanted - package)]
    problems += [f"{path.name} holds {name}, which nobody needs at run time" for name in sorted(package - wanted)]
    if installed > LARGEST_INSTALL:
        problems.append(f"{path.name} takes {installed} bytes installed; the limit is {LARGEST_INSTALL}")
    problems += [
        f"{path.name} lacks the licence file {licence}"
        for licence in ("LICENSE", "NOTICE")
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    ]
    return problems


def check_sdist(path: Path) -> list[str]:
    """What is wrong with the sdist, in sentences; that it builds is shown by the wheel, which is made from it."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1000:.0f} KB")
    wanted = {"pyproject.toml", "meson.build", "LICENSE", "NOTICE", "README.md", "Makefile", "tests/conftest.py"}
    return [f"{path.name} lacks {name}" for name in sorted(wanted - names)]


def main() -> None:
    """Check one sdist and one wheel; exit with the list of what is wrong."""
    folder = Path(sys.argv[1])
    (sdist,) = folder.glob("lend-*.tar.gz")
    (wheel,) = folder.glob("lend-*.whl")
    problems = check_sdist(sdist) + check_wheel(wheel)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
