"""A declared list: its URL sorts, searches, filters, pages and exports."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from finops.lib.formats.locales import reader_formats
from finops.lib.listing import CSV_PLACES, Column, ListFilter, Listing, ListPage, csv_cell, csv_text


@dataclasses.dataclass(frozen=True)
class Server:
    name: str
    size: str = "small"
    cost: int = 0
    regions: tuple[str, ...] = ()


SIZES = {"small": 0, "large": 1}
SERVERS = ListPage[Server](
    name="servers",
    title="Servers",
    noun="server",
    order="name",
    page_rows=2,
    filters=[
        ListFilter(
            name="size",
            label="Size",
            every="All sizes",
            choices=[("small", "Small"), ("large", "Large")],
            value=lambda server: server.size,
            counted=True,
        ),
        ListFilter("region", "Region", "All regions", [("eu", "EU")], lambda server: server.regions),
    ],
    columns=[
        Column("name", "Name", lambda server: server.name),
        Column("size", "Size", lambda server: server.size, sort=lambda server: SIZES[server.size]),
        Column("cost", "Cost", lambda server: server.cost, numeric=True),
        Column("note", "Note", lambda _server: "", sortable=False, exported=False),
        Column("regions", "Regions", lambda server: list(server.regions), shown=False),
    ],
)
ROWS = [
    Server("beta", "large", 5, ("eu", "us")),
    Server("Alpha", "small", 7),
    Server("gamma", "small", 1, ("eu",)),
]


def server_listing(query: str = "") -> Listing[Server]:
    return SERVERS.listing(RequestFactory().get(f"/?{query}"), ROWS)


def names(query: str = "") -> list[str]:
    return [row.name for row in server_listing(query).matches]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Alpha", "beta", "gamma"]),
        ("sort=-name", ["gamma", "beta", "Alpha"]),
        ("sort=size", ["Alpha", "gamma", "beta"]),
        ("sort=unknown", ["beta", "Alpha", "gamma"]),
        ("q=LARGE+bet", ["beta"]),
        ("q=us", ["beta"]),
        ("size=small", ["Alpha", "gamma"]),
        ("size=small&region=eu", ["gamma"]),
        ("size=medium", []),
    ],
)
def test_the_url_sorts_searches_and_filters(query: str, expected: list[str]) -> None:
    assert names(query) == expected


def test_rows_come_by_the_page_and_the_csv_has_all() -> None:
    listing = server_listing("page=2")

    assert [row.name for row in listing.rows] == ["gamma"]
    assert list(listing.page_range) == [1, 2]
    lines = b"".join(SERVERS.csv(listing.matches)).decode().splitlines()
    assert lines == ["Name,Size,Cost,Regions", "Alpha,small,7,", 'beta,large,5,"eu, us"', "gamma,small,1,eu"]


def test_a_heading_sorts_the_other_way_and_goes_to_the_first_page() -> None:
    name, size, cost, note = server_listing("sort=name&page=2&q=a").headers

    assert (name.href, name.order) == ("?sort=-name&q=a", "ascending")
    assert (size.href, size.order) == ("?sort=size&q=a", "none")
    assert (cost.href, cost.numeric) == ("?sort=-cost&q=a", True)
    assert (note.href, note.order) == ("", "")


def test_a_filter_counts_its_choices_and_the_form_keeps_the_rest_of_the_url() -> None:
    listing = server_listing("size=large&state=open&sort=cost&q=x&page=2")

    size, region = listing.selects
    assert (size.every, size.choices, size.choice) == (
        "All sizes (3)",
        [("small", "Small (2)"), ("large", "Large (1)")],
        "large",
    )
    assert region.every == "All regions"
    assert listing.params == [("state", "open"), ("sort", "cost")]


def test_a_part_of_a_page_has_no_search_and_no_pages() -> None:
    listing = SERVERS.table(ROWS)

    assert (len(listing.rows), listing.page, listing.selects, listing.page_range) == (3, None, [], ())
    assert {header.href for header in listing.headers} == {""}


def test_times_and_dates_sort_with_those_that_are_missing_first() -> None:
    moments = [datetime(2026, 3, 1, tzinfo=UTC), None, datetime(2026, 1, 1, tzinfo=UTC)]
    page = ListPage[datetime | None](
        name="moments",
        title="Moments",
        noun="moment",
        order="at",
        columns=[Column("at", "At", lambda at: at)],
    )

    listing = page.listing(RequestFactory().get("/"), moments)

    assert [at and at.date() for at in listing.matches] == [None, date(2026, 1, 1), date(2026, 3, 1)]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_a_csv_has_numbers_exactly_up_to_18_decimals(value: Decimal) -> None:
    cell = csv_cell(value)

    assert len(cell.partition(".")[2]) <= CSV_PLACES
    assert "E" not in cell
    assert "," not in cell
    difference = abs(Decimal(cell) - value)
    assert difference <= Decimal("5e-19")
    assert not difference or value.as_tuple().exponent < -CSV_PLACES  # type: ignore[operator]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_csv_has_floats_without_an_exponent(value: float) -> None:
    cell = csv_cell(value)

    assert "e" not in cell.lower()
    assert abs(Decimal(cell) - Decimal(repr(value))) <= Decimal("5e-19")


SEPARATORS = ",;\t\r\n"


@given(st.text(alphabet=f"a =+-@＝＋－＠'\"{SEPARATORS}", max_size=12))  # noqa: RUF001
def test_no_cell_is_a_formula_whatever_the_separator_of_the_reader(text: str) -> None:
    row = csv_text(["a"], [["x", text]]).removeprefix("a\r\nx,")

    cells = re.split("[;\t\r\n]", row)
    assert not [cell for cell in cells if cell.strip().startswith(tuple("=@＝＠"))]  # noqa: RUF001
    assert not [cell for cell in cells if cell.startswith(tuple("+-＋－"))]  # noqa: RUF001
    assert csv_cell(text).replace("'", "") == text.replace("'", "")


def test_a_csv_is_iso_and_exact_for_every_reader() -> None:
    with reader_formats("en-DE", "Asia/Tokyo"):
        cells = [
            csv_cell(each)
            for each in (
                date(2026, 10, 23),
                datetime(2026, 10, 23, 15, 4, tzinfo=UTC),
                Decimal("-1234.5"),
                Decimal(1) / 3,
                None,
                1_000_000,
            )
        ]
    assert cells == [
        "2026-10-23",
        "2026-10-23T15:04:00+00:00",
        "-1234.5",
        "0.333333333333333333",
        "",
        "1000000",
    ]


BILLS = ListPage[tuple[str, int | None]](
    name="bills",
    title="Bills",
    noun="bill",
    order="-amount",
    columns=[Column("amount", "Amount", lambda row: row[1], numeric=True, currency=lambda row: row[0])],
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["USD 5", "USD 1", "USD None", "EUR 9", "JPY 700"]),
        ("sort=amount", ["USD None", "USD 1", "USD 5", "EUR 9", "JPY 700"]),
    ],
)
def test_amounts_of_one_currency_are_never_sorted_among_those_of_another(
    query: str, expected: list[str]
) -> None:
    rows = [("JPY", 700), ("USD", 1), ("EUR", 9), ("USD", None), ("USD", 5)]
    listing = BILLS.listing(RequestFactory().get(f"/?{query}"), rows)
    assert [f"{currency} {amount}" for currency, amount in listing.matches] == expected
