from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from finops.lib import clock


@pytest.mark.parametrize(
    ("text", "contact"),
    [
        ("", "mailto:security@finops.example.com"),
        ("sec@example.com", "mailto:sec@example.com"),
        ("https://example.com/report", "https://example.com/report"),
    ],
)
def test_the_address_for_security_reports_is_public(settings: Settings, text: str, contact: str) -> None:
    settings.PUBLIC_URL, settings.SECURITY_CONTACT = "https://finops.example.com", text

    answer = Client().get("/.well-known/security.txt")

    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    fields = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
    assert fields["Contact"] == contact
    assert fields["Canonical"] == "https://finops.example.com/.well-known/security.txt"
    expires = datetime.fromisoformat(fields["Expires"])
    assert timedelta(days=1) < expires - clock.now() < timedelta(days=366), "RFC 9116, 2.5.5"
