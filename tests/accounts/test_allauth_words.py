"""django-allauth's pages, messages and emails have the words of this product."""

from __future__ import annotations

import re
from pathlib import Path

import allauth
import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.test import Client

from tests.cast import Cast, reauthenticated, signed_in
from tests.pages import get_page, text_of

LIBRARY = Path(allauth.__file__).parent / "templates"
OWN = Path("templates")
UNUSED = re.compile(r"login_code|phone|password_reset_code|email_confirm_(message|subject)")
"""Templates of features that are off: sign-in and reset by code, phone numbers."""

LIBRARY_WORDS = re.compile(
    r"please|you are about to|successfully|associated with|out of \d|in case you|reauthenticat"
    r"|deactivate|issue a new|Thank you for using",
    re.IGNORECASE,
)


@pytest.mark.parametrize("folder", ["account/messages", "account/email", "mfa/messages", "mfa/email"])
def test_every_message_and_email_of_the_library_is_replaced(folder: str) -> None:
    names = {path.name for path in (LIBRARY / folder).glob("*.txt") if not UNUSED.search(path.name)}

    assert names
    assert names - {path.name for path in (OWN / folder).glob("*.txt")} == set()
    texts = {path.name: path.read_text() for path in (OWN / folder).glob("*.txt")}
    assert [name for name, text in texts.items() if LIBRARY_WORDS.search(text)] == []


@pytest.fixture
def protected(cast: Cast) -> Client:
    """A person with an authenticator app, recovery codes and two addresses, who confirmed access."""
    EmailAddress.objects.create(user=cast.viewer, email=cast.viewer.email, verified=True, primary=True)
    EmailAddress.objects.create(user=cast.viewer, email="second@example.com", verified=True)
    TOTP.activate(cast.viewer, generate_totp_secret())
    RecoveryCodes.activate(cast.viewer)
    return reauthenticated(signed_in(cast.viewer), cast.viewer)


@pytest.mark.parametrize(
    ("url", "texts"),
    [
        ("/auth/2fa/", ["No security keys.", "10 of 10 codes unused", "Remove authenticator app…"]),
        ("/auth/2fa/totp/deactivate/", ["Remove the authenticator app?", "Its codes no longer work."]),
        ("/auth/2fa/recovery-codes/", ["10 of 10 codes unused.", "Download codes"]),
        ("/auth/2fa/recovery-codes/generate/", ["Your 10 unused codes no longer work.", "Generate codes"]),
        ("/auth/2fa/webauthn/", ["Security keys and passkeys", "No security keys.", "Add security key"]),
        ("/auth/2fa/webauthn/add/", ["Add security key", "Use as a passkey"]),
        (
            "/auth/2fa/reauthenticate/",
            ["Confirm access", "6-digit code or recovery code", "Use your password"],
        ),
        ("/auth/reauthenticate/", ["Confirm access", "Use an authenticator app or recovery code"]),
        ("/auth/email/", ["second@example.com Verified", "Resend verification", "Remove address…"]),
        ("/auth/password/change/", ["Change password"]),
        ("/auth/logout/", ["This ends the session in this browser."]),
    ],
)
def test_a_page_has_the_words_of_this_product(protected: Client, url: str, texts: list[str]) -> None:
    page = get_page(protected, url)

    assert [text for text in texts if text not in page] == []
    assert LIBRARY_WORDS.findall(page) == []


def test_a_new_authenticator_app_is_added_in_the_words_of_this_product(cast: Cast) -> None:
    EmailAddress.objects.create(user=cast.viewer, email=cast.viewer.email, verified=True, primary=True)
    client = reauthenticated(signed_in(cast.viewer), cast.viewer)

    page = get_page(client, "/auth/2fa/totp/activate/")
    wrong = text_of(client.post("/auth/2fa/totp/activate/", {"code": "000000"}))

    assert "Scan the QR code with an authenticator app" in page
    assert "The code is incorrect. Enter the current one." in wrong
    assert LIBRARY_WORDS.findall(page + wrong) == []


def test_a_security_key_is_renamed_and_removed(protected: Client, cast: Cast) -> None:
    key = WebAuthn.add(cast.viewer, "Laptop", {}).instance
    url = f"/auth/2fa/webauthn/keys/{key.pk}"

    index, keys = (get_page(protected, path) for path in ("/auth/2fa/", "/auth/2fa/webauthn/"))
    unnamed = text_of(protected.post(f"{url}/edit/", {"name": ""}))
    protected.post(f"{url}/edit/", {"name": "Work laptop"})
    page = get_page(protected, f"{url}/remove/")
    answer = text_of(protected.post(f"{url}/remove/", follow=True))

    assert "1 key." in index
    assert "Laptop Unknown" in keys
    assert "Enter a name." in unnamed
    assert "Work laptop no longer signs you in." in page
    assert "Security key removed." in answer
    assert not Authenticator.objects.filter(pk=key.pk).exists()
