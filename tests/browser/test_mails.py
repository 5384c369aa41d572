"""Emails in chromium, as a mail program with a dark theme and one with a light theme show them, on a desk and a phone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.mail import EmailMultiAlternatives
from playwright.sync_api import Browser

from finops.alerts.messages import Fact, Message
from finops.alerts.senders.email import mail
from finops.alerts.senders.outcome import Envelope
from finops.lib.drawings.chart import ColumnChart, DrawnSeries
from finops.lib.mail import attach_text_as_html
from tests.browser.test_connections_accessibility import violations

pytestmark = pytest.mark.browser

INVITATION = """Ann invited you to the account “Acme”.

Accept or decline:
https://finops.example.com/invitations/abc/

ABCD-1234

- Address: 127.0.0.1

--{" "}
FinOps Console at finops.example.com
"""
REPORT = Message(
    title="Monthly report: October 2026",
    summary="Spend was $196,112.20, 4% more than in September.\nForecast: $201,000.00.",
    facts=(
        Fact("Largest increase", "Amazon Elastic Compute Cloud, +$8,020.11"),
        Fact("Budgets at risk", "2 of 9"),
    ),
    url="https://finops.example.com/a/acme/reports/",
    severity="warning",
    kind="report",
    dedup_key="report",
    chart=ColumnChart(
        title="Spend by month in USD",
        currency="USD",
        labels=["2026-09-01", "2026-10-01"],
        series=[
            DrawnSeries(name="Compute", values=[1.0, 2.0]),
            DrawnSeries(name="Unusual", values=[1.0, None], tone="unusual"),
        ],
    ),
)


def html_of(message: EmailMultiAlternatives) -> str:
    (html,) = [str(content) for content, mimetype in message.alternatives if mimetype == "text/html"]
    return html


def invitation() -> str:
    message = EmailMultiAlternatives("You are invited", INVITATION, "from@example.com", ["to@example.com"])
    attach_text_as_html(message)
    return html_of(message)


def report() -> str:
    envelope = Envelope(
        delivery_id=1,
        account_slug="acme",
        account_name="Acme",
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
        message=REPORT,
        unsubscribe_urls={"a@example.com": "https://finops.example.com/u/1/"},
    )
    return html_of(mail("a@example.com", envelope))


@pytest.mark.parametrize("write", [invitation, report])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_a_mail_can_be_read_in_both_themes_and_is_no_wider_than_the_screen(
    browser: Browser, settings: Any, write: Any, theme: Any, width: int
) -> None:
    settings.PUBLIC_URL = "https://finops.example.com"
    context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
    try:
        page = context.new_page()
        page.set_content(write())

        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ground = page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (theme == "light")
    finally:
        context.close()
