"""Everything that `make bench` measures, one after the other.

    python benchmarks/run.py [--quick] [arrays] [imports] [memory] [devices] [counts]

Without names: all but counts. `counts` compares instruction counts under valgrind with counts.json.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
WHAT = {
    "arrays": ("arrays.py", [], ["--processes", "1", "--rounds", "11"]),
    "imports": ("imports.py", [], ["--rounds", "11"]),
    "memory": ("memory.py", [], ["--count", "10000"]),
    "devices": ("devices.py", [], ["--rounds", "11", "--bytes", "1048576"]),
    "counts": ("callgrind.py", [], ["--check"]),
}


def main():
    """Run the named scripts; the exit status is the worst of theirs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], *WHAT], help="default: all")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that everything runs")
    options = parser.parse_args()
    worst = 0
    for name in options.what or [name for name in WHAT if name != "counts"]:
        script, usual, quick = WHAT[name]
        print(f"== {name}", file=sys.stderr, flush=True)
        command = [sys.executable, str(HERE / script), *(quick if options.quick else usual)]
        worst = max(worst, subprocess.run(command, check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
