"""Over TLS every cookie has the prefix __Host-, so that no neighbouring host can set or read it."""

from __future__ import annotations

import os
import runpy
from http.cookies import Morsel
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings

from tests.accounts.test_security import FIREFOX
from tests.cast import PASSWORD, Cast, signed_in

SETTINGS = Path(__file__).parents[3] / "finops" / "settings.py"


def cookies_with(monkeypatch: pytest.MonkeyPatch, public_url: str, cast: Cast) -> dict[str, Morsel[str]]:
    """Return all cookies of a browser that signs in, out, and in again wrongly, at this PUBLIC_URL."""
    monkeypatch.setitem(os.environ, "PUBLIC_URL", public_url)
    settings: dict[str, Any] = {
        name: value for name, value in runpy.run_path(str(SETTINGS)).items() if "COOKIE" in name
    }
    cookies: dict[str, Morsel[str]] = {}
    with override_settings(**settings):
        client = Client(headers={"user-agent": FIREFOX})
        login = {"login": cast.owner.email, "password": PASSWORD}
        answers = [
            client.get("/auth/login/"),
            client.post("/auth/login/", login),
            client.get("/a/acme/"),
            client.post("/auth/sessions/end/"),
            client.post("/auth/logout/"),
            client.post("/auth/2fa/webauthn/login/", {"credential": "{}"}),
            client.get("/a/acme/"),
        ]
        for answer in answers:
            cookies |= {name: morsel for name, morsel in answer.cookies.items() if morsel["max-age"] != 0}
    return cookies


def test_over_tls_every_cookie_is_of_this_host_alone(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cookies = cookies_with(monkeypatch, "https://finops.example.com", cast)

    assert set(cookies) == {f"__Host-finops_{name}" for name in ("session", "csrf", "messages", "device")}
    for name, morsel in cookies.items():
        assert (morsel["secure"], morsel["path"], morsel["domain"]) == (True, "/", ""), name
        assert morsel["httponly"] is True, name


def test_without_tls_they_have_plain_names(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cookies = cookies_with(monkeypatch, "http://127.0.0.1:8000", cast)

    assert set(cookies) == {"finops_session", "finops_csrf", "finops_messages", "finops_device"}


def test_browsers_and_proxies_keep_no_page(cast: Cast) -> None:
    client = signed_in(cast.owner)
    client.raise_request_exception = False
    paths = (
        *("/", "/a/acme/", "/a/acme/cost-explorer/", "/a/acme/overview/movers/", "/a/acme/settings/members/"),
        *("/a/acme/settings/audit-log/", "/a/acme/missing/", "/a/other/", "/auth/sessions/", "/auth/email/"),
        *("/a/acme/budgets/?format=csv", "/oauth/authorize"),
    )
    answers = [client.get(path) for path in paths] + [Client().get(path) for path in paths]

    assert {answer.headers["Cache-Control"] for answer in answers} <= {
        "private, no-store",
        "max-age=0, no-cache, no-store, must-revalidate, private",  # allauth's
    }
