"""What the newest import of a month changed, to the last digit."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.costs.queries.bill_versions import BillVersionsQuery, compare_bill_versions
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost, store_lines
from tests.pages import text_of

MAY = date(2026, 5, 1)
URL = "/a/acme/connections/bill-versions/"


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


@pytest.fixture
def restated_source(acme: Account) -> CostSource:
    """May with a line that stays, one that is changed, one that goes and one that comes, in two currencies."""
    source = add_source(
        acme,
        [
            cost(MAY, 10, service="Compute"),
            cost(MAY, "5.000000000000000001", service="Storage"),
            cost(MAY, 3, service="Mail"),
            cost(MAY, 7, service="Rent", currency="EUR"),
        ],
    )
    store_lines(
        acme,
        source,
        [
            cost(MAY, 10, service="Compute"),
            cost(MAY, "6.000000000000000003", service="Storage"),
            cost(MAY, -1, service="Refund", charge_category="Credit"),
            cost(MAY, 7, service="Rent", currency="EUR"),
        ],
    )
    return source


def test_lines_added_gone_and_changed_add_up_to_the_difference(
    acme: Account, restated_source: CostSource
) -> None:
    answer = compare_bill_versions(acme, BillVersionsQuery(month="2026-05"))

    (total,) = [each for each in answer.totals if each.currency == "USD"]
    assert total.billed_before == Decimal("18.000000000000000001")
    assert total.billed_after == Decimal("15.000000000000000003")
    parts = {each.status: each.billed_change for each in answer.parts}
    assert parts == {"added": -1, "changed": Decimal("1.000000000000000002"), "gone": -3}
    assert sum(parts.values()) == total.billed_change == Decimal("-2.999999999999999998")
    assert {(line.service, line.status) for line in answer.lines} == {
        ("Storage", "changed"),
        ("Mail", "gone"),
        ("Refund", "added"),
    }
    assert "1 line added, 1 gone, 1 changed" in answer.summary


def test_without_a_month_it_is_the_newest_one_that_was_restated(
    acme: Account, restated_source: CostSource
) -> None:
    assert compare_bill_versions(acme, BillVersionsQuery()).month == "2026-05"


def test_a_source_that_was_imported_once_is_left_out_and_the_first_sentence_says_so(
    acme: Account, restated_source: CostSource
) -> None:
    add_source(acme, [cost(MAY, 100, service="Other")], name="Second")

    answer = compare_bill_versions(acme, BillVersionsQuery(month="2026-05"))

    assert "without 1 source" in answer.summary
    assert "Second" in answer.warnings[0]
    assert {each.billed_after for each in answer.totals} == {Decimal("15.000000000000000003"), 7}


def test_without_a_replaced_version_it_says_why(acme: Account) -> None:
    add_source(acme, [cost(MAY, 1)])

    answer = compare_bill_versions(acme, BillVersionsQuery(month="2026-05"))

    assert answer.lines == []
    assert "not imported again in the last 14 days" in answer.summary


def test_another_account_has_none_of_it(cast: Cast, restated_source: CostSource) -> None:
    with account_scope(cast.other_account):
        answer = compare_bill_versions(cast.other_account, BillVersionsQuery(month="2026-05"))

    assert (answer.totals, answer.lines) == ([], [])


def test_a_viewer_reads_the_lines_that_an_import_changed(cast: Cast, restated_source: CostSource) -> None:
    client = signed_in(cast.viewer)

    page = text_of(client.get(URL))

    for word in ("Storage", "Mail", "Refund", "Added", "Gone", "Changed", "1 line added, 1 gone, 1 changed"):
        assert word in page
    assert client.get(URL, {"month": "2026-05"}).status_code == 200


def test_the_csv_of_versions_has_every_changed_line(cast: Cast, restated_source: CostSource) -> None:
    answer = signed_in(cast.viewer).get(URL, {"month": "2026-05", "format": "csv"})

    rows = list(csv.DictReader(b"".join(answer).decode().splitlines()))
    changes = {row["service"]: Decimal(row["billed after"]) - Decimal(row["billed before"]) for row in rows}
    assert changes == {"Storage": Decimal("1.000000000000000002"), "Mail": -3, "Refund": -1}


def test_a_page_about_no_month_says_what_to_write(cast: Cast, restated_source: CostSource) -> None:
    answer = signed_in(cast.viewer).get(URL, {"month": "May"})

    assert answer.status_code == 422
    assert "2026-05" in answer.content.decode()


def test_without_a_replaced_version_the_page_says_so(cast: Cast) -> None:
    assert "No replaced version" in text_of(signed_in(cast.viewer).get(URL))
