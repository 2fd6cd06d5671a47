"""Every block of the pages in docs/ runs, and prints what it says."""

import doctest
import re

import pytest

from support.source_tree import ROOT, requires

PAGES = sorted((ROOT / "docs").rglob("*.md"))
OPTION_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_and_prints_what_it_says(page):
    text = page.read_text(encoding="utf-8")
    for library in sorted(requires(text)):
        pytest.importorskip(library)
    report = []
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=OPTION_FLAGS)
    runner.run(example, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_of_a_page_stands_there_unrun(page):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [code for name, code in blocks if name != "python" or ">>>" not in code] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_points_at_is_there(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
