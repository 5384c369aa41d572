"""Templates are made of components."""

from __future__ import annotations

import re
from collections import Counter

from tests.source_tree import ROOT, tracked_files

TEMPLATES = ROOT / "templates"
COMPONENTS = TEMPLATES / "components"


def test_only_mails_have_tables_outside_the_component() -> None:
    """They know neither our style sheet nor regions that scroll."""
    tables = [
        path.relative_to(TEMPLATES)
        for path in sorted(TEMPLATES.rglob("*.html"))
        if COMPONENTS not in path.parents and "<table" in path.read_text()
    ]

    assert tables
    assert [path for path in tables if "mail" not in str(path)] == []


def test_every_list_has_the_one_toolbar() -> None:
    forks = [
        str(path.relative_to(ROOT))
        for path in sorted(TEMPLATES.rglob("*.html"))
        if COMPONENTS not in path.parents and 'class="list-tools"' in path.read_text()
    ]

    assert forks == []


def test_every_confirmation_has_a_button_with_its_verb() -> None:
    """The dialog asks with `data-confirm`; its button says what happens, not Yes."""
    forms = [
        (path.relative_to(ROOT), tag)
        for path in sorted(TEMPLATES.rglob("*.html"))
        for tag in re.findall(r"<(?:form|button|a)\b[^>]*data-confirm=[^>]*>", path.read_text())
    ]

    assert forms
    assert [str(path) for path, tag in forms if "data-confirm-yes=" not in tag] == []


def test_no_button_says_yes_ok_or_submit() -> None:
    vague = re.compile(r"<button\b[^>]*>\s*(OK|Yes|No|Submit)\s*</button>", re.IGNORECASE)

    assert [str(path) for path in TEMPLATES.rglob("*.html") if vague.search(path.read_text())] == []


def test_every_select_of_a_period_says_that_days_are_utc() -> None:
    selects = [
        (path.relative_to(TEMPLATES), tag)
        for path in sorted(TEMPLATES.rglob("*.html"))
        for tag in re.findall(
            r'<select\b[^>]*\bname="period"[^>]*>|\{% include "_select.html" with name="period"[^%]*%\}',
            path.read_text(),
        )
    ]

    assert len(selects) >= 4
    assert [str(path) for path, tag in selects if "Days are UTC" not in tag] == []


def test_a_filter_is_registered_once_in_its_library() -> None:
    lines = [
        (str(path.relative_to(ROOT)), line)
        for path in tracked_files()
        if path.parent.name == "templatetags"
        for line in re.findall(r"^register\.filter\(.+\)$", path.read_text(), re.MULTILINE)
    ]

    assert lines
    assert [each for each, count in Counter(lines).items() if count > 1] == []
