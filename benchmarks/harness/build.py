"""Build the floor for the running interpreter when its sources are newer than what is there."""

import importlib.util
import pathlib
import subprocess
import sys
import sysconfig

from .case import FLOOR


def floor():
    """Build the floor modules, and the nanobind peer where nanobind is installed."""
    stale("peersfloor", ("*.c", "*.h", "build.sh"), "build.sh")
    if importlib.util.find_spec("nanobind"):
        stale("nanobind_peer", ("*.cpp", "build_nanobind.sh"), "build_nanobind.sh")


def stale(module, sources, script):
    """Run the script if the module is missing or older than a source of its own."""
    built = FLOOR / (module + sysconfig.get_config_var("EXT_SUFFIX"))
    newest = max(path.stat().st_mtime for pattern in sources for path in pathlib.Path(FLOOR).glob(pattern))
    if not built.exists() or built.stat().st_mtime < newest:
        print(f"building {module}", file=sys.stderr)
        subprocess.run(["bash", str(FLOOR / script), sys.executable], check=True)
