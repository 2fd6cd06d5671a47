"""How a build finds lend.h: by a function, by the command line, and by pkg-config."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

import lend

FOLDER = pathlib.Path(lend.get_include())


def told(*arguments):
    run = subprocess.run([sys.executable, "-m", "lend", *arguments], capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.parametrize("header", ["lend.h", "lend_take.h"])
def test_the_headers_are_there(header):
    assert (FOLDER / header).is_file()


def test_the_command_line_prints_the_folder():
    assert told("--includedir") == str(FOLDER)


def test_the_command_line_prints_the_flags():
    assert shlex.split(told("--cflags")) == [f"-I{FOLDER}"]


def test_pkg_config_knows_the_flags():
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    place = FOLDER.parent / "pkgconfig"
    if not place.is_dir():
        pytest.skip("lend runs from its sources, and its pkg-config file is made when it is built")
    run = subprocess.run(
        ["pkg-config", "--cflags", "lend"],
        capture_output=True,
        text=True,
        env={**os.environ, "PKG_CONFIG_PATH": str(place)},
    )
    assert run.returncode == 0, run.stderr
    (flag,) = shlex.split(run.stdout)
    assert pathlib.Path(flag.removeprefix("-I")).resolve() == FOLDER.resolve()
