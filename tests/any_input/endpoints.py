"""How each URL of the project is reached: its address with rows of an account, who may, and a body that it accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from django.test import Client

from accounts.models import User
from tests.accounts.sso.scim.client import Scim
from tests.any_input.inputs import Sent
from tests.cast import Cast, reauthenticated, signed_in
from tests.credentials import entries
from tests.credentials.endpoints import PROVIDER_ID
from tests.credentials.test_idempotency_keys import BODIES as PUSHES
from tests.finops.connections.pushes.push_steps import create_cost_client, row
from tests.ingestion.formats.test_otlp import attributes, delta, gauge, point, request_of
from tests.ingestion.push_client import event as usage_event
from tests.isolation.discovery import Route, fill
from tests.isolation.test_admin import url_of as admin_url_of
from tests.isolation.test_urls import url_of as page_url_of
from tests.mcpserver.mcp_client import mint

_ARGUMENTS = {
    "name": "create_budget", "number": "1", "month": "2026-05", "push_id": PROVIDER_ID, "provider_id": PROVIDER_ID, "resource_id": "1",
    "public_id": PROVIDER_ID, "key": "a", "uidb36": "1", "pk": "1", "token": "a", "notification_id": "1", "rest": "x",
}  # fmt: skip

_USER = {
    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
    "userName": "ann@example.com",
    "externalId": "1",
    "name": {"givenName": "Ann", "familyName": "Lee"},
    "emails": [{"value": "ann@example.com", "primary": True}],
    "active": True,
}
_GROUP = {
    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
    "displayName": "G",
    "members": list[object](),
    "externalId": "1",
}
_SEARCH = {"filter": 'userName eq "ann@example.com"', "startIndex": 1, "count": 1, "attributes": ["userName"]}
_PATCH = {
    "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    "Operations": [{"op": "replace", "path": "displayName", "value": "H"}],
}  # fmt: skip

_METRICS = request_of(
    {**delta(point(2.5, attributes=attributes(customer__id="c-1", plan="pro"))), "unit": "{request}"},
    gauge(point(3, flags=0)),
    service="api",
    parts={"arrayValue": {"values": [{"stringValue": "x"}]}},
    more={"kvlistValue": {"values": [{"key": "x", "value": {"intValue": "1"}}]}},
)
_EVENT = {"event_id": "e-1", "unit": "calls", "customer_name": "Ann", "dimensions": {"plan": "pro"}}
_CHANGE = {
    "kind": "release", "title": "v1", "event_id": "e-1", "occurred_at": "2026-03-01T12:00:00Z", "actor": "ann",
    "url": "https://example.com/1", "scope": {"service": ["Amazon EC2"], "tag:env": ["prod"]},
}  # fmt: skip

BODIES: Mapping[str, Callable[[], object]] = {
    **PUSHES,
    "api/usage/events": lambda: {"events": [usage_event(**_EVENT)]},
    "api/usage/otlp/v1/metrics": lambda: _METRICS,
    "api/events": lambda: {"events": [_CHANGE]},
    "api/costs/pushes/<str:push_id>/parts/<str:number>": PUSHES["api/costs/months/<str:month>"],
    "api/costs/pushes/<str:push_id>/commit": lambda: {"parts": 1},
    "api/mcp": lambda: {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "querySpend", "arguments": {"period": "last_month", "group_by": ["service"]}},
    },
    "api/v1/tools/<str:name>": lambda: {"name": "Core", "amount": 1500.5, "currency": "USD"},
    "api/v1/configuration/plan": lambda: {"version": 1, "budgets": [{"name": "Core", "amount": 5, "currency": "USD"}]},
    "api/v1/configuration/apply": lambda: {"version": 1, "budgets": [{"name": "Core", "amount": 5, "currency": "USD"}]},
    "oauth/register": lambda: {
        "redirect_uris": ["http://127.0.0.1:7777/callback"],
        "client_name": "Client",
        "token_endpoint_auth_method": "client_secret_post",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "application_type": "web",
    },
    "scim/v2/<uuid:provider_id>/Users": lambda: _USER,
    "scim/v2/<uuid:provider_id>/Users/.search": lambda: _SEARCH,
    "scim/v2/<uuid:provider_id>/Users/<str:resource_id>": lambda: _PATCH,
    "scim/v2/<uuid:provider_id>/Groups": lambda: _GROUP,
    "scim/v2/<uuid:provider_id>/Groups/.search": lambda: {**_SEARCH, "filter": 'displayName eq "G"', "attributes": ["displayName"]},
    "scim/v2/<uuid:provider_id>/Groups/<str:resource_id>": lambda: _GROUP,
}  # fmt: skip
"""A body that each endpoint of programs accepts."""


METHODS = {
    "api/costs/pushes/<str:push_id>/parts/<str:number>": "PUT",
    "scim/v2/<uuid:provider_id>/Users/<str:resource_id>": "PATCH",
    "scim/v2/<uuid:provider_id>/Groups/<str:resource_id>": "PUT",
}
"""The method that takes the body, where it is not POST."""


def _program_of(path: str, cast: Cast) -> tuple[str, dict[str, str]]:
    """The token of a program that may use the path, and rows of its own that the path names; empty for pages."""
    if path.startswith("api/usage"):
        return entries.usage_key(cast)[1], {}
    if path.startswith("api/events"):
        return entries.event_key(cast)[1], {}
    if path.startswith(("api/costs", "^api/costs")):
        cost_client = create_cost_client(cast)
        push = cost_client.open()
        cost_client.put(push, 1, {"rows": [row()]})
        return cost_client.key, {"push_id": push.rpartition("/")[2]}
    if path.startswith(("api/mcp", "api/v1", "^api/v1")):
        return mint(cast, "read_write"), {}
    if path.startswith(("scim/", "^scim/")):
        token, plaintext = entries.scim_token(cast)
        user = Scim(token.provider, plaintext).create_user("owner")["id"]
        group = Scim(token.provider, plaintext).create_group("Everyone", user)["id"]
        return plaintext, {"resource_id": group if "Groups" in path else user}
    return "", {}


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One URL, as one who may use it reaches it."""

    url: str
    client: Client
    headers: Mapping[str, str]
    valid: object
    method: str

    def send(self, sent: Sent) -> Any:
        send: Any = self.client.generic  # its stub says a class of its own
        return send(
            self.method if sent.method == "POST" else sent.method,
            self.url,
            sent.body,
            sent.content_type,
            headers={**self.headers, **sent.headers},
            **({"QUERY_STRING": sent.query} if sent.query else {}),
        )


