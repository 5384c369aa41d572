"""`make texts` lists the visible texts that a change adds and removes."""

from __future__ import annotations

import pytest

from tests.visible_texts import difference, texts_of


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [
        ("templates/a/page.html", "<h1>Old <b>{{ name }}</b></h1>", "<h1>New <b>{{ name }}</b></h1>"),
        ("finops/a/views.py", 'f"Old {x.name} of it"', 'f"New {x.name} of it"'),
        ("finops/a/forms.py", 'Field(label="Old")', 'Field(label="New")'),
        ("static/js/a.js", "show(`Old ${name} of it`)", "show(`New ${name} of it`)"),
    ],
)
def test_a_changed_text_is_one_removed_and_one_added(name: str, before: str, now: str) -> None:
    removed, added = difference(set(texts_of(name, before)), set(texts_of(name, now)))

    assert removed.startswith("- Old")
    assert added.startswith("+ New")


@pytest.mark.parametrize("name", ["tests/a/page.py", "docs/page.md", "finops/a/migrations/0001.py"])
def test_other_files_have_no_visible_texts(name: str) -> None:
    assert list(texts_of(name, 'text = "A text that nobody reads"')) == []


def test_an_added_text_with_refused_words_is_marked() -> None:
    assert difference(set(), {"Money could be saved."}) == ["+ ! Money could be saved."]
