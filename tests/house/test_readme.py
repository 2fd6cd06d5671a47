"""Every Python block of the README runs, in order, in one namespace.

A block with `>>>` is run as a doctest, so its output is checked too. A block is left out only by a comment with a
reason just above it: `<!-- not run: needs a GPU -->`.
"""

import doctest
import re

import pytest

from support.source_tree import ROOT, requires

README = ROOT / "README.md"
BLOCK = re.compile(
    r"(?:<!--\s*(?P<label>[^>]*?)\s*-->[ \t]*\n\s*)?^```python[ \t]*\n(?P<code>.*?)^```",
    flags=re.DOTALL | re.MULTILINE,
)
OPTION_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks():
    """(line, code, reason not to run it or None) of each block."""
    text = README.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        words = re.match(r"not run:\s*(.*)", match["label"] or "", re.DOTALL)
        yield text.count("\n", 0, match.start("code")) + 1, match["code"], words and words[1]


def test_every_block_left_out_gives_a_reason():
    assert [line for line, _, reason in blocks() if reason is not None and not reason.strip()] == []


def test_no_python_block_hides_behind_another_name():
    named = set(re.findall(r"^```(\w+)", README.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named & {"py", "python3", "pycon", "Python"} == set()


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
