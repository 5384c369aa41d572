"""Clients known by the URL of their metadata document: ours of the famous ones, fetched of the others, safely."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import OAuthApplication
from accounts.oauth.cimd import copy_of
from finops.lib import clock
from tests.accounts.oauth.documents import CALLBACK, DOCUMENT, KNOWN, Documents, ask
from tests.accounts.oauth.flow import OAuthClient, mcp_status
from tests.cast import Cast, signed_in


@pytest.mark.parametrize(("client_id", "redirect_uri"), KNOWN)
def test_the_clients_most_people_use_connect_without_any_network(
    cast: Cast, no_network: list[str], client_id: str, redirect_uri: str
) -> None:
    client = OAuthClient(client_id, redirect_uri=redirect_uri)
    page = ask(cast, client_id, redirect_uri)

    assert page.context["client_host"] == client_id.split("/")[2]
    assert page.context["verified"] is True
    assert mcp_status(client.connect(cast.member).access) == 200
    assert no_network == []


def test_a_known_client_redirects_only_to_its_own_uris(cast: Cast, no_network: list[str]) -> None:
    answer = ask(cast, KNOWN[0][0], "https://evil.example/api/mcp/auth_callback")

    assert answer.status_code == 400
    assert no_network == ["claude.ai"]


@pytest.mark.parametrize(
    "client_id",
    [
        "https://chatgpt.com/oauth/../client.json",
        "https://chatgpt.com/oauth/a/b/client.json",
        "https://claude.ai.evil.example/oauth/mcp-oauth-client-metadata",
    ],
)
def test_a_lookalike_has_no_copy(client_id: str) -> None:
    assert copy_of(client_id) is None


def test_a_client_is_what_its_document_says(cast: Cast, documents: Documents) -> None:
    client_id = documents.publish("/mcp.json", DOCUMENT)
    client = OAuthClient(client_id, redirect_uri=CALLBACK)

    assert mcp_status(client.connect(cast.member).access) == 200

    assert documents.asked == ["/mcp.json"]
    row = OAuthApplication.objects.get()
    assert (row.client_id, row.client_type, row.registration_source) == (client_id, "public", "cimd")
    assert ask(cast, client_id).context["client_host"] == "client.example"


def test_a_fresh_document_is_not_fetched_again_and_a_stale_one_is(cast: Cast, documents: Documents) -> None:
    client_id = documents.publish("/mcp.json", DOCUMENT, Cache_Control="max-age=600")
    ask(cast, client_id)
    ask(cast, client_id)
    remaining = OAuthApplication.objects.get().cimd_expires_at - clock.now()
    assert timedelta(minutes=9) < remaining < timedelta(minutes=11)

    OAuthApplication.objects.update(cimd_expires_at=clock.now() - timedelta(seconds=1))
    documents.publish("/mcp.json", {**DOCUMENT, "client_name": "Renamed"})

    assert ask(cast, client_id).context["application"].name == "Renamed"
    assert len(documents.asked) == 2


def test_a_client_that_names_no_callback_means_its_only_one(cast: Cast, documents: Documents) -> None:
    client = OAuthClient(documents.publish("/mcp.json", DOCUMENT))

    for _ in range(2):
        page = signed_in(cast.member).get(client.authorize_url(redirect_uri=None))
        assert page.context["redirect_uri"] == CALLBACK

    assert len(documents.asked) == 1


def test_a_stale_document_that_is_gone_for_now_still_counts(cast: Cast, documents: Documents) -> None:
    client_id = documents.publish("/mcp.json", DOCUMENT)
    ask(cast, client_id)
    OAuthApplication.objects.update(cimd_expires_at=clock.now() - timedelta(seconds=1))
    documents.publish("/mcp.json", b"", status=503)

    assert ask(cast, client_id).status_code == 200


def test_a_document_that_names_more_than_we_serve_is_taken_for_what_we_serve(
    cast: Cast, documents: Documents
) -> None:
    """ChatGPT's has key-pair authentication beside none; others name grants and callbacks of other systems."""
    client_id = documents.publish(
        "/mcp.json",
        {
            **DOCUMENT,
            "redirect_uris": [CALLBACK, "some-app://x", "http://evil.example/cb", "javascript:alert(1)"],
            "grant_types": ["authorization_code", "refresh_token", "urn:x:device_code"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "jwks_uri": "https://client.example/jwks.json",
        },
    )

    assert ask(cast, client_id).status_code == 200
    assert OAuthApplication.objects.get().redirect_uris == CALLBACK
    assert ask(cast, client_id, "http://evil.example/cb").status_code == 400


@pytest.mark.parametrize(
    ("document", "options"),
    [
        ({**DOCUMENT, "client_id": "https://client.example/other.json"}, {}),
        ({**DOCUMENT, "redirect_uris": []}, {}),
        ({**DOCUMENT, "redirect_uris": ["http://evil.example/cb"]}, {}),
        ({**DOCUMENT, "redirect_uris": "x"}, {}),
        ({**DOCUMENT, "redirect_uris": [1]}, {}),
        ({**DOCUMENT, "client_secret": "x"}, {}),
        ({**DOCUMENT, "token_endpoint_auth_method": "client_secret_post"}, {}),
        ({**DOCUMENT, "token_endpoint_auth_method": "private_key_jwt"}, {}),
        ({**DOCUMENT, "grant_types": ["client_credentials"]}, {}),
        ({**DOCUMENT, "padding": "x" * 20_000}, {}),
        (b"[]", {}),
        (b"<html>", {}),
        (b"\xff", {}),
        (b"[" * 9_000, {}),
        (DOCUMENT, {"content_type": "text/html"}),
        (DOCUMENT, {"status": 404}),
        (DOCUMENT, {"status": 302, "Location": "/elsewhere.json"}),
    ],
    ids=str,
)
def test_a_document_that_cannot_be_trusted_is_an_unknown_client(
    cast: Cast, documents: Documents, document: Any, options: dict[str, Any]
) -> None:
    client_id = documents.publish("/mcp.json", document, **options)
    documents.publish("/elsewhere.json", {**DOCUMENT, "client_id": client_id})

    assert ask(cast, client_id).status_code == 400
    assert not OAuthApplication.objects.exists()
    assert documents.asked == ["/mcp.json"]


def test_a_failure_is_not_retried_at_once(cast: Cast, documents: Documents) -> None:
    for _ in range(3):
        ask(cast, f"{documents.base}/missing.json")

    assert documents.asked == ["/missing.json"]


def test_a_document_that_drips_is_given_up_on(cast: Cast, documents: Documents, settings: Any) -> None:
    """The library's time-out is for each read; a byte a moment would hold a thread for hours."""
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "CIMD_FETCH_TIMEOUT_SECONDS": 0.2}
    documents.drip = 0.03
    client_id = documents.publish("/mcp.json", {**DOCUMENT, "padding": "x" * 1000})
    start = clock.now()

    assert ask(cast, client_id).status_code == 400

    assert clock.now() - start < timedelta(seconds=5)


def test_a_server_that_drips_its_headers_is_given_up_on(cast: Cast, settings: Any, monkeypatch: Any) -> None:
    """A header a moment keeps each read within its time-out, and as many such servers would stop us from serving."""
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "CIMD_FETCH_TIMEOUT_SECONDS": 0.2}
    ended = threading.Event()
    monkeypatch.setattr("oauth2_provider.cimd._resolve_and_validate", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr("urllib3.HTTPSConnectionPool.urlopen", lambda *args, **kwargs: ended.wait(60))
    start = clock.now()
    try:
        assert ask(cast, "https://client.example/mcp.json").status_code == 400
    finally:
        ended.set()

    assert clock.now() - start < timedelta(seconds=5)
