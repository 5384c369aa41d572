"""Emails as mail programs get them: text, HTML beside it, images within."""

from __future__ import annotations

import email
import email.policy
import io
import re
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from django.core.mail import EmailMultiAlternatives
from PIL import Image

from finops.lib.drawings.chart import ColumnChart, DrawnSeries
from finops.lib.mail import attach_html, attach_text_as_html, chart_image
from finops.lib.mail.text_parts import TextPart, text_parts

SITE = "https://finops.example.com"
URL = f"{SITE}/invitations/abc/"
TEXT = f"""“Ann <b>” invited you to the account “Acme”.

Accept or decline:
{URL}

The link is valid until Friday.

- Address: 127.0.0.1
- Client: Firefox

--{" "}
FinOps Console at finops.example.com
"""


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.PUBLIC_URL = SITE


def receive(mail: EmailMultiAlternatives) -> EmailMessage:
    message = email.message_from_bytes(mail.message().as_bytes(), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def html_of(message: EmailMessage) -> str:
    body = message.get_body(("html",))
    assert body is not None
    text: str = body.get_content()
    return text


def text_mail(text: str = TEXT) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives("You are invited", text, "from@example.com", ["to@example.com"])
    attach_text_as_html(mail)
    return mail


def test_a_text_becomes_paragraphs_a_button_and_a_table() -> None:
    assert list(text_parts(TEXT, SITE)) == [
        TextPart(text="“Ann <b>” invited you to the account “Acme”."),
        TextPart(url=URL, label="Accept or decline"),
        TextPart(text="The link is valid until Friday."),
        TextPart(facts=(("Address", "127.0.0.1"), ("Client", "Firefox"))),
        TextPart(text="FinOps Console at finops.example.com", is_foot=True),
    ]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (f"To confirm this is correct, go to {URL}", TextPart("To confirm this is correct", URL, "Open")),
        (URL, TextPart(url=URL, label="Open")),
        ("ABCD-1234", TextPart(text="ABCD-1234", is_code=True)),
        ("Two\nlines.", TextPart(text="Two lines.")),
    ],
)
def test_a_block_of_allauth_is_read_too(block: str, part: TextPart) -> None:
    assert list(text_parts(block, SITE)) == [part]


@pytest.mark.parametrize(
    "address",
    ["https://elsewhere.example/a/", f"{SITE}.elsewhere.example/a/", "http://finops.example.com/a/"],
)
def test_an_address_outside_of_the_site_is_no_button_and_no_link(address: str) -> None:
    """An account may be called so by whoever created it."""
    text = f"Ann invited you to {address}"

    assert list(text_parts(text, SITE)) == [TextPart(text=text)]
    assert f'href="{address}' not in html_of(receive(text_mail(text)))


def test_the_mail_has_plain_text_html_and_the_logo_within() -> None:
    message = receive(text_mail())

    assert message.get_content_type() == "multipart/related"
    assert [part.get_content_type() for part in message.walk()] == [
        *("multipart/related", "multipart/alternative", "text/plain", "text/html", "image/png"),
    ]
    plain = message.get_body(("plain",))
    assert plain is not None
    assert plain.get_content().rstrip() == TEXT.rstrip()
    html = html_of(message)
    images = [part for part in message.walk() if part.get_content_type() == "image/png"]
    assert [part["Content-ID"] for part in images] == ["<logo@finops-console>"]
    assert 'src="cid:logo@finops-console"' in html
    assert f'href="{URL}"' in html
    assert "Accept or decline</a>" in html
    assert "“Ann &lt;b&gt;” invited you" in html


def test_it_is_made_for_dark_mode_and_asks_for_nothing_outside() -> None:
    html = html_of(receive(text_mail()))

    assert "prefers-color-scheme: dark" in html
    assert 'name="color-scheme" content="light dark"' in html
    assert set(re.findall(r'src="([^"]+)"', html)) == {"cid:logo@finops-console"}
    assert not re.findall(r"url\(|@import|<script|<link", html)


def test_a_chart_is_an_image_with_a_text_and_its_legend_beside() -> None:
    chart = ColumnChart(
        title="Spend by day in EUR",
        currency="EUR",
        labels=["2026-03-01", "2026-03-02"],
        series=[
            DrawnSeries(name="予算 <i>", values=[1.0, 2.0]),
            DrawnSeries(name="b", values=[1.0, None], tone="unusual"),
        ],
    )
    image = chart_image(chart, "chart")
    mail = EmailMultiAlternatives("Digest", "text", "from@example.com", ["to@example.com"])

    attach_html(mail, "mail/_chart.html", {"image": image}, [image])

    message = receive(mail)
    html = html_of(message)
    assert 'src="cid:chart@finops-console"' in html
    assert re.search(r'alt="Spend by day in EUR: [^"]*€2\.00', html)
    assert "予算 &lt;i&gt;" in html
    (png,) = [part for part in message.walk() if part["Content-ID"] == "<chart@finops-console>"]
    content = png.get_content()
    assert Image.open(io.BytesIO(content)).size == (1072, 440)
    assert len(content) < 15_000


def test_the_font_has_every_sign_that_an_axis_may_have() -> None:
    from PIL import ImageFont

    from finops.lib.drawings.png import FONT_FILE

    font = ImageFont.truetype(Path(FONT_FILE), 22)
    missing = font.getmask("\uffff").getbbox(), bytes(font.getmask("\uffff"))

    for sign in "0123456789.,'’ -\u2212$€£¥₹₩₪₫₴₺₽KMBTkméñüAa":
        mask = font.getmask(sign)
        assert sign == " " or (mask.getbbox(), bytes(mask)) != missing, sign
