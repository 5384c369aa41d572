"""“New channel” in the form of a subscription: there and back, with what was typed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel, AlertSubscription
from tests.cast import Cast, signed_in
from tests.factories.alerts import create_channel, subscribe
from tests.factories.budgets import create_budget
from tests.receivers import Receiver

NEW = "/a/acme/alerts/subscriptions/new/"


def follow_to_form(client: Client, url: str, kind: str) -> str:
    """The address of the form of a new channel of this kind, by the link of the page of kinds."""
    page = client.get(url).content.decode()
    link = re.search(rf'href="(\?kind={kind}[^"]*)"', page)
    assert link is not None
    return url.partition("?")[0] + link.group(1).replace("&amp;", "&")


@pytest.fixture
def client(cast: Cast) -> Client:
    with account_scope(cast.account):
        create_channel(cast.account)
    return signed_in(cast.member)


def test_a_new_channel_comes_back_chosen_with_what_was_typed(cast: Cast, client: Client) -> None:
    with account_scope(cast.account):
        budget = create_budget(cast.account, "R&D = 100%")
    typed = {"trigger": "budget", "budget": str(budget.pk), "thresholds": "55, 95", "measure": "forecast"}

    there = client.post(NEW, {**typed, "new_channel": "1", "channel": ""})
    url = follow_to_form(client, there.headers["Location"], "email")
    back = client.post(url, {"name": "Finance & Co", "addresses": "fin@example.com"})

    page = client.get(back.headers["Location"]).content.decode()
    with account_scope(cast.account):
        channel = AlertChannel.objects.get(name="Finance & Co")
    assert f'<option value="{channel.pk}" selected>' in page
    assert f'<option value="{budget.pk}" selected>' in page
    assert 'value="55, 95"' in page
    assert '<option value="forecast" selected>' in page
    assert "csrf" not in back.headers["Location"]


def test_a_webhook_shows_its_secret_first(client: Client, receiver: Receiver) -> None:
    there = client.post(NEW, {"trigger": "digest", "frequency": "monthly", "new_channel": "1"})
    url = follow_to_form(client, there.headers["Location"], "webhook")

    page = client.post(url, {"name": "Hook", "url": receiver.url}).content.decode()

    link = re.search(r'href="([^"]*subscriptions/new/[^"]*)"', page)
    assert link is not None
    assert (
        '<option value="monthly" selected>'
        in client.get(link.group(1).replace("&amp;", "&")).content.decode()
    )


def test_a_subscription_that_exists_gets_the_new_channel(cast: Cast, client: Client) -> None:
    with account_scope(cast.account):
        row = subscribe(cast.account, "digest")
    edit = f"/a/acme/alerts/subscriptions/{row.pk}/edit/"

    there = client.post(edit, {"frequency": "monthly", "channel": str(row.channel_id), "new_channel": "1"})
    url = follow_to_form(client, there.headers["Location"], "email")
    back = client.post(url, {"name": "Other", "addresses": "o@example.com"}).headers["Location"]

    assert back.startswith(edit)
    page = client.get(back).content.decode()
    assert '<option value="monthly" selected>' in page
    with account_scope(cast.account):
        assert AlertSubscription.objects.get().frequency == "weekly", "nothing is saved on the way"


def test_the_first_channel_leads_back_to_the_form(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = client.get(NEW, {"trigger": "digest"}).content.decode()
    link = re.search(r'href="([^"]*channels/new/[^"]*)"', page)
    assert link is not None
    url = follow_to_form(client, link.group(1).replace("&amp;", "&"), "email")

    back = client.post(url, {"name": "First", "addresses": "f@example.com"}).headers["Location"]

    assert back.startswith(NEW)
    assert "trigger=digest" in back


@pytest.mark.parametrize(
    "typed", ["", "id=999999", "id=x", "id=1&id=2", "channel=4", "next=https://evil.example", "%00=%ff"]
)
def test_any_text_leads_to_a_form_of_this_console(client: Client, typed: str) -> None:
    response = client.post(
        "/a/acme/alerts/channels/new/?kind=email&subscription="
        + typed.replace("&", "%26").replace("=", "%3D"),
        {"name": "Any", "addresses": "a@example.com"},
    )

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/a/acme/alerts/subscriptions/")
