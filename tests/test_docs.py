"""The references of the documents exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from mcpserver.registry import registry
from tests.interface_rules import RULES
from tests.source_tree import tracked_files

ROOT = Path(__file__).parent.parent
INTERFACE = ROOT / "docs" / "interface.md"
MAP = ROOT / "docs" / "map.md"
PAGES = ("/a/", "/auth/", "/accounts/", "/admin/", "/operators/")
PATH = re.compile(r"`([\w.*<>/-]+(?:\.(?:py|md|html|toml|js)|/)|Makefile)`")
MODULE = re.compile(r"`([a-z_]+(?:/[a-z_]+)*/?(?:\.html)?)`")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
TEXTS = {".py", ".md", ".html", ".js", ".css", ".sql", ".toml", ".yaml", ".yml", ".txt", ".json"}


@pytest.mark.parametrize("document", ["interface.md", "native-formats.md"])
def test_every_test_that_a_table_names_exists(document: str) -> None:
    table = (ROOT / "docs" / document).read_text()
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    names = set(re.findall(r"`(?:[\w/.]+: )?…?(test_\w+)(?:…|`)", table))

    missing = [
        name for name in names if f"def {name}" not in sources and not list(ROOT.rglob(f"tests/**/{name}.py"))
    ]

    assert names
    assert missing == []


def test_every_file_that_the_interface_names_exists() -> None:
    table = (ROOT / "docs" / "interface.md").read_text()
    paths = {path for path in re.findall(r"`([\w/]+(?:\.py|\.html|/))", table) if "/" in path.strip("/")}

    assert [path for path in paths if not path.startswith("/") and not (ROOT / path).exists()] == []


def test_every_file_and_path_of_the_threat_model_exists() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text()
    files = re.findall(r"`((?:tests|finops|accounts)/[\w/.]+)`", text)
    paths = {
        path.split("/<")[0] for path in _paths(get_resolver().url_patterns) if not path.startswith(PAGES)
    }
    named = [name.rstrip("/") for name in re.findall(r"`(/[\w./-]+)`", text)]

    assert files
    assert [path for path in files if not (ROOT / path).exists()] == []
    assert [path for path in paths if "^" not in path and not path.startswith((*named, "/favicon"))] == ["/"]


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
    paths = [path for path in _paths(get_resolver().url_patterns) if not path.startswith(PAGES)]
    text = INTERFACE.read_text()

    assert paths
    assert [path for path in paths if f"`{path}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_decision_has_its_title_and_status_and_is_in_the_index() -> None:
    index = re.findall(
        r"^- \[(.+)\]\((.+)\): \S", (ROOT / "docs" / "adr" / "README.md").read_text(), re.MULTILINE
    )
    heads = [(path, path.read_text().split("\n", 3)) for path in DECISIONS]

    assert sorted(index) == [(head[0].removeprefix("# "), path.name) for path, head in heads]
    assert [path.name for path, head in heads if not head[0].startswith(f"# {path.name[:4]} ")] == []
    assert [
        path.name for path, head in heads if not re.fullmatch(r"Accepted, \d{4}-\d\d-\d\d", head[2])
    ] == []


def _decisions_named_in(text: str) -> Iterator[str]:
    """As `ADR 0001`, `ADRs 0001 and 0002` or a file, also where a line breaks between the words."""
    for numbers in re.findall(
        r"\bADRs?\s+(?:[#/*]+\s*)?(\d{4}(?:(?:,| and)\s+\d{4})*)\b|\badr/(\d{4})\b", text
    ):
        yield from re.findall(r"\d{4}", " ".join(numbers))


def test_every_decision_that_is_named_exists() -> None:
    numbers = {path.name[:4] for path in DECISIONS}
    named = {
        (str(path.relative_to(ROOT)), number)
        for path in tracked_files()
        if path.suffix in TEXTS
        for number in _decisions_named_in(path.read_text())
    }

    assert named
    assert sorted(each for each in named if each[1] not in numbers) == []


def _sections() -> dict[str, str]:
    """The text below each heading of the map; the table of places is below the title."""
    first, *sections = re.split(r"^## ", MAP.read_text(), flags=re.MULTILINE)
    return {"Places": first, **dict(each.split("\n", 1) for each in sections)}


def _is_there(path: str, folders: Iterable[Path]) -> bool:
    """`<noun>.py` is there where some file has such a name."""
    pattern = re.sub(r"<\w+>", "*", path)
    return any(next(folder.glob(pattern), None) is not None for folder in folders)


def _missing_of_a_row(line: str) -> Iterator[str]:
    """A path goes on from the folder of the one before it or one above, or from that of the row."""
    row, *_rest = [ROOT / path if path.endswith("/") else (ROOT / path).parent for path in PATH.findall(line)]
    before = ROOT
    for path in PATH.findall(line):
        above = [folder for folder in (before, *before.parents, row) if folder.is_relative_to(ROOT)]
        folder = next((folder for folder in above if _is_there(path, [folder])), None)
        if folder is None:
            yield path
        else:
            before = folder / path if path.endswith("/") else (folder / path).parent


def test_every_place_of_the_map_is_there() -> None:
    rows = [line for line in _sections()["Places"].splitlines() if line.startswith("| `")]

    assert rows
    assert [path for line in rows for path in _missing_of_a_row(line)] == []


def test_every_registry_of_the_map_is_in_its_module() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `([\w/]+\.py)`", _sections()["How apps reach each other"], re.MULTILINE
    )

    assert rows
    assert [
        row for row in rows if not re.search(rf"^{row[0]}\b.* = ", (ROOT / row[1]).read_text(), re.M)
    ] == []


def test_every_file_of_a_recipe_is_there() -> None:
    """A path without a folder is one that every app may have, such as `urls.py`; a template's is below templates."""
    paths = set(PATH.findall(_sections()["Recipes"]))
    packages = [folder for folder in (ROOT / "finops", *ROOT.glob("*/")) if (folder / "__init__.py").exists()]
    folders = [ROOT, ROOT / "templates", *packages, *(ROOT / "finops").glob("*/")]

    assert paths
    assert sorted(path for path in paths if not _is_there(path, folders)) == []


def _missing_of_a_walk(text: str) -> Iterator[str]:
    """A module's name goes on from the folder of the one before it, or from one above; tags and templates have their own."""
    before = ROOT
    own = [ROOT / "templates", *ROOT.glob("*/templatetags"), *ROOT.glob("finops/*/templatetags")]
    for name in MODULE.findall(text):
        above = [folder for folder in (before, *before.parents) if folder.is_relative_to(ROOT)]
        places = [folder / f"{name}{end}" for folder in [*above, *own] for end in ("", ".py")]
        place = next((each for each in places if each.exists()), None)
        if place is None:
            yield name
        elif place.suffix != ".html":
            before = place if name.endswith("/") else place.parent


def test_every_module_of_a_traced_request_exists() -> None:
    walks = _sections()["Walks"].split("\n**", 1)[1]

    assert list(_missing_of_a_walk(walks)) == []
