"""Shared costs as people see them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import SharedCostSplit
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.pages import csv_rows, get_page, text_of

PAGE = "/a/acme/shared-costs/"
FORM = {
    "name": "Cluster",
    "dimension": "tag:app",
    "source_value": "cluster",
    "method": "fixed",
    "target": ["web", "api", ""],
    "percent": ["70", "30", ""],
}


@pytest.fixture
def payer(cast: Cast) -> Account:
    """Three months of cost by day of an app tag, and requests."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(1, 92)]
    lines = [
        cost(day, amount, tags={"app": app})
        for day in days
        for app, amount in (("cluster", 10), ("web", 3), ("api", 1))
    ]
    events = [event(day, "web", 1) for day in days]
    with account_scope(cast.account):
        add_source(cast.account, lines)
        add_usage(cast.account, events)
    return cast.account


def create_split_row(account: Account, **changes: Any) -> SharedCostSplit:
    with account_scope(account):
        return SharedCostSplit.objects.create(
            **{
                "account": account,
                "name": "Cluster",
                "dimension": "tag:app",
                "source_value": "cluster",
                "method": "even",
                "targets": [{"value": "web", "percent": None}, {"value": "api", "percent": None}],
                **changes,
            }
        )


def test_an_account_without_splits_sees_what_they_are_for(member: Client, cast: Cast) -> None:
    assert "No splits yet" in get_page(member, PAGE)
    assert "/shared-costs/new/" in member.get(PAGE).content.decode()
    assert "/shared-costs/new/" not in signed_in(cast.viewer).get(PAGE).content.decode()


def test_a_split_is_made_and_listed_with_what_it_moved(member: Client, payer: Account) -> None:
    answer = member.post(f"{PAGE}new/", FORM, follow=True)

    assert "Cluster saved" in text_of(answer)
    with account_scope(payer):
        split = SharedCostSplit.objects.get()
    assert split.targets == [{"value": "web", "percent": "70"}, {"value": "api", "percent": "30"}]
    text = get_page(member, PAGE)
    assert "Fixed web 70%, api 30% Always" in text
    assert re.search(r"\$(280|290|300|310)\.00", text)


def test_the_list_sorts_searches_and_exports(member: Client, payer: Account) -> None:
    create_split_row(payer)
    create_split_row(payer, name="Another", source_value="db", targets=[{"value": "web", "percent": None}])

    rows = csv_rows(member.get(f"{PAGE}?format=csv&sort=-name"))

    assert [row["Split"] for row in rows] == ["Cluster", "Another"]
    assert (rows[0]["Shared cost"], rows[0]["Among"], rows[0]["Currency"]) == ("cluster", "web, api", "USD")
    assert float(rows[0]["Moved last month"]) >= 280
    assert [row["Split"] for row in csv_rows(member.get(f"{PAGE}?format=csv&q=db"))] == ["Another"]


def test_a_refused_form_keeps_its_input(member: Client, payer: Account) -> None:
    answer = member.post(f"{PAGE}new/", {**FORM, "percent": ["70", "29", ""]})

    assert "add up to 99, 1 short of 100" in text_of(answer, status=422)
    assert 'value="29"' in answer.content.decode()


def test_the_form_asks_for_what_the_method_needs(member: Client, payer: Account) -> None:
    def part(**params: Any) -> str:
        answer = member.get(
            f"{PAGE}new/?{urlencode({**FORM, **params}, doseq=True)}", headers={"HX-Request": "true"}
        )
        assert "<html" not in answer.content.decode()
        return answer.content.decode()

    assert 'name="percent"' in part()
    assert 'name="percent"' not in part(method="even")
    assert 'name="usage_metric"' in part(method="usage")
    assert 'name="target"' not in part(method="usage", every_customer="on")
    assert part(method="even").count('name="target"') == 3
    assert part(method="even", more="1").count('name="target"') == 6


def test_the_preview_says_what_would_move_and_what_would_be_refused(member: Client, payer: Account) -> None:
    def preview(**params: Any) -> str:
        return get_page(member, f"{PAGE}preview/?{urlencode({**FORM, **params}, doseq=True)}")

    assert "moved, billed" in preview()
    assert "is the source and cannot be a target." in preview(target=["cluster", "web"])
    assert "Choose a dimension." in preview(dimension="")
    with account_scope(payer):
        assert not SharedCostSplit.objects.exists()


def test_the_preview_of_a_change_does_not_meet_itself(member: Client, payer: Account) -> None:
    split = create_split_row(payer)

    answer = member.get(f"{PAGE}preview/?{urlencode({**FORM, 'split': split.pk}, doseq=True)}")

    assert "moved, billed" in text_of(answer)
    with account_scope(payer):
        assert SharedCostSplit.objects.get().method == "even"


def test_before_and_after_are_side_by_side(member: Client, payer: Account) -> None:
    split = create_split_row(payer)

    answer = member.get(f"{PAGE}{split.pk}/?period=last_30_days")
    rows = csv_rows(member.get(f"{PAGE}{split.pk}/?period=last_30_days&format=csv"))

    assert "$300.00 moved, billed" in text_of(answer)
    assert [(row["value"], row["before"], row["moved"], row["after"]) for row in rows] == [
        ("cluster", *three(300, -300, 0)),
        ("api", *three(30, 150, 180)),
        ("web", *three(90, 150, 240)),
    ]


def three(*amounts: int) -> tuple[str, ...]:
    return tuple(f"{amount}.000000000000000000" for amount in amounts)


def test_a_period_that_is_not_known_is_said(member: Client, payer: Account) -> None:
    split = create_split_row(payer)

    answer = member.get(f"{PAGE}{split.pk}/?period=someday", headers={"HX-Request": "true"})

    assert answer.status_code == 400
    assert "&#x27;someday&#x27; does not exist" in answer.content.decode()


def test_a_split_is_changed_and_deleted(member: Client, payer: Account) -> None:
    split = create_split_row(payer)

    changed = member.post(
        f"{PAGE}{split.pk}/edit/",
        {**FORM, "method": "usage", "usage_metric": "requests", "every_customer": "on", "target": []},
        follow=True,
    )
    assert "among all customers with usage that day" in text_of(changed)

    assert "Cluster deleted" in text_of(member.post(f"{PAGE}{split.pk}/delete/", follow=True))
    with account_scope(payer):
        assert not SharedCostSplit.objects.exists()


@pytest.mark.parametrize("path", ["new/", "preview/", "{}/edit/", "{}/delete/"])
def test_a_viewer_changes_nothing(cast: Cast, payer: Account, path: str) -> None:
    split = create_split_row(payer)
    viewer, url = signed_in(cast.viewer), PAGE + path.format(split.pk)

    answer = viewer.get(url) if path == "preview/" else viewer.post(url, FORM)

    assert answer.status_code == 403
    with account_scope(payer):
        assert SharedCostSplit.objects.get().method == "even"


def test_the_explorer_shows_figures_after_splits(member: Client, payer: Account) -> None:
    create_split_row(payer)

    answer = member.get(
        "/a/acme/cost-explorer/?period=last_30_days&group_by=tag:app&granularity=day&splits=after"
    )

    text = text_of(answer)
    assert "Split 'Cluster' moved $300.00 of cluster (tag:app) to its targets." in text
    assert "$240.00" in text
    assert '<option value="after" selected>' in answer.content.decode()
