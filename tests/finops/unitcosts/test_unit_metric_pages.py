"""Saved unit metrics as people see them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.unitcosts.models import UnitMetric
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.pages import csv_rows, get_page, text_of

EXPLORE = "/a/acme/unit-economics/"
SAVED = f"{EXPLORE}saved/"


@pytest.fixture
def saas_account(cast: Cast) -> Account:
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(1, 61)]
    lines = [cost(day, 6 if number < 30 else 3, service="EC2") for number, day in enumerate(days)]
    events = [event(day, "acme-corp", 3, unit="request") for day in days]
    events += [event(day, "acme-corp", 60, metric="revenue", unit="USD") for day in days]
    with account_scope(cast.account):
        add_source(cast.account, lines)
        add_usage(cast.account, events)
    return cast.account


def save(client: Client, name: str, **question: Any) -> Any:
    return client.post(
        f"{SAVED}new/?{urlencode(question, doseq=True)}", {"name": name, "description": ""}, follow=True
    )


def test_a_member_saves_the_question_of_the_page_and_sees_its_card(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.member)
    params = {
        "usage_metric": "requests",
        "per": 1_000,
        "f0": "service",
        "f0v": "EC2",
        "period": "last_7_days",
    }
    page = client.get(f"{EXPLORE}?{urlencode(params)}").content.decode()
    assert re.search(r'href="/a/acme/unit-economics/saved/new/\?[^"]*per=1000[^"]*"', page)

    text = text_of(save(client, "Per thousand", **params))

    assert "Per thousand is saved." in text
    assert "$2,000.00 per 1,000 requests" in text
    assert "+100% vs $1,000.00" in text
    assert "service is EC2" in text


def test_a_card_of_revenue_shows_a_share(cast: Cast, saas_account: Account) -> None:
    save(signed_in(cast.member), "Share", usage_metric="revenue")

    assert "10% of revenue, cost in USD" in get_page(signed_in(cast.viewer), SAVED)
    page = get_page(signed_in(cast.viewer), EXPLORE, usage_metric="revenue", period="last_7_days")
    assert "Share of revenue" in page
    assert "10% of revenue" in page
    assert "0.1 USD" not in page
    assert "of revenue, cost in USD" in page


def test_a_name_in_the_address_opens_the_whole_question(cast: Cast, saas_account: Account) -> None:
    save(signed_in(cast.member), "Per thousand", usage_metric="requests", per=1_000, f0="service", f0v="EC2")

    page = (
        signed_in(cast.member).get(f"{EXPLORE}?unit_metric=per+thousand&period=last_7_days").content.decode()
    )

    assert '<option value="1000" selected' in page
    assert re.search(r'name="saved"\s+value="\d+"', page)
    assert "Update Per thousand" not in page
    changed = signed_in(cast.member).get(
        f"{EXPLORE}?usage_metric=requests&per=1&saved={UnitMetric.objects.unscoped().get().pk}"
    )
    assert "Update Per thousand" in changed.content.decode()


def test_a_metric_is_renamed_without_and_changed_with_a_question(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.member)
    save(client, "Old", usage_metric="requests", per=1_000)
    metric = UnitMetric.objects.unscoped().get()

    client.post(f"{SAVED}{metric.pk}/edit/", {"name": "New", "description": "x"})
    metric.refresh_from_db()
    assert (metric.name, metric.description, metric.per) == ("New", "x", 1_000)

    client.post(f"{SAVED}{metric.pk}/edit/?usage_metric=revenue", {"name": "New"})
    metric.refresh_from_db()
    assert (metric.usage_metric, metric.per) == ("revenue", 1)

    client.post(f"{SAVED}{metric.pk}/delete/")
    assert not UnitMetric.objects.unscoped().exists()


@pytest.mark.parametrize(
    ("query", "name", "status"),
    [
        ("usage_metric=requests", "", 422),
        ("usage_metric=request", "Fine", 422),
        ("usage_metric=requests&limit=many", "Fine", 400),
    ],
    ids=["no name", "misspelt metric", "no question"],
)
def test_what_cannot_be_saved_says_why(
    cast: Cast, saas_account: Account, query: str, name: str, status: int
) -> None:
    answer = signed_in(cast.member).post(f"{SAVED}new/?{query}", {"name": name})

    assert answer.status_code == status
    assert not UnitMetric.objects.unscoped().exists()


def test_a_viewer_sees_metrics_and_saves_none(cast: Cast, saas_account: Account) -> None:
    save(signed_in(cast.member), "Ours", usage_metric="requests")
    viewer = signed_in(cast.viewer)

    assert "Ours" in get_page(viewer, SAVED)
    assert "Save as metric" not in get_page(viewer, EXPLORE)
    assert viewer.get(f"{SAVED}new/").status_code == 403
    assert save(viewer, "Mine", usage_metric="requests").status_code == 403


def test_metrics_are_searched_and_exported_with_exact_figures(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.member)
    save(client, "Requests", usage_metric="requests", per=7)
    save(client, "Orders", usage_metric="orders")

    assert "Orders" not in get_page(client, SAVED, q="requests")
    answer = client.get(f"{SAVED}?format=csv&sort=-name")
    rows = csv_rows(answer)
    assert [(row["name"], row["unit cost"], row["currency"]) for row in rows] == [
        ("Requests", "14.000000", "USD"),
        ("Orders", "", "USD"),
    ]


def test_without_a_metric_the_page_says_what_to_do(cast: Cast, saas_account: Account) -> None:
    assert "No saved metrics yet" in get_page(signed_in(cast.viewer), SAVED)