def endpoint_of(route: Route, cast: Cast) -> Endpoint:
    token, values = _program_of(route.path, cast)
    client = Client()
    if route.path.startswith("admin/"):
        client = signed_in(User.objects.create_superuser("operator@example.com", "a long enough secret"))
    elif not token and not route.path.startswith(("oauth/token", "oauth/register", "oauth/revoke")):
        client = reauthenticated(signed_in(cast.owner), cast.owner)
    client.raise_request_exception = False
    make_body = BODIES.get(route.path)
    return Endpoint(
        url=_url_of(route, cast, values),
        client=client,
        headers={"authorization": f"Bearer {token}"} if token else {},
        valid=make_body() if make_body else None,
        method=METHODS.get(route.path, "POST"),
    )


def _url_of(route: Route, cast: Cast, values: Mapping[str, str]) -> str:
    if route.path.startswith("a/<slug:slug>/"):
        return page_url_of(route, cast.account)
    if route.path.startswith("admin/"):
        return admin_url_of(route)
    named = Route(_plain(route.path), route.view, route.name, route.arguments)
    return fill(named, cast.account.slug, {**_ARGUMENTS, **values})


def _plain(path: str) -> str:
    """The pattern as path converters write it."""
    for pattern, converter in {
        "(?P<key>[-:\\w]+)": "<key>",
        "(?P<uidb36>[0-9A-Za-z]+)": "<uidb36>",
        "(?P<key>.+)": "<key>",
        "(?P<provider_id>[^/]*)": "<provider_id>",
    }.items():
        path = path.replace(pattern, converter)
    return path.replace("^", "").replace("$", "")
