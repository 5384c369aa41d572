"""GET /oauth/authorize: what may be put before a person, and how everything else is answered."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from accounts.models import OAuthApplication, OAuthConnection, OAuthGrant
from tests.accounts.oauth.flow import CALLBACK, OAuthClient, answer_of
from tests.cast import Cast, signed_in

ISSUER = "http://127.0.0.1:8000"


def ask(cast: Cast, client: OAuthClient, **changes: Any) -> Any:
    return signed_in(cast.member).get(client.authorize_url(**changes))


def test_a_signed_out_person_signs_in_first_and_returns_to_the_page(cast: Cast) -> None:
    client = OAuthClient()

    answer = Client().get(client.authorize_url())

    assert answer.status_code == 302
    assert answer["Location"].startswith("/auth/login/?next=/oauth/authorize%3F")
    assert client.challenge in answer["Location"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
    ],
)
def test_an_error_is_reported_before_anybody_signs_in(
    cast: Cast, changes: dict[str, Any], error: str
) -> None:
    """After the form of the sign-in, Chromium would hold the answer to the client against the form's policy."""
    params = answer_of(Client().get(OAuthClient().authorize_url(**changes)))

    assert (params["error"], params["iss"]) == (error, ISSUER)
    assert Client().get(OAuthClient("unknown").authorize_url()).status_code == 400


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "S512"}, "invalid_request"),
        ({"code_challenge": "tooshort"}, "invalid_request"),
        ({"code_challenge": "a" * 44}, "invalid_request"),
        ({"code_challenge": "a" * 42 + "\0"}, "invalid_request"),
        ({"code_challenge": ["a" * 43, "b" * 43]}, "invalid_request"),
        ({"code_challenge_method": ["plain", "S256"]}, "invalid_request"),
        ({"prompt": ["none", "login"]}, "invalid_request"),
        ({"resource": "https://other.example/api/mcp"}, "invalid_target"),
        ({"resource": ["http://127.0.0.1:8000/api/mcp", "https://other.example/mcp"]}, "invalid_target"),
        ({"scope": "mcp:admin"}, "invalid_scope"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unauthorized_client"),
        ({"response_type": None}, "invalid_request"),
        ({"prompt": "none"}, "consent_required"),
    ],
)
def test_a_refused_grant_redirects_to_the_client_with_state_and_issuer(
    cast: Cast, changes: dict[str, Any], error: str
) -> None:
    client = OAuthClient()

    answer = ask(cast, client, **changes)

    assert answer["Location"].startswith(f"{CALLBACK}?error=")
    params = answer_of(answer)
    assert (params["error"], params["state"], params["iss"]) == (error, client.state, ISSUER)
    assert params["error_description"]
    assert not OAuthGrant.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge_method": ""},
        {"code_challenge_method": "S512"},
        {"code_challenge_method": None},
    ],
)
def test_an_error_of_pkce_names_the_parameters_to_send(cast: Cast, changes: dict[str, Any]) -> None:
    description = answer_of(ask(cast, OAuthClient(), **changes))["error_description"]

    assert "code_challenge_method=S256" in description


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "unknown"},
        {"client_id": None},
        {"client_id": "a" * 300},
        {"client_id": "nul\0"},
        {"client_id": ["a", "b"]},
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": f"{CALLBACK}/deeper"},
        {"redirect_uri": f"{CALLBACK}?next=evil"},
        {"redirect_uri": f"{CALLBACK}#fragment"},
        {"redirect_uri": CALLBACK.replace("127.0.0.1", "localhost")},
        {"redirect_uri": CALLBACK.replace("127.0.0.1", "127.0.0.1.evil.example")},
        {"redirect_uri": CALLBACK.replace("127.0.0.1", "evil@127.0.0.1")},
        {"redirect_uri": CALLBACK.replace("7777", "x")},
        {"redirect_uri": "http://[::1/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"state": ["a", "b"]},
    ],
)
def test_a_fault_that_could_send_the_person_anywhere_ends_on_a_page(
    cast: Cast, changes: dict[str, Any]
) -> None:
    answer = ask(cast, OAuthClient(), **changes)

    assert answer.status_code == 400
    assert "Location" not in answer
    assert answer["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_loopback_client_may_listen_on_any_port(cast: Cast, host: str) -> None:
    client = OAuthClient(redirect_uri=f"http://{host}:1234/callback")

    answer = ask(cast, client, redirect_uri=f"http://{host}:54321/callback")

    assert answer.status_code == 200


def test_a_web_client_may_not_change_its_port(cast: Cast) -> None:
    client = OAuthClient(redirect_uri="https://client.example/callback")

    assert ask(cast, client, redirect_uri="https://client.example:8443/callback").status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "consent"},
        {"prompt": "create"},
        {"prompt": "login"},
        {"scope": None},
        {"scope": "offline_access"},
        {"scope": "mcp:read mcp:write offline_access"},
        {"scope": ""},
        {"scope": "openid mcp:read email"},
        {"resource": None},
        {"resource": ""},
        {"resource": "http://127.0.0.1:8000/api/mcp?source=chat"},
        {"ui_locales": "de fr", "nonce": "n" * 300, "claims": "{", "max_age": "x", "display": "popup"},
        {"grant_type": "password", "user": "1", "account": "elsewhere"},
        {"resource": "http://127.0.0.1:8000/api/mcp/"},
    ],
)
def test_additional_fields_of_clients_are_ignored(cast: Cast, changes: dict[str, Any]) -> None:
    assert ask(cast, OAuthClient(), **changes).status_code == 200


def test_a_silent_request_without_a_session_requires_sign_in(cast: Cast) -> None:
    client = OAuthClient()

    params = answer_of(Client().get(client.authorize_url(prompt="none")))

    assert (params["error"], params["iss"]) == ("login_required", ISSUER)


def test_a_silent_request_without_a_session_redirects_to_no_unknown_uri(cast: Cast) -> None:
    url = OAuthClient().authorize_url(prompt="none", redirect_uri="https://evil.example/")

    assert Client().get(url).status_code == 400


def test_approval_prompt_auto_never_skips_consent(cast: Cast) -> None:
    client = OAuthClient()
    client.connect(cast.member, access="read_write")

    for changes in ({"approval_prompt": "auto"}, {"approval_prompt": "auto", "prompt": "none"}):
        answer = ask(cast, client, **changes)
        assert "code=" not in answer.headers.get("Location", "")

    assert OAuthConnection.objects.unscoped().count() == 1


def test_skip_authorization_never_skips_consent(cast: Cast) -> None:
    client = OAuthClient()
    OAuthApplication.objects.update(skip_authorization=True)

    for changes in ({}, {"skip_authorization": "true"}):
        assert ask(cast, client, **changes).status_code == 200

    assert not OAuthGrant.objects.exists()


def test_a_get_shows_the_page_and_stores_nothing(cast: Cast) -> None:
    client = OAuthClient()

    answer = ask(cast, client)

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert answer["X-Frame-Options"] == "DENY"
    assert not OAuthConnection.objects.unscoped().exists()


def test_a_callback_with_a_query_of_its_own_keeps_it_and_names_one_issuer(cast: Cast) -> None:
    callback = "https://client.example/callback?tenant=7&iss=forged&%69ss=forged"
    client = OAuthClient(redirect_uri=callback)

    params = answer_of(client.consent(cast.member))

    assert (params["tenant"], params["iss"]) == ("7", ISSUER)
    assert params["code"]


@pytest.mark.parametrize(
    "redirect_uri",
    [
        *("cursor://anysphere.cursor-mcp/oauth/callback", "https://client.example/cb", CALLBACK),
        *("warp://mcp/oauth2callback", "kiro://kiro.kiroagent/oauth", "zed://oauth", "goose://callback"),
        *("lmstudio://oauth", "com.example.app:/oauth2redirect", "com.example.app://callback"),
    ],
)
def test_the_code_goes_to_the_clients_own_callback(cast: Cast, redirect_uri: str) -> None:
    client = OAuthClient(redirect_uri=redirect_uri)

    answer = client.consent(cast.member)

    assert urlsplit(answer["Location"])._replace(query="").geturl() == redirect_uri
    assert answer_of(answer).keys() == {"code", "state", "iss"}
    refused = ask(cast, client, scope="openid")
    assert answer_of(refused)["error"] == "invalid_scope"
    assert urlsplit(refused["Location"])._replace(query="").geturl() == redirect_uri
