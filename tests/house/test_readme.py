"""Every Python block of the README runs, in order, in one namespace.

A block with `>>>` is run as a doctest, so its output is checked too. A block is left out only by a comment with a
reason just above it: `<!-- not run: wants a printer -->`. Below `<!-- on a GPU -->` it runs in a process of its own,
over the double of the driver, whose calls are counted: it asks for no copy.
"""

import doctest
import importlib.metadata
import re

import pytest

from support import fakecuda
from support.source_tree import ROOT, requires

README = ROOT / "README.md"
BLOCK = re.compile(
    r"(?:<!--\s*(?P<label>[^>]*?)\s*-->[ \t]*\n\s*)?^```python[ \t]*\n(?P<code>.*?)^```",
    flags=re.DOTALL | re.MULTILINE,
)
OPTION_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


ON_A_GPU = "on a GPU"
CHILD = """
import doctest, sys, warnings
from support.fakecuda import fake
warnings.simplefilter("ignore")
import lend, numpy as np
example = doctest.DocTestParser().get_doctest(sys.argv[1], {"lend": lend, "np": np}, "README.md", "README.md", 0)
runner = doctest.DocTestRunner()
runner.run(example)
print(runner.tries > 0, runner.failures, fake.copies())
"""


def blocks():
    """(line, code, reason not to run it here or None) of each block."""
    text = README.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        words = re.match(rf"not run:\s*(.*)|({ON_A_GPU})$", match["label"] or "", re.DOTALL)
        yield text.count("\n", 0, match.start("code")) + 1, match["code"], words and (words[1] or words[2])


def test_every_block_left_out_gives_a_reason():
    assert [line for line, _, reason in blocks() if reason is not None and not reason.strip()] == []


def test_no_python_block_hides_behind_another_name():
    named = set(re.findall(r"^```(\w+)", README.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named & {"py", "python3", "pycon", "Python"} == set()


def test_blocks_for_a_gpu_run_over_the_double_and_copy_nothing():
    code = [code for _, code, reason in blocks() if reason == ON_A_GPU]
    for library in ("cuda-core", "numpy"):
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{library} is not installed")
    assert [fakecuda.run_clean(CHILD, args=[each], options=()) for each in code] == ["True 0 0\n"]


def test_readme_blocks_run(tmp_path, monkeypatch):
    to_run = [(line, code) for line, code, reason in blocks() if reason is None]
    for library in sorted(requires("".join(code for _, code in to_run))):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    for line, code in to_run:
        if ">>>" in code:
            example = doctest.DocTestParser().get_doctest(code, namespace, "README.md", "README.md", line)
            report = []
            runner = doctest.DocTestRunner(optionflags=OPTION_FLAGS)
            runner.run(example, out=report.append, clear_globs=False)
            namespace.update(example.globs)  # get_doctest works on a copy
            assert runner.failures == 0, "".join(report)
        else:
            exec(compile("\n" * line + code, str(README), "exec"), namespace)
