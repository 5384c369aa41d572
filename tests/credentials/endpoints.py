"""The endpoints that accept a credential: the request of each, its accepted and its refused response."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from django.test import Client

MCP = "/api/mcp"
PUSH = "/api/usage/events"
CLOUDEVENTS = "/api/usage/cloudevents"
OPENMETER = "/api/usage/openmeter/api/v1/events"
OTLP = "/api/usage/otlp/v1/metrics"
REST = "/api/v1/tools"
EVENTS = "/api/events"
COSTS = "/api/costs/pushes"
PROVIDER_ID = "6b5d6a3c-7d3b-4f0b-8bb1-1a2f9cbf2f1c"
SCIM = f"/scim/v2/{PROVIDER_ID}/Users"
PAGE = "/a/acme/"
NEW_KEY = "/a/acme/settings/mcp-keys/new/"
EVENT = {"customer_id": "c-1", "metric": "requests", "timestamp": "2026-11-20T12:00:00Z", "quantity": 3}

_METADATA = 'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/api/mcp"'
ASKS_FOR_A_TOKEN = f'Bearer scope="mcp:read mcp:write", {_METADATA}'
REFUSES_THE_TOKEN = f'Bearer error="invalid_token", scope="mcp:read mcp:write", {_METADATA}'
"""Without its description, which names the kind of a key for another endpoint."""
ASKS_FOR_MORE = (
    'Bearer error="insufficient_scope", error_description="rename needs read/write access", '
    f'scope="mcp:read mcp:write", {_METADATA}'
)

Headers = Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an answer is, and which tables it may and must change: their names begin so. All others stay the same."""

    status: int
    challenge: str | None = None
    says: str = ""
    leads_to: str = ""
    writes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Endpoint:
    """`opened` is for the credential of this endpoint, `refused` for any other, `asked` where the endpoint sees none."""

    ask: Callable[[Client, Headers], Any]
    opened: Outcome
    refused: Outcome
    asked: Outcome


def mcp(method: str, opened: Outcome, **params: Any) -> Endpoint:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return Endpoint(
        ask=lambda client, headers: client.post(MCP, message, "application/json", headers=headers),
        opened=opened,
        refused=Outcome(status=401, challenge=REFUSES_THE_TOKEN, says="This "),
        asked=Outcome(status=401, challenge=ASKS_FOR_A_TOKEN, says="Send an access token"),
    )


def rest(tool: str, opened: Outcome, **arguments: Any) -> Endpoint:
    return Endpoint(
        ask=lambda client, headers: client.post(
            f"{REST}/{tool}", json.dumps(arguments), "application/json", headers=headers
        ),
        opened=opened,
        refused=Outcome(status=401, challenge=REFUSES_THE_TOKEN, says="This "),
        asked=Outcome(status=401, challenge=ASKS_FOR_A_TOKEN, says="Send an access token"),
    )


def page(ask: Callable[[Client, Headers], Any], opened: Outcome) -> Endpoint:
    sign_in = Outcome(status=302, leads_to="/auth/login/")
    return Endpoint(ask=ask, opened=opened, refused=sign_in, asked=sign_in)


def _push(client: Client, headers: Headers) -> Any:
    return client.post(PUSH, json.dumps({"events": [EVENT]}), "application/json", headers=headers)


def _push_cloudevent(path: str) -> Callable[[Client, Headers], Any]:
    event = {
        "specversion": "1.0",
        "id": "1",
        "source": "s",
        "type": "t",
        "subject": "c-1",
        "time": EVENT["timestamp"],
    }
    return lambda client, headers: client.post(
        path, json.dumps(event), "application/cloudevents+json", headers=headers
    )


def _push_metrics(client: Client, headers: Headers) -> Any:
    point = {"asInt": "3", "timeUnixNano": "1763640000000000000", "attributes": [_CUSTOMER]}
    metrics = [{"name": "requests", "gauge": {"dataPoints": [point]}}]
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}
    return client.post(OTLP, json.dumps(body), "application/json", headers=headers)


_CUSTOMER = {"key": "customer.id", "value": {"stringValue": "c-1"}}


def _make_key(client: Client, headers: Headers) -> Any:
    form = {"name": "From a page", "scope": "read", "form_token": secrets.token_urlsafe(16)}
    return client.post(NEW_KEY, form, headers=headers)


