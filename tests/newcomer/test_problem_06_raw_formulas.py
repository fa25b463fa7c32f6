r"""Problem 6: the metrics page showed raw LaTeX (``\(h_{ij}\)``, ``\frac1n \sum_i``)."""

from __future__ import annotations

import re

import pytest

from tests.docs.site import DOCS, PAGES, page_name, rendered, without_code

RAW = re.compile(r"\\[(\[]|\\(frac|sum|dots|log|lvert|hat|le)\b|\$[^$\n]+\$")


def test_the_metrics_page_has_its_formulas_as_mathml():
    page = rendered(DOCS / "metrics.md")
    shown = without_code(page)
    assert len(re.findall(r"<math\b", shown)) >= 20
    assert "<mfrac>" in shown
    assert 'display="block"' in shown
    assert RAW.findall(shown) == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_page_shows_raw_latex(page):
    assert RAW.findall(without_code(rendered(page))) == []


def test_raw_latex_would_be_noticed():
    assert RAW.search(r"<span>\(h_{ij}\)</span>")
    assert RAW.search(r"$\frac1n$")
