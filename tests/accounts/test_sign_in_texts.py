"""Sign-in pages and a person's settings: sentence case, and a mark at each field that is required."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from tests.cast import PASSWORD, Cast, reauthenticated, signed_in
from tests.page_structure import faults_of
from tests.pages import get_page, text_of

OPEN = [
    "/auth/login/",
    "/auth/signup/",
    "/auth/password/reset/",
    "/auth/password/reset/done/",
    "/auth/password/reset/key/1-wrong/",
    "/auth/password/reset/key/done/",
    "/auth/confirm-email/",
    "/auth/confirm-email/wrong/",
    "/auth/inactive/",
    "/auth/2fa/authenticate/",
]
OWN = [
    "/auth/email/",
    "/auth/password/change/",
    "/auth/profile/",
    "/auth/sessions/",
    "/auth/security-log/",
    "/auth/2fa/",
    "/auth/2fa/totp/activate/",
    "/auth/2fa/webauthn/add/",
    "/auth/2fa/recovery-codes/generate/",
    "/auth/logout/",
    "/auth/reauthenticate/",
    "/accounts/new/",
]
NAMES = {"FinOps Console", "Security Key", "United States", "United Kingdom", "New York"}
TITLE_CASE = re.compile(r"\b[A-Z][a-z]+(?: (?:a|an|the|to|of|your|in|for|with) [A-Z][a-z]+| [A-Z][a-z]+)+")


class TextParser(HTMLParser):
    """Texts of headings, buttons, links, labels, legends, titles."""

    TAGS = frozenset({"h1", "h2", "h3", "button", "a", "label", "legend", "title", "summary"})

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.TAGS:
            self._open.append(tag)
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[-1] += " ".join(data.split())


def texts_of(html: str) -> list[str]:
    parser = TextParser()
    parser.feed(html)
    return parser.texts


@pytest.mark.parametrize("url", OPEN)
def test_a_page_before_sign_in_is_well_formed_and_in_sentence_case(db: None, url: str) -> None:
    html = Client().get(url, follow=True).content.decode()

    assert [text for text in texts_of(html) if set(TITLE_CASE.findall(text)) - NAMES] == []
    assert faults_of(html, landmarks=("main",)) == []


def test_sign_in_sign_up_and_reset_are_in_plain_words(db: None) -> None:
    sign_in, sign_up, reset = (
        get_page(Client(), f"/auth/{path}/") for path in ("login", "signup", "password/reset")
    )

    assert "New here? Sign up ." in sign_in
    assert "Sign in with a passkey Continue with single sign-on" in sign_in
    assert "Already signed up? Sign in ." in sign_up
    assert "You get an email with a link to set a new password." in reset
    assert not any("please" in page.lower() for page in (sign_in, sign_up, reset))


@pytest.mark.parametrize("url", OWN)
def test_a_page_of_ones_own_is_well_formed_and_in_sentence_case(cast: Cast, url: str) -> None:
    html = signed_in(cast.viewer).get(url, follow=True).content.decode()

    assert [text for text in texts_of(html) if set(TITLE_CASE.findall(text)) - NAMES] == []
    assert faults_of(html, landmarks=("main",)) == []


EMPTY_EMAIL, EMPTY_PASSWORD, EMPTY_CODE = (
    "Enter your email address.",
    "Enter your password.",
    "Enter the 6-digit code from your authenticator app.",
)


@pytest.mark.parametrize(
    ("url", "errors"),
    [
        ("/auth/login/", [EMPTY_EMAIL, EMPTY_PASSWORD]),
        ("/auth/signup/", [EMPTY_EMAIL, "Enter a password."]),
        ("/auth/password/reset/", [EMPTY_EMAIL]),
    ],
)
def test_an_empty_form_before_sign_in_says_what_to_enter(db: None, url: str, errors: list[str]) -> None:
    page = text_of(Client().post(url, {}))

    assert [text for text in errors if text not in page] == []
    assert "This field is required" not in page


@pytest.mark.parametrize(
    ("url", "data", "errors"),
    [
        ("/auth/reauthenticate/", {}, [EMPTY_PASSWORD]),
        (
            "/auth/password/change/",
            {},
            ["Enter your current password.", "Enter a new password.", "Enter the new password again."],
        ),
        (
            "/auth/password/change/",
            {"oldpassword": "x", "password1": "correct-horse-9", "password2": "battery-staple-9"},
            ["Enter the same password in both fields."],
        ),
        ("/auth/email/", {"action_add": "", "email": ""}, ["Enter an email address."]),
        ("/auth/2fa/totp/activate/", {"code": ""}, [EMPTY_CODE]),
    ],
)
def test_an_empty_form_of_ones_own_says_what_to_enter(
    cast: Cast, url: str, data: dict[str, str], errors: list[str]
) -> None:
    EmailAddress.objects.create(user=cast.viewer, email=cast.viewer.email, verified=True, primary=True)
    client = reauthenticated(signed_in(cast.viewer), cast.viewer)

    page = text_of(client.post(url, data))

    assert [text for text in errors if text not in page] == []
    assert "This field is required" not in page


def test_a_second_factor_is_requested_in_plain_words(cast: Cast) -> None:
    TOTP.activate(cast.viewer, generate_totp_secret())
    signing_in = Client()
    signing_in.post("/auth/login/", {"login": cast.viewer.email, "password": PASSWORD})
    cast.viewer.refresh_from_db()  # signing in replaces the outdated hash
    confirming = reauthenticated(signed_in(cast.viewer), cast.viewer)

    assert EMPTY_CODE in text_of(signing_in.post("/auth/2fa/authenticate/", {"code": ""}))
    assert EMPTY_CODE in text_of(confirming.post("/auth/2fa/reauthenticate/", {"code": ""}))