_no_push = Outcome(status=401, challenge="Bearer", says='"error"')
_pushed = (
    "ingestion_customer",
    "ingestion_usagemetric",
    "ingestion_usagebatch",
    "ingestion_usagedimension",
    "ingestion_usageeventid",
    "lake_usageinbox",
)
_pushed_metrics = tuple(table for table in _pushed if table != "ingestion_usagedimension")
_no_otlp = Outcome(status=401, challenge="Bearer", says='"code":16')
_no_openmeter = Outcome(status=401, challenge="Bearer", says='"status":401')

_no_scim = Outcome(status=401, challenge="Bearer", says='"status":"401"')
_no_sign_in = Outcome(status=403, says="Sign-in", writes=("accounts_securityevent",))

ENDPOINTS: dict[str, Endpoint] = {
    "initialize": mcp(
        "initialize",
        Outcome(status=200, says='"serverInfo"'),
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "tests", "version": "1"},
    ),
    "tools/list": mcp("tools/list", Outcome(status=200, says='"echo"')),
    "read tool": mcp("tools/call", Outcome(status=200, says='"isError":false'), name="echo", arguments={}),
    "write tool": mcp(
        "tools/call",
        Outcome(status=200, says="Now it is Renamed", writes=("accounts_account",)),
        name="rename",
        arguments={"name": "Renamed"},
    ),
    "REST read tool": rest("echo", Outcome(status=200, says='"summary"')),
    "REST write tool": rest(
        "rename", Outcome(status=200, says="Now it is Renamed", writes=("accounts_account",)), name="Renamed"
    ),
    "push": Endpoint(
        ask=_push,
        opened=Outcome(
            status=200,
            says='"accepted":1',
            writes=("ingestion_customer", "ingestion_usagemetric", "ingestion_usagebatch", "lake_usageinbox"),
        ),
        refused=_no_push,
        asked=_no_push,
    ),
    "CloudEvents": Endpoint(
        ask=_push_cloudevent(CLOUDEVENTS),
        opened=Outcome(status=200, says='"accepted":1', writes=_pushed),
        refused=_no_push,
        asked=_no_push,
    ),
    "CloudEvents as OpenMeter": Endpoint(
        ask=_push_cloudevent(OPENMETER),
        opened=Outcome(status=204, writes=_pushed),
        refused=_no_openmeter,
        asked=_no_openmeter,
    ),
    "OTLP metrics": Endpoint(
        ask=_push_metrics,
        opened=Outcome(status=200, says="{}", writes=_pushed_metrics),
        refused=_no_otlp,
        asked=_no_otlp,
    ),
    "change events": Endpoint(
        ask=lambda client, headers: client.post(
            EVENTS,
            '{"events": [{"kind": "release", "title": "v1"}]}',
            "application/json",
            headers=headers,
        ),
        opened=Outcome(
            status=200,
            says='"accepted":1',
            writes=("change_events_changeevent", "change_events_eventmonth"),
        ),
        refused=_no_push,
        asked=_no_push,
    ),
    "cost push": Endpoint(
        ask=lambda client, headers: client.post(
            COSTS, '{"month": "2026-05"}', "application/json", headers=headers
        ),
        opened=Outcome(status=201, says='"status":"open"', writes=("connections_costpush",)),
        refused=_no_push,
        asked=_no_push,
    ),
    "SCIM": Endpoint(
        ask=lambda client, headers: client.post(
            SCIM, '{"userName": "ann@example.com"}', "application/scim+json", headers=headers
        ),
        opened=Outcome(
            status=201,
            says='"active":true',
            writes=("sso_scimuser", "accounts_user", "accounts_membership", "accounts_auditentry"),
        ),
        refused=_no_scim,
        asked=_no_scim,
    ),
    "answer of OpenID Connect": Endpoint(
        ask=lambda client, headers: client.get("/auth/sso/callback/?state=x&code=y", headers=headers),
        opened=_no_sign_in,
        refused=_no_sign_in,
        asked=_no_sign_in,
    ),
    "answer of SAML": Endpoint(
        ask=lambda client, headers: client.post(
            f"/auth/sso/saml/{PROVIDER_ID}/acs/", {"SAMLResponse": "x", "RelayState": "y"}, headers=headers
        ),
        opened=_no_sign_in,
        refused=_no_sign_in,
        asked=_no_sign_in,
    ),
    "page": page(
        lambda client, headers: client.get(PAGE, headers=headers),
        Outcome(status=200, says="Overview"),
    ),
    "page's form": page(
        _make_key, Outcome(status=200, says="fmcp_", writes=("accounts_mcpkey", "accounts_auditentry"))
    ),
}
