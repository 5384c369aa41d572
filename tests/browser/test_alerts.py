"""Alerts as a person uses them: a channel, its test, a budget alert, and its deliveries."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from standardwebhooks import Webhook

from tests.browser.conftest import NewPage
from tests.browser.test_budgets import make
from tests.browser.test_pages import FAULTS, overflow
from tests.receivers import Receiver, http_receiver
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

URL = "/a/acme/alerts/"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as served:
        yield served


def make_webhook(page: Page, name: str, url: str) -> str:
    """By the pages; its signing secret. Ends on the channel's page."""
    page.goto(URL)
    page.get_by_role("link", name="Channels").click()
    page.get_by_role("link", name="New channel").first.click()
    page.get_by_role("link", name="Signed webhook").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Endpoint URL").fill(url)
    page.get_by_role("button", name="Create channel").click()
    secret = page.get_by_label("Signing secret", exact=True).text_content() or ""
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    return secret


def confirm(page: Page, button: str, answer: str = "") -> None:
    page.get_by_role("button", name=button, exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=answer or button, exact=True).click()


def delete(page: Page, name: str) -> None:
    page.goto(f"{URL}channels/")
    page.get_by_role("link", name=name, exact=True).click()
    confirm(page, "Delete")
    expect(page.get_by_text("” and its subscriptions deleted.")).to_be_visible()


def test_a_budget_alerts_an_endpoint_and_the_delivery_is_shown(
    console: LiveServer, new_page: NewPage, receiver: Receiver
) -> None:
    page = new_page("member")
    secret = make_webhook(page, "Our endpoint", receiver.url)

    test = page.locator("#channel-test")
    page.get_by_role("button", name="Send test").focus()
    page.keyboard.press("Enter")
    expect(test).to_contain_text("Test delivered")
    expect(test).to_contain_text("200")
    expect(page.locator("#announcer")).to_contain_text("Test delivered after")
    expect(page.get_by_role("button", name="Send test")).to_be_focused()
    receiver.answer(503, "Busy at the moment")
    page.get_by_role("button", name="Send test").click()
    expect(test).to_contain_text("Test failed")
    expect(test).to_contain_text("Busy at the moment")
    receiver.answer(200, "Thank you")

    make(page, "Told of", "1")
    page.get_by_role("region", name="Alerts").get_by_role("link", name="Alert me").click()
    page.get_by_label("Send to").select_option(label="Our endpoint")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_text("Subscription created.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Budget Told of at 80% and 100% of the actual cost"
    )
    assert console.run("tests.browser.alert_steps:work") >= 1

    page.goto(f"{URL}deliveries/")
    page.get_by_label("Channel").select_option(label="Our endpoint")
    page.wait_for_url("**channel=**")
    row = page.get_by_role("row", name="budget 'Told of'")
    expect(row).to_contain_text("Delivered")
    row.get_by_role("link").click()
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("Thank you")
    request = receiver.requests[-1]
    signed = Webhook(secret).verify(request.body, request.headers)
    assert "Told of" in json.dumps(signed)

    confirm(page, "Resend")
    expect(page.get_by_text("Resent. This is the new delivery.")).to_be_visible()
    delete(page, "Our endpoint")
    page.goto("/a/acme/budgets/")
    page.get_by_role("link", name="Told of", exact=True).click()
    expect(page.get_by_text("No alerts for this budget.")).to_be_visible()
    confirm(page, "Delete")


def test_the_form_follows_its_trigger_and_pausing_can_be_taken_back(
    new_page: NewPage, receiver: Receiver
) -> None:
    page = new_page("member", width=390, theme="dark")
    make_webhook(page, "Narrow endpoint", receiver.url)
    page.get_by_role("link", name="Subscribe").click()
    expect(page.get_by_label("Send to")).not_to_have_value("")

    page.get_by_label("When").select_option("anomaly")
    page.get_by_label("Anomalies of").select_option("team")
    page.get_by_label("Team", exact=True).select_option(label="Core")
    page.get_by_label("Minimum impact").fill("25")
    page.get_by_label("Currency").fill("USD")
    assert page.evaluate(FAULTS) == []
    assert overflow(page) == 0
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Anomalies of team Core from $25.00 on")

    page.get_by_role("button", name="Pause").click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Active")).to_be_visible()
    confirm(page, "Pause")
    expect(page.get_by_text("Subscription paused.")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Subscription resumed.")).to_be_visible()
    delete(page, "Narrow endpoint")


def test_a_new_secret_is_shown_once_and_named_for_screen_readers(
    new_page: NewPage, receiver: Receiver
) -> None:
    page = new_page("admin")
    first = make_webhook(page, "Renewed endpoint", receiver.url)

    confirm(page, "New signing secret", "New secret")

    expect(page.get_by_label("Signing secret", exact=True)).not_to_have_text(first)
    expect(page.get_by_label("Signing secret", exact=True)).to_contain_text("whsec_")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("whsec_")).to_have_count(2)  # the places for it in the snippets, folded away
    delete(page, "Renewed endpoint")
