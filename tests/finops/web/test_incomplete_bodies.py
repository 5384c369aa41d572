"""Bodies that break off, at every endpoint that takes one, on the real server: 400, and nothing is stored."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from accounts.models import Account
from tests.cast import make_cast, signed_in
from tests.credentials.endpoints import CLOUDEVENTS, COSTS, EVENTS, MCP, OPENMETER, OTLP, PUSH
from tests.credentials.entries import cost_key, event_key, scim_token, usage_key
from tests.factories.budgets import create_budget
from tests.finops.connections.pushes.push_steps import MAY, MONTHS, csv_rows
from tests.ingestion.formats.test_otlp import as_protobuf, delta, point, request_of
from tests.ingestion.push_client import event
from tests.isolation.discovery import Route, account_routes, fingerprint, routes
from tests.isolation.test_urls import url_of
from tests.mcpserver.mcp_client import mint
from tests.servers import LiveServer, serve

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("incomplete-bodies")]

SIZE = 100_000
"""More than is read before an endpoint is asked, of a client that nobody vouches for and at the endpoint of cost."""
LARGEST_FORM = 3_000_000
"""More than is read before a page is asked."""
USES = (
    "accounts_mcpkey",
    "ingestion_usagekey",
    "connections_costkey",
    "change_events_eventkey",
    "sso_scimtoken",
)
"""The tables that note the use of a key, refused requests too."""

Head = Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """A request that its endpoint accepts. `token` names its credential, `{…}` in its path a row of the account."""

    path: str
    body: bytes
    token: str = ""
    method: str = "POST"
    headers: Head = field(default_factory=dict)
    takes_gzip: bool = False


def _json(value: Any, size: int = SIZE) -> bytes:
    return b" " * size + json.dumps(value).encode()


def _call(tool: str, arguments: Any) -> Any:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


BUDGET = {"name": "Cut", "amount": 10, "currency": "USD"}
CLOUDEVENT = {
    "specversion": "1.0",
    "id": "1",
    "source": "s",
    "type": "t",
    "subject": "c-1",
    "time": "2026-11-20T12:00:00Z",
    "data": {"value": 1},
}
CLOUDEVENT_HEADERS = {"Content-Type": "application/cloudevents+json"}
POINTS = request_of(*(delta(point(), name=f"metric_{n:_<60}") for n in range(990)))
PROTOBUF = as_protobuf(POINTS)
ROWS = csv_rows(*["1.5"] * 600)
REGISTRATION = {"client_name": "Cut", "redirect_uris": ["https://app.example.com/callback"]}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CONFIGURATION = "\n".join(
    ["version: 1", "budgets:", *(f"  - {{name: B{n}, amount: 10, currency: USD}}" for n in range(3))]
)

REQUESTS: dict[str, Request] = {
    "MCP": Request(MCP, _json(_call("create_budget", BUDGET)), "mcp"),
    "REST tool": Request("/api/v1/tools/create_budget", _json(BUDGET | {"name": "Cut again"}), "mcp"),
    "configuration plan": Request("/api/v1/configuration/plan", CONFIGURATION.encode(), "mcp"),
    "configuration": Request("/api/v1/configuration/apply?delete=true", CONFIGURATION.encode(), "mcp"),
    "usage": Request(PUSH, _json({"events": [event()]}), "usage", takes_gzip=True),
    "CloudEvents": Request(
        CLOUDEVENTS, _json(CLOUDEVENT), "usage", headers=CLOUDEVENT_HEADERS, takes_gzip=True
    ),
    "OpenMeter": Request(
        OPENMETER, _json(CLOUDEVENT | {"id": "2"}), "usage", headers=CLOUDEVENT_HEADERS, takes_gzip=True
    ),
    "OTLP JSON": Request(
        OTLP, _json(POINTS), "usage", headers={"Content-Type": "application/json"}, takes_gzip=True
    ),
    "OTLP protobuf": Request(
        OTLP, PROTOBUF, "usage", headers={"Content-Type": "application/x-protobuf"}, takes_gzip=True
    ),
    "change events": Request(
        EVENTS, _json({"events": [{"kind": "release", "title": "v1"}]}), "event", takes_gzip=True
    ),
    "cost push": Request(COSTS, _json({"month": MAY}, 10_000), "cost", takes_gzip=True),
    "part": Request(f"{COSTS}/{{push}}/parts/1", ROWS, "cost", "PUT", takes_gzip=True),
    "commit": Request(f"{COSTS}/{{push}}/commit", _json({"parts": 1}, 10_000), "cost", takes_gzip=True),
    "month": Request(f"{MONTHS}/{MAY}", ROWS, "cost", takes_gzip=True),
    "SCIM": Request("/scim/v2/{provider}/Users", _json({"userName": "new@example.com"}), "scim"),
    "register": Request("/oauth/register", json.dumps(REGISTRATION).encode()),
    "token": Request("/oauth/token", urlencode({"grant_type": "client_credentials"}).encode(), headers=FORM),
    "revoke": Request("/oauth/revoke", urlencode({"token": "x"}).encode(), headers=FORM),
}

OTHERS = {
    "api/mcp/server-card": "read only",
    "api/mcp/server.json": "read only",
    "api/v1/openapi.json": "read only",
    "api/v1/tools": "read only",
    "api/v1/configuration": "read only",
    "api/events/openapi.json": "read only",
    "api/costs/openapi.json": "read only",
    "api/usage/openapi.json": "read only",
    "api/costs/pushes/<str:push_id>": "read and delete, without a body",
    "oauth/authorize": "a form: walked with the pages",
}


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[LiveServer]:
    with serve(WEB_BODY_GRACE_SECONDS="2") as live:
        yield live


@pytest.fixture(scope="module")
def account(server: LiveServer) -> dict[str, Any]:
    tokens: dict[str, Any] = server.run(f"{__name__}:make_account")
    push = httpx.post(
        server.url + COSTS,
        json={"month": MAY},
        headers={"Authorization": f"Bearer {tokens['cost']}"},
        timeout=60,
    )
    return {**tokens, "push": push.json()["id"]}


def make_account() -> dict[str, Any]:
    """In the server's process: a key of each kind, a session, and the rows that URLs name."""
    cast = make_cast()
    create_budget(cast.account, "Kept", "10")
    row, scim = scim_token(cast)
    client = signed_in(cast.owner)
    return {
        "mcp": mint(cast, "read_write"),
        "usage": usage_key(cast)[1],
        "event": event_key(cast)[1],
        "cost": cost_key(cast)[1],
        "scim": scim,
        "provider": str(row.provider.public_id),
        "session": "; ".join(f"{name}={each.value}" for name, each in client.cookies.items()),
    }


