"""A provider that provisions: an account's identity provider with a token, and its requests."""

from __future__ import annotations

import dataclasses
import json
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from accounts.models import Account
from accounts.sso.models import IdentityProvider
from accounts.sso.scim.tokens import create_scim_token
from tests.accounts.sso.providers import with_domains
from tests.cast import ACTOR

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


def add_provider(account: Account, *domains: str, **fields: Any) -> IdentityProvider:
    provider = IdentityProvider(
        account=account,
        protocol="oidc",
        name=fields.pop("name", "Okta"),
        issuer=fields.pop("issuer", "https://idp.example.com"),
        client_id="console",
        **fields,
    )
    provider.full_clean()
    provider.save()
    return with_domains(provider, *domains)


@dataclasses.dataclass(frozen=True)
class Scim:
    provider: IdentityProvider
    token: str

    @property
    def base(self) -> str:
        return f"/scim/v2/{self.provider.public_id}"

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        text = body if isinstance(body, str | bytes) else json.dumps(body) if body is not None else ""
        return Client(raise_request_exception=False).generic(
            method,
            f"{self.base}/{path}",
            text,
            "application/scim+json",
            headers={"authorization": f"Bearer {self.token if token is None else token}"},
        )

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def find(self, path: str, expression: str, **parameters: str) -> Any:
        return self.get(f"{path}?{urlencode(parameters | {'filter': expression})}")

    def create(self, path: str, **attributes: Any) -> Any:
        answer = self.ask("POST", path, attributes)
        assert answer.status_code == 201, answer.content
        return answer.json()

    def create_user(self, name: str, /, **attributes: Any) -> Any:
        return self.create("Users", schemas=[USER], userName=f"{name}@example.com", **attributes)

    def create_group(self, name: str, *members: str, **attributes: Any) -> Any:
        values = [{"value": member} for member in members]
        return self.create("Groups", schemas=[GROUP], displayName=name, members=values, **attributes)

    def patch(self, path: str, *operations: dict[str, Any]) -> Any:
        answer = self.ask("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})
        assert answer.status_code == 200, answer.content
        return answer.json()

    def refuse(self, status: int, method: str, path: str, body: Any = None) -> tuple[str, str]:
        """Scim type and detail of the refusal."""
        answer = self.ask(method, path, body)
        assert answer.status_code == status, answer.content
        error = answer.json()
        assert (error["status"], answer["content-type"]) == (str(status), "application/scim+json")
        return error.get("scimType", ""), error["detail"]


def create_scim(account: Account, *domains: str, **fields: Any) -> Scim:
    provider = add_provider(account, *(domains or ("example.com",)), **fields)
    _token, plaintext = create_scim_token(provider=provider, actor=ACTOR)
    return Scim(provider, plaintext)
