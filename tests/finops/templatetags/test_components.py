"""Components of templates: what they draw, and what a screen reader gets of it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.test import RequestFactory

from finops.lib.listing import Column, ListPage
from finops.templatetags.components import cell_html, change, direction, status_badge

KEYS = ListPage[Any](
    name="keys",
    title="Keys",
    noun="key",
    order="name",
    page_rows=2,
    actions="Revoke",
    muted=lambda row: row.name == "old",
    columns=[
        Column("name", "Name", lambda row: row.name),
        Column("uses", "Uses so far", lambda row: row.uses, numeric=True, phone="Uses"),
        Column("note", "Note", lambda _row: None, sortable=False),
    ],
)
PAGE = """{% list_table listing as key %}
  {% cell name %}<b>{{ key.name }}</b>{% endcell %}
  {% cell actions if may_write %}<button>{{ key.name }}</button>{% endcell %}
  {% footer %}A note{% endfooter %}
  {% empty %}Nothing yet{% endlist_table %}"""


def row(name: str, uses: int = 1) -> SimpleNamespace:
    return SimpleNamespace(name=name, uses=uses)


def render(*rows: SimpleNamespace, query: str = "", template: str = PAGE, **context: Any) -> str:
    request = RequestFactory().get(f"/keys/?{query}")
    context |= {"request": request, "listing": KEYS.listing(request, rows), "account": {"name": "<Acme>"}}
    return " ".join(Template(template).render(Context(context)).split())


def test_a_list_is_drawn_from_its_columns_and_the_cells_of_the_page() -> None:
    html = render(row("new", 1234), row("old"), may_write=True)

    assert '<caption class="visually-hidden">Keys of &lt;Acme&gt;</caption>' in html
    assert 'aria-sort="ascending"><a class="sort" href="?sort=-name">Name' in html
    assert '<th scope="row" role="rowheader" class="cell-name"><b>new</b></th>' in html
    assert '<td role="cell" class="num" data-label="Uses">1,234</td>' in html
    assert '<td role="cell" data-label="Note">—</td>' in html
    assert '<span class="visually-hidden">Revoke</span>' in html
    assert "<button>new</button>" in html
    assert html.count('<tr role="row" class="text-secondary">') == 1
    assert "A note" in html
    assert "Nothing yet" not in html


def test_buttons_are_for_those_who_may() -> None:
    html = render(row("new"), may_write=False)

    assert "Revoke" not in html
    assert "<button>" not in html


def test_a_list_pages_and_its_links_keep_the_search() -> None:
    html = render(row("a1"), row("a2"), row("a3"), query="q=a")

    assert "<b>a3</b>" not in html
    assert 'href="?q=a&amp;page=2"' in html
    assert 'hx-select-oob="#keys-csv"' in html


def test_no_row_at_all_and_none_that_matches_are_two_things() -> None:
    assert "Nothing yet" in render()
    html = render(row("new"), query="q=%3Cb%3E", may_write=True)
    assert '<td role="cell" colspan="4" class="text-secondary text-center py-4">' in html
    assert "No keys match “&lt;b&gt;”." in html


@pytest.mark.parametrize(
    "template",
    [
        "{% list_table listing %}{% endlist_table %}",
        "{% list_table listing as key %}words{% endlist_table %}",
        "{% list_table listing as key %}{{ key }}{% endlist_table %}",
        "{% list_table listing as key %}{% cell name %}{% endlist_table %}",
    ],
)
def test_a_list_that_is_written_wrong_is_refused(template: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        render(row("new"), template=template)


def test_a_list_within_a_page_is_a_table_alone_that_the_page_sorts() -> None:
    html = Template("{% list_table listing as key %}{% endlist_table %}").render(
        Context({"listing": KEYS.table([row("new", 3)]), "account": {"name": "Acme"}})
    )

    assert "data-sortable" in html
    assert "list-tools" not in html
    assert 'data-label="Uses" data-value="3">3</td>' in html


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (None, "", "—"),
        ("", "", "—"),
        (0, "", "0"),
        (Decimal("1234.50"), "", "1,234.5"),
        (Decimal("0.5"), "percent", "50%"),
        (date(2026, 11, 20), "", "Nov 20"),
        (["a", "<b>"], "", "a, &lt;b&gt;"),
        ("<script>", "", "&lt;script&gt;"),
        (None, "ago", '<span class="text-secondary">Never</span>'),
    ],
)
def test_a_value_is_drawn_by_its_type(value: Any, kind: str, expected: str) -> None:
    assert cell_html(value, kind) == expected


def test_a_time_is_read_by_people_and_exact_for_machines() -> None:
    html = cell_html(datetime(2026, 11, 20, 9, tzinfo=UTC))

    assert 'datetime="2026-11-20T09:00:00+00:00"' in html
    assert ">Nov 20, 9:00 AM</time>" in html


def test_a_hand_written_table_scrolls_in_a_region_with_a_name() -> None:
    body = "<caption>C</caption>"

    named = Template(
        '{% data_table "Sizes of "|add:what id="x" sortable=True %}' + body + "{% enddata_table %}"
    )
    html = named.render(Context({"what": "<b>"}))
    assert 'id="x" tabindex="0" role="region" aria-label="Sizes of &lt;b&gt;"' in html
    assert "<table" in html
    assert f"data-sortable>{body}</table>" in html
    bare = Template("{% data_table %}" + body + "{% enddata_table %}").render(Context())
    assert "region" not in bare


def test_an_empty_state_and_a_card_hold_a_body() -> None:
    empty = Template('{% empty_state "key" title href "New" %}<i>{{ title }}</i>{% endempty_state %}')
    html = empty.render(Context({"title": "<None>", "href": "/new"}))
    assert '<p class="empty-title">&lt;None&gt;</p>' in html
    assert "<i>&lt;None&gt;</i>" in html
    assert '<a class="btn btn-primary" href="/new">New</a>' in html

    card = Template('{% card title "x" %}body{% endcard %}').render(Context({"title": "<T>"}))
    assert 'aria-labelledby="x-title"' in card
    assert 'id="x-title">&lt;T&gt;</h2>' in card


def test_a_status_is_a_word_and_a_colour() -> None:
    assert "bg-red-lt" in status_badge("exceeded", "budget")
    assert status_badge("no_data", "connection") == '<span class="badge bg-secondary-lt">No data</span>'


@pytest.mark.parametrize(
    ("change", "ratio", "expected"),
    [
        ("5", "0.5", "change change-up"),
        ("-5", "-0.5", "change change-down"),
        ("5", None, '<span class="change change-up">new</span>'),
        ("0", "0", '<span class="change">0%</span>'),
        ("5", "0.0002", '<span class="change">0%</span>'),
    ],
)
def test_a_change_has_its_direction_for_the_eye_and_for_a_screen_reader(
    change: str, ratio: str | None, expected: str
) -> None:
    row = SimpleNamespace(change=Decimal(change), ratio=ratio and Decimal(ratio))

    assert expected in direction(row)


def test_a_change_of_money_says_by_what_ratio_by_how_much_and_from_what() -> None:
    row = SimpleNamespace(
        change=Decimal(5), ratio=Decimal("0.5"), previous_amount=Decimal(10), currency="EUR", reason=""
    )

    assert change(row) == (
        '<span class="change change-up" title="€10.00 before">+50% '
        '<span class="change-amount">+€5.00</span></span>'
    )
    row.ratio = None
    assert ">new <span" in change(row)
    row.change, row.reason = None, "No day is complete"
    assert change(row) == '<span class="text-secondary" title="No day is complete">—</span>'
    assert change(None) == '<span class="text-secondary">—</span>'