def stored() -> dict[str, str]:
    return fingerprint(without=frozenset(USES))


def page_urls() -> list[str]:
    account = Account.objects.get(slug="acme")
    return [url_of(route, account) for route in account_routes()]


def send(
    server: LiveServer,
    request: Request,
    account: dict[str, Any],
    payload: bytes,
    headers: Head,
    *,
    hang_up: bool = True,
) -> int:
    """Send these bytes as all that comes of a body, and return the status."""
    address = urlsplit(server.url)
    lines = [f"{request.method} {request.path.format(**account)} HTTP/1.1", f"Host: {address.netloc}"]
    if request.token:
        lines.append(f"Authorization: Bearer {account[request.token]}")
    lines += [f"{name}: {value}" for name, value in {**request.headers, **headers}.items()]
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + payload)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").readline()
    return int(answer.split()[1]) if answer else 0


def chunked(body: bytes, size: int = 10_000) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def cuts(body: bytes) -> Iterator[tuple[str, bytes, Head]]:
    """Return the ways in which a body breaks off: what is sent, with which headers."""
    half = len(body) // 2
    for size in (0, 1, half, len(body) - 1):
        yield f"{size} of {len(body)} bytes", body[:size], {"Content-Length": str(len(body))}
    in_chunks, chunks = chunked(body), {"Transfer-Encoding": "chunked"}
    yield "no chunk", b"", chunks
    yield "half a chunk", in_chunks[: len(in_chunks) // 2], chunks
    yield "no last chunk", in_chunks, chunks
    yield "half of the last chunk", in_chunks + b"0\r\n", chunks
    yield "a chunk without its length", in_chunks + b"zz\r\n", chunks


def test_every_endpoint_of_programs_is_here() -> None:
    walked = {request.path.split("?")[0] for request in REQUESTS.values()}
    prefixes = ("api/", "scim/", "oauth/")
    missing = [
        str(route)
        for route in routes()
        if route.path.startswith(prefixes) and route.path not in OTHERS and not _is_walked(route, walked)
    ]
    assert missing == []


def _is_walked(route: Route, walked: set[str]) -> bool:
    """SCIM's resources share one reader; `<str:name>` stands for one of them."""
    literal = "/" + route.path.split("<")[0]
    return any(path.startswith(literal) for path in walked) or route.path.startswith("scim/")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_body_that_breaks_off_is_refused_and_stores_nothing(
    server: LiveServer, account: dict[str, Any], name: str
) -> None:
    request = REQUESTS[name]
    before = server.run(f"{__name__}:stored")
    statuses = {cut: send(server, request, account, *sent) for cut, *sent in cuts(request.body)}  # type: ignore[arg-type]
    if request.takes_gzip:
        packed, encoding = gzip.compress(request.body), {"Content-Encoding": "gzip"}
        for cut, payload, headers in cuts(packed):
            statuses[f"gzip, {cut}"] = send(server, request, account, payload, {**headers, **encoding})
        half = packed[: len(packed) // 2]
        lengths = {"Content-Length": str(len(half)), **encoding}
        statuses["half of a gzip stream"] = send(server, request, account, half, lengths, hang_up=False)

    assert {cut: status for cut, status in statuses.items() if status != 400} == {}
    assert server.run(f"{__name__}:stored") == before


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ("token", "revoke", "commit")])
def test_the_whole_of_the_same_body_is_accepted(
    server: LiveServer, account: dict[str, Any], name: str
) -> None:
    """With its length and in chunks: what is refused above is refused for its end alone."""
    request = REQUESTS[name]
    headers = {
        **request.headers,
        **({"Authorization": f"Bearer {account[request.token]}"} if request.token else {}),
    }
    once = name in ("SCIM", "REST tool")  # another of the same name is refused
    bodies: list[Any] = [iter([request.body])] if once else [request.body, iter([request.body])]
    for body in bodies:
        url = server.url + request.path.format(**account)
        answer = httpx.request(request.method, url, content=body, headers=headers, timeout=60)
        assert answer.status_code < 300, answer.text


def test_no_form_of_a_page_that_breaks_off_changes_anything(
    server: LiveServer, account: dict[str, Any]
) -> None:
    """Every URL below /a/<slug>/, with a session that may do everything: small bodies, and ones that the view reads itself."""
    paths = server.run(f"{__name__}:page_urls")
    before = server.run(f"{__name__}:stored")
    csrf = "x" * 32
    headers = {
        "Cookie": f"{account['session']}; csrftoken={csrf}",
        "X-CSRFToken": csrf,
        "Content-Type": "multipart/form-data; boundary=b",
    }
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n' + b"a,b\n" * 20_000
    statuses = {}
    for path in paths:
        for size, payload, lengths in (
            ("small", b"name=a", {"Content-Length": "7"}),
            ("large", part, {"Content-Length": str(LARGEST_FORM)}),
            ("chunked", chunked(part), {"Transfer-Encoding": "chunked"}),
        ):
            status = send(server, Request(path, b"", headers=headers), account, payload, lengths)
            if status not in (400, 405, 411, 429):
                statuses[path, size] = status
    assert statuses == {}
    assert server.run(f"{__name__}:stored") == before


def test_a_body_that_stops_coming_is_refused(server: LiveServer, account: dict[str, Any]) -> None:
    request = REQUESTS["month"]
    before = server.run(f"{__name__}:stored")
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        head = [
            f"POST {request.path} HTTP/1.1",
            f"Host: {address.netloc}",
            f"Authorization: Bearer {account['cost']}",
            f"Content-Length: {len(request.body)}",
        ]
        connection.sendall("\r\n".join([*head, "", ""]).encode() + request.body[:-100])
        assert b" 400 " in connection.makefile("rb").readline()
    assert server.run(f"{__name__}:stored") == before
