"""`import lend` loads lend's own few modules and nothing heavy."""

import importlib.machinery
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lend

BANNED = {
    "typing", "enum", "re", "dataclasses", "inspect", "functools", "ctypes",
    "numpy", "pandas", "polars", "pyarrow", "torch", "jax", "PIL", "ml_dtypes", "cupy",
}  # fmt: skip
MOST_EXTENSION_MODULES = 8
MOST_MODULES = 15

# Without site, so that what some package's .pth file loads is not taken for loaded already.
LOADED = """
import sys
sys.path.append(sys.argv[1])
before = set(sys.modules)
import lend
loaded = {name: getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - before}
import json  # only now: it loads modules itself
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded():
    """Modules that `import lend` loads in a fresh interpreter, with their files."""
    folder = Path(lend.__file__).parent.parent
    if not (folder / "lend" / "py.typed").exists() or folder.name == "src":
        pytest.skip("lend is installed in editable mode, whose import hook loads modules of its own")
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_import_loads_nothing_heavy(loaded):
    assert set(loaded) & BANNED == set()


def test_import_loads_few_modules_of_lend(loaded):
    ours = sorted(name for name in loaded if name.partition(".")[0] == "lend")
    assert len(ours) <= MOST_MODULES, ours


def test_import_loads_few_extension_modules(loaded):
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    compiled = sorted(name for name, file in loaded.items() if file and file.endswith(suffixes))
    assert len(compiled) <= MOST_EXTENSION_MODULES, compiled
