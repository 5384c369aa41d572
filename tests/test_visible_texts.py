"""Every text that a person or an assistant reads stands once in tests/data/visible_texts.txt, so that wording is reviewed in one file.

`RECORD=1` writes it. docs/writing.md has the rules.
"""

from __future__ import annotations

import os
import re

import pytest

from tests.source_tree import ROOT
from tests.visible_texts import visible_texts

pytestmark = pytest.mark.xdist_group("visible texts")  # they are gathered once
TEXTS = ROOT / "tests" / "data" / "visible_texts.txt"
REFUSED = [
    r"\b(is|are|was|were|be) (told|foretold|made by us|said)\b",
    r"\b(told|foretold) (of|once|at once|again)\b",
    r"\bask again with\b",
    r"\bgo on with cursor\b",
    r"\bfigures of (this|these) chart",
    r"\bthe table below has\b",
    r"^Left (out|empty): (all|the|what|by|a)\b",
    r"\bfor ever\b",
    r"\bcould be saved\b",
    r"\blooked (at anew|for yet)\b",
    r"\bin 4 of 5 cases\b",
    r"\bstill to come\b",
    r"\bnobody is\b",
    r"\bcalls itself\b",
    r"\bno living\b",
    r"\bthe days before\b",
    r"\bexists already\b",
    r"\ball the same\b",
    r"\bgo(es)? with (it|them)\b",
    r"\bunder way\b",
    r"\b\w+ says: ",
    r"\be-mail",
]
"""What docs/writing.md has in its right column."""


@pytest.mark.slow
def test_the_file_of_visible_texts_is_that_of_the_sources() -> None:
    sections: dict[str, list[str]] = {}
    for text, path in visible_texts().items():
        sections.setdefault(path, []).append(text)
    texts_of_pages = "\n".join(f"## {path}\n" + "\n".join(texts) + "\n" for path, texts in sections.items())
    if os.environ.get("RECORD"):
        TEXTS.write_text(texts_of_pages)

    assert TEXTS.read_text() == texts_of_pages, (
        "RECORD=1 writes the new texts; read the diff by docs/writing.md"
    )


@pytest.mark.parametrize("phrase", REFUSED)
def test_no_text_has_what_the_rules_of_writing_refuse(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)

    assert [f"{path}: {text}" for text, path in visible_texts().items() if pattern.search(text)] == []
