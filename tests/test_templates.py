"""Templates are made of components: what stands outside them may only become less (tests/ratchets.json)."""

from __future__ import annotations

from tests.test_architecture import ROOT
from tests.test_vocabulary import only_falls

TEMPLATES = ROOT / "templates"
COMPONENTS = TEMPLATES / "components"


def test_tables_outside_the_component_become_fewer() -> None:
    """Those left are of mails, which know neither our style sheet nor regions that scroll."""
    tables = [
        f"{path.relative_to(ROOT)}: {path.read_text().count('<table')}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        if COMPONENTS not in path.parents and "<table" in path.read_text()
    ]

    only_falls("tables_outside_the_component", sum(int(each.rpartition(" ")[2]) for each in tables), tables)


def test_every_list_has_the_one_toolbar() -> None:
    forks = [
        str(path.relative_to(ROOT))
        for path in sorted(TEMPLATES.rglob("*.html"))
        if COMPONENTS not in path.parents and 'class="list-tools"' in path.read_text()
    ]

    assert forks == []
