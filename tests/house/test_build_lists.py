"""Each folder's meson.build lists what is installed from it; nobody forgets a file."""

import re

import pytest

from support.source_tree import PACKAGE, ROOT, files, label

INSTALLED = [*files(".py", ".pyi", ".pyx"), PACKAGE / "py.typed"]
BUILD_FILES = sorted(PACKAGE.rglob("meson.build"))


def listed(build_file):
    """Quoted names of a meson.build, comments left out."""
    text = re.sub(r"#.*", "", build_file.read_text(encoding="utf-8"))
    return re.findall(r"'([^'\n]*)'", text)


@pytest.mark.parametrize("path", INSTALLED, ids=label)
def test_source_file_is_listed_in_the_meson_build_beside_it(path):
    build_file = path.parent / "meson.build"
    assert build_file.exists(), f"no {label(build_file)}; copy a neighbour's and name the folder in the one above"
    name = path.stem if path.suffix == ".pyx" else path.name
    assert name in listed(build_file), f"{label(build_file)} does not list {name!r}"


@pytest.mark.parametrize("build_file", [file for file in BUILD_FILES if file.parent != PACKAGE], ids=label)
def test_folder_is_named_in_the_meson_build_above(build_file):
    above = build_file.parent.parent / "meson.build"
    assert build_file.parent.name in listed(above)


@pytest.mark.parametrize("build_file", BUILD_FILES, ids=label)
def test_installed_folder_is_the_folder_of_the_meson_build(build_file):
    folder = build_file.parent.relative_to(ROOT / "src").as_posix()
    named = {name for name in listed(build_file) if name == "lend" or name.startswith("lend/")}
    assert named == {folder}


@pytest.mark.parametrize("path", files(".pyx"), ids=label)
def test_compiled_module_sets_no_directive_of_its_own(path):
    assert not re.findall(r"^#\s*cython:.*", path.read_text(encoding="utf-8"), flags=re.MULTILINE), (
        "directives are set once, in the top meson.build"
    )
