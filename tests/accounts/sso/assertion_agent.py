"""A client of a provider that shows identity assertions (ID-JAG) at the token endpoint."""

from __future__ import annotations

import secrets
from typing import Any

from accounts.models import Account, User
from accounts.oauth.resource import issuer, resource
from accounts.sso.assertion_clients import add_assertion_client
from accounts.sso.models import Identity, IdentityProvider
from finops.lib import clock
from tests.accounts.oauth.flow import json_of, token_request
from tests.accounts.sso.providers import Server
from tests.cast import ACTOR

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Agent:
    """An MCP client of a provider: its credentials, and what it sends."""

    def __init__(
        self,
        provider: IdentityProvider,
        server: Server,
        access: str = "read_write",
        account: Account | None = None,
    ) -> None:
        self.provider, self.server = provider, server
        self.row, self.secret = add_assertion_client(
            provider=provider, actor=ACTOR, name=secrets.token_hex(4), access=access, account=account
        )
        self.client_id = self.row.application.client_id

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Those of a good assertion; a change to None leaves one out."""
        now = int(clock.now().timestamp())
        claims = {
            "iss": self.server.url,
            "sub": "member",
            "aud": issuer(),
            "client_id": self.client_id,
            "resource": resource(),
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + 300,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def show(self, assertion: str, /, **changes: Any) -> Any:
        form = {
            "grant_type": JWT_BEARER,
            "assertion": assertion,
            "client_id": self.client_id,
            "client_secret": self.secret,
            "resource": resource(),
            **changes,
        }
        return token_request(form)

    def connect(self, **changes: Any) -> str:
        answer = self.show(self.server.sign(self.claims(**changes)))
        assert answer.status_code == 200, answer.content
        token: str = json_of(answer)["access_token"]
        return token


def link(provider: IdentityProvider, user: User, subject: str) -> None:
    Identity.objects.create(provider=provider, subject=subject, user=user)


def refusal(answer: Any) -> tuple[str, str]:
    """The error, and what it says to do."""
    assert answer.status_code in {400, 401}, answer.content
    assert answer["Cache-Control"] == "no-store"
    problem = json_of(answer)
    return problem["error"], problem.get("error_description", "")
