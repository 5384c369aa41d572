"""What the documents point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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
    paths = {path for path in re.findall(r"`([\w/]+(?:\.py|\.html|/))", table) if "/" in path.rstrip("/")}

    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []
