"""An OAuth client and the person who uses it, over HTTP: what every client library does, one step at a time."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import secrets
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from django.test import Client

from accounts.models import User
from accounts.oauth.resource import resource
from tests.cast import reauthenticated, signed_in

CALLBACK = "http://127.0.0.1:7777/callback"


@dataclasses.dataclass(frozen=True)
class Tokens:
    access: str
    refresh: str
    scope: str
    expires_in: int


def json_of(response: Any) -> dict[str, Any]:
    assert response["Content-Type"].startswith("application/json"), response.content[:300]
    body: dict[str, Any] = json.loads(response.content)
    return body


def answer_of(response: Any) -> dict[str, str]:
    """What an authorization answer tells the client: the query of where it redirects to."""
    assert response.status_code == 302, response.content[:2000]
    pairs = parse_qsl(urlsplit(response["Location"]).query, keep_blank_values=True)
    assert len(pairs) == len(dict(pairs)), pairs
    return dict(pairs)


class OAuthClient:
    """A public client that registered itself, unless it is given an id of its own."""

    def __init__(
        self, client_id: str | None = None, *, redirect_uri: str = CALLBACK, **metadata: Any
    ) -> None:
        self.http = Client()
        self.redirect_uri = redirect_uri
        self.verifier = secrets.token_urlsafe(48)
        self.state = secrets.token_urlsafe(8)
        self.client_id = client_id or json_of(self.register(**metadata))["client_id"]

    def register(self, **metadata: Any) -> Any:
        metadata_fields = {"client_name": "Test client", "redirect_uris": [self.redirect_uri], **metadata}
        return register(metadata_fields)

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def authorize_url(self, **changes: Any) -> str:
        """The URL that the client opens in a browser; a change to None leaves the parameter out."""
        params: dict[str, Any] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "resource": resource(),
            "scope": "mcp:read mcp:write",
            **changes,
        }
        query = urlencode({name: value for name, value in params.items() if value is not None}, doseq=True)
        return f"/oauth/authorize?{query}"

    def consent(
        self,
        user: User,
        account: str = "acme",
        access: str = "read",
        *,
        post: dict[str, str] | None = None,
        browser: Client | None = None,
        **changes: Any,
    ) -> Any:
        form = {"decision": "allow", "account": account, "access": access, **(post or {})}
        return reauthenticated(browser or signed_in(user), user).post(self.authorize_url(**changes), form)

    def code(self, user: User, account: str = "acme", access: str = "read", **changes: Any) -> str:
        answer = answer_of(self.consent(user, account, access, **changes))
        assert answer["state"] == self.state
        assert answer["iss"] == settings.PUBLIC_URL
        return answer["code"]

    def token(self, **form: Any) -> Any:
        return token_request({"client_id": self.client_id, **form})

    def exchange(self, code: str, **changes: Any) -> Any:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": resource(),
            **changes,
        }
        return self.token(**{name: value for name, value in fields.items() if value is not None})

    def refresh(self, refresh_token: str, **changes: Any) -> Any:
        fields = {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "resource": resource(),
            **changes,
        }
        return self.token(**{name: value for name, value in fields.items() if value is not None})

    def revoke(self, token: str, **changes: Any) -> Any:
        return token_request({"client_id": self.client_id, "token": token, **changes}, "/oauth/revoke")

    def connect(self, user: User, account: str = "acme", access: str = "read", **changes: Any) -> Tokens:
        return tokens_of(self.exchange(self.code(user, account, access, **changes)))


def register(metadata: Any) -> Any:
    return Client().post("/oauth/register", json.dumps(metadata), content_type="application/json")


def token_request(form: dict[str, Any], path: str = "/oauth/token", **headers: str) -> Any:
    """Send the fields; None leaves one out."""
    fields = {name: value for name, value in form.items() if value is not None}
    return Client().post(
        path, urlencode(fields, doseq=True), content_type="application/x-www-form-urlencoded", headers=headers
    )


def tokens_of(response: Any) -> Tokens:
    payload = json_of(response)
    assert response.status_code == 200, payload
    assert payload["token_type"] == "Bearer"
    return Tokens(payload["access_token"], payload["refresh_token"], payload["scope"], payload["expires_in"])


def mcp_status(token: str) -> int:
    """What /api/mcp answers to a ping with this token."""
    response = Client().post(
        "/api/mcp",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        content_type="application/json",
        headers={"authorization": f"Bearer {token}"},
    )
    return response.status_code
