"""Pages of signing in and of one's own settings are in sentence case, as the rest of the console."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from finops.lib.sentences import sentence_case
from tests.cast import Cast, signed_in

TITLE_CASE = re.compile(r"[a-z] [A-Z][a-z]+")
LABELS = re.compile(r"<(title|h1|h2|button|label|summary)\b[^>]*>(.*?)</\1>", re.DOTALL)


def labels_of(page: str) -> list[str]:
    texts = (
        " ".join(text.split()) for _tag, body in LABELS.findall(page) for text in re.split(r"<[^>]+>", body)
    )
    return [text.replace("FinOps Console", "") for text in texts if text]


@pytest.mark.parametrize("url", ["login", "signup", "password/reset", "password/reset/done", "confirm-email"])
def test_pages_before_signing_in_are_in_sentence_case(db: None, url: str) -> None:
    labels = labels_of(Client().get(f"/auth/{url}/").content.decode())

    assert labels
    assert [label for label in labels if TITLE_CASE.search(label)] == []


@pytest.mark.parametrize(
    ("url", "next_page"),
    [("password/reset/key/1-abc-def", "/auth/password/reset/"), ("confirm-email/abc", "/auth/login/")],
)
def test_a_link_of_an_email_that_is_no_longer_valid_leads_to_a_new_one(
    db: None, url: str, next_page: str
) -> None:
    page = Client().get(f"/auth/{url}/").content.decode()

    assert "This link is no longer valid" in page
    assert f'href="{next_page}"' in page


@pytest.mark.parametrize(
    "url",
    ["profile", "email", "password/change", "2fa", "sessions", "security-log", "logout", "reauthenticate"],
)
def test_pages_of_ones_own_settings_are_in_sentence_case(cast: Cast, url: str) -> None:
    labels = labels_of(signed_in(cast.viewer).get(f"/auth/{url}/", follow=True).content.decode())

    assert labels
    assert [label for label in labels if TITLE_CASE.search(label)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Forgot Your Password?", "Forgot your password?"),
        ("Enter Sign-In Code", "Enter sign-in code"),
        ("<b>Sign In</b> to FinOps Console", "<b>Sign in</b> to FinOps Console"),
        ("Read it. Then Sign Up", "Read it. Then sign up"),
        ("Use TOTP or WebAuthn", "Use TOTP or WebAuthn"),
    ],
)
def test_sentence_case_keeps_names_and_markup(text: str, expected: str) -> None:
    assert sentence_case(text) == expected
