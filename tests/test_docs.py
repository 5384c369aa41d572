"""What the documents point at is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from mcpserver.registry import registry
from tests.interface_rules import RULES

ROOT = Path(__file__).parent.parent
INTERFACE = ROOT / "docs" / "interface.md"
PAGES = ("/a/", "/auth/", "/accounts/", "/operators/")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_every_test_that_the_interface_names_exists() -> None:
    table = (ROOT / "docs" / "interface.md").read_text()
    written = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    names = set(re.findall(r"`(?:[\w/.]+: )?…?(test_\w+)(?:…|`)", table))

    missing = [
        name for name in names if f"def {name}" not in written and not list(ROOT.rglob(f"tests/**/{name}.py"))
    ]

    assert names
    assert missing == []


def test_every_file_that_the_interface_names_exists() -> None:
    table = (ROOT / "docs" / "interface.md").read_text()
    paths = {path for path in re.findall(r"`([\w/]+(?:\.py|\.html|/))", table) if "/" in path.strip("/")}

    assert [path for path in paths if not path.startswith("/") and not (ROOT / path).exists()] == []


def _rows() -> list[list[str]]:
    """The cells of every row of the tables, without headings."""
    lines = [line for line in INTERFACE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[0] != "document"]


def test_every_rule_of_the_interface_document_has_a_row() -> None:
    named = {rule for row in _rows() for rule in row[0].split()} - {"-"}

    assert sorted(set(RULES) - named) == []
    assert sorted(named - set(RULES)) == []


def test_every_row_of_the_interface_names_code_and_a_test() -> None:
    bare = [row for row in _rows() if len(row) != 4 or "`" not in row[2] or "test_" not in row[3]]

    assert bare == []


def test_every_tool_and_prompt_is_in_the_interface() -> None:
    text = INTERFACE.read_text()
    names = [*registry.names(), *(prompt.name for prompt in registry.prompts())]

    assert [name for name in names if f"`{name}`" not in text] == []


def _paths(patterns: Iterable[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    for each in patterns:
        path = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _paths(each.url_patterns, path)
        else:
            yield path


def test_every_path_outside_the_console_is_in_the_interface() -> None:
    """Pages below /a/ and those of signing in are for people: the walk of tests/isolation has them."""
    doors = [path for path in _paths(get_resolver().url_patterns) if not path.startswith(PAGES)]
    text = INTERFACE.read_text()

    assert doors
    assert [path for path in doors if f"`{path}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []
