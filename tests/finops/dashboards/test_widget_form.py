"""The form of a widget: its settings and filters, its preview."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from finops.dashboards.models import Widget
from finops.dashboards.widgets import CATALOGUE
from tests.factories.dashboards import REQUIRED_SETTINGS, create_board, widget
from tests.finops.dashboards.conftest import URL
from tests.pages import get_html

pytestmark = pytest.mark.django_db


def test_a_widget_is_added_configured_and_removed(payer: Account, member: Client) -> None:
    dashboard = create_board(payer, "Weekly")
    assert get_html(member, f"{URL}{dashboard.pk}/widgets/new/").count("?type=") == len(CATALOGUE)
    for name in CATALOGUE:
        get_html(member, f"{URL}{dashboard.pk}/widgets/new/?type={name}")

    form = {
        "title": "Costly",
        "period": "last_7_days",
        "group_by": "region",
        "limit": "3",
        "basis": "",
        "splits": "before",
    }
    filters = {"f0": "service", "f0op": "in", "f0v": ["EC2", ""], "f1": "region", "f1op": "in", "f1v": ""}
    added = member.post(f"{URL}{dashboard.pk}/widgets/new/?type=spend_by", {**form, **filters})
    assert added["Location"] == f"{URL}{dashboard.pk}/"
    row = dashboard.widgets.get()
    assert (row.title, row.config) == (
        "Costly",
        {
            "period": "last_7_days",
            "group_by": ["region"],
            "limit": 3,
            "filters": [{"dimension": "service", "op": "in", "values": ["EC2"]}],
        },
    )

    bad = member.post(f"{URL}widgets/{row.pk}/edit/", {**form, "group_by": "regoin"})
    assert (bad.status_code, "Nearest: region" in bad.content.decode()) == (422, True)
    member.post(f"{URL}widgets/{row.pk}/edit/", {**form, "title": ""})
    row.refresh_from_db()
    assert (row.title, "filters" in row.config) == ("", False)

    member.post(f"{URL}widgets/{row.pk}/remove/")
    assert not Widget.objects.exists()


def test_filters_of_a_widget_are_chips_whose_fields_its_form_has(payer: Account, member: Client) -> None:
    region = {"dimension": "region", "op": "in", "values": ["eu", "us"]}
    dashboard = create_board(payer, "Weekly", widget("spend_by", filters=[region]))
    url = f"{URL}widgets/{dashboard.widgets.get().pk}/edit/"

    page = get_html(member, url)
    other = get_html(member, f"{url}?draft=1&f0=service&f0op=in&f0v=EC2&f1=region&f1op=in")
    none = get_html(member, f"{url}?draft=1")

    assert 'title="Region is eu, us"' in page
    for value in ("eu", "us"):
        assert f'<input type="hidden" form="query" name="f0v" value="{value}">' in page
    assert 'href="?draft=1"' in page
    assert 'title="Service is EC2"' in other
    assert 'title="Region' not in other
    assert '<input type="hidden" form="query"' not in none


def test_htmx_replaces_the_filters_of_a_widget_and_asks_for_its_preview(
    payer: Account, member: Client
) -> None:
    url = f"{URL}{create_board(payer, 'Weekly').pk}/widgets/new/?type=total"

    part = member.get(f"{url}&draft=1&f0=region&f0op=in&f0v=eu", headers={"HX-Request": "true"})
    html = part.content.decode()

    assert 'title="Region is eu"' in html
    assert 'name="type" value="total"' in html
    assert "<html" not in html
    assert part["HX-Trigger-After-Swap"] == '{"filter-change": {}}'
    assert not Widget.objects.exists()


def test_a_widget_whose_form_is_refused_keeps_its_filters(payer: Account, member: Client) -> None:
    url = f"{URL}{create_board(payer, 'Weekly').pk}/widgets/new/?type=spend_by"

    answer = member.post(url, {"group_by": "regoin", "f0": "region", "f0op": "in", "f0v": "eu"})

    assert answer.status_code == 422
    assert 'title="Region is eu"' in answer.content.decode()


def test_a_preview_shows_the_settings_of_the_form_and_stores_nothing(payer: Account, member: Client) -> None:
    dashboard = create_board(payer, "Weekly")
    url = f"{URL}{dashboard.pk}/widgets/preview/?type=spend_by&group_by=region&limit=5"

    both = get_html(member, f"{url}&f0=region&f0op=in")
    filtered_page = get_html(member, f"{url}&f0=region&f0op=in&f0v=eu")

    assert ">us</a>" in both
    assert ">eu</a>" in filtered_page
    assert ">us</a>" not in filtered_page
    assert "Nearest: region" in get_html(
        member, f"{URL}{dashboard.pk}/widgets/preview/?type=spend_by&group_by=regoin"
    )
    assert not Widget.objects.exists()


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_type_of_widget_has_a_preview(payer: Account, member: Client, name: str) -> None:
    dashboard = create_board(payer, "Weekly")
    settings = "&".join(f"{key}={value}" for key, value in REQUIRED_SETTINGS.get(name, {}).items())

    page = get_html(member, f"{URL}{dashboard.pk}/widgets/preview/?type={name}&{settings}")

    assert "alert-danger" not in page


@pytest.mark.parametrize(
    ("name", "params", "config"),
    [
        (
            "table",
            {"group_by": ["service", "region"], "compare_to": "none"},
            {"group_by": ["service", "region"]},
        ),
        ("spend_over_time", {"group_by": "", "granularity": "week"}, {"group_by": [], "granularity": "week"}),
        (
            "usage",
            {"usage_metric": "requests", "group_by": "customer"},
            {"usage_metric": "requests", "group_by": ["customer"]},
        ),
        ("commitment_utilization", {"group_by": "type"}, {"group_by": ["type"]}),
        ("text", {"text": "Hello"}, {"text": "Hello"}),
        (
            "anomalies",
            {"minimum_impact": "12.5", "currency": "USD", "status": "all"},
            {"status": "all", "minimum_impact": "12.5", "currency": "USD"},
        ),
        ("budget_status", {"limit": "2"}, {"limit": 2}),
    ],
    ids=["table", "spend over time", "usage", "commitments", "text", "anomalies", "budgets"],
)
def test_the_settings_of_a_form_are_stored(
    payer: Account, member: Client, name: str, params: dict[str, Any], config: dict[str, Any]
) -> None:
    dashboard = create_board(payer, "Weekly")

    answer = member.post(f"{URL}{dashboard.pk}/widgets/new/?type={name}", params)

    assert answer.status_code == 302, answer.content.decode()
    row = dashboard.widgets.get()
    assert row.config == config
    assert "alert-danger" not in get_html(member, f"{URL}widgets/{row.pk}/edit/")
