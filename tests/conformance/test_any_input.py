"""Whatever comes in, the endpoint answers in JSON, with a status below 500, and never with a fault of ours.

8,000 inputs in the suite; `make soak` runs a million (SOAK=1), or as many as SOAK_INPUTS says.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.test import RequestFactory
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account
from finops.lib.errors import UserError
from mcpserver import protocol
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.method_context import Server
from mcpserver.methods import METHODS
from mcpserver.registry import registry
from mcpserver.results import ToolOutcome, encode_answer
from mcpserver.server import make_server
from mcpserver.views import PATH, endpoint
from tests.cast import Cast
from tests.conformance import schemas
from tests.conformance.requirements import requirement
from tests.isolation.marks import fill_with_marks
from tests.mcpserver.mcp_client import META, mint
from tests.mcpserver.toys import EchoAnswer, EchoArguments, make_toys

SOAK = bool(os.environ.get("SOAK"))
INPUTS = int(os.environ.get("SOAK_INPUTS", "1000000" if SOAK else "8000"))

pytestmark = pytest.mark.soak

# JSON

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "2.0", "tools/call", "echo", "\x00", "9" * 400, schemas.MODERN, 2**70, -0.0])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
methods = st.sampled_from([*METHODS, "notifications/initialized", "nope", ""])
names = st.sampled_from(["echo", "amounts", "picky", "rename", "weekly", "nope", "querySpend", ""])
arguments = st.dictionaries(st.sampled_from([*EchoArguments.__struct_fields__, "nope"]), anything, max_size=4)
metas = st.sampled_from([META, {}, {**META, "io.modelcontextprotocol/protocolVersion": "v999"}]) | anything
params = (
    st.fixed_dictionaries(
        {},
        optional={
            "name": names | anything,
            "arguments": arguments | anything,
            "_meta": metas,
            "cursor": anything,
            "uri": anything,
            "ref": st.just({"type": "ref/prompt", "name": "weekly"}) | anything,
            "argument": st.fixed_dictionaries({"name": st.just("team"), "value": anything}) | anything,
            "context": st.fixed_dictionaries({"arguments": arguments}) | anything,
            "protocolVersion": anything,
        },
    )
    | anything
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | scalars},
    optional={
        "id": st.integers() | st.text(max_size=5) | anything,
        "method": methods | anything,
        "params": params,
        "result": anything,
        "error": anything,
    },
)
values = messages | st.lists(messages, max_size=4) | anything


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()  # with NaN, Infinity and escaped lone surrogates, which are no JSON


cut = st.tuples(values.map(encode), st.integers(0, 60)).map(lambda pair: pair[0][: -pair[1] or None])
nested = st.tuples(st.sampled_from([b"[", b'{"a":', b'[{"a":']), st.integers(1, 3000)).map(
    lambda pair: pair[0] * pair[1]
)
bodies = values.map(encode) | cut | st.binary(max_size=60) | nested

well_formed = st.tuples(
    methods,
    st.integers() | st.text(max_size=5),
    st.fixed_dictionaries({}, optional={"name": names, "arguments": arguments, "uri": st.text(max_size=9)}),
)

# Headers

versions_spoken = st.sampled_from([None, *schemas.REVISIONS])
versions = st.sampled_from([None, *schemas.REVISIONS, "2024-11-05", "v999", ""]) | st.text(max_size=10)
header_values = (
    methods | names | st.sampled_from([None, "=?base64?ZWNobw==?=", "=?base64?\xff?="]) | st.text(max_size=10)
)
headers = st.builds(protocol.Headers, version=versions, method=header_values, name=header_values)
http_text = st.text(st.characters(codec="latin-1", exclude_categories=()), max_size=20)
http_headers = st.dictionaries(
    st.sampled_from(["HTTP_MCP_PROTOCOL_VERSION", "HTTP_MCP_METHOD", "HTTP_MCP_NAME", "HTTP_ORIGIN", "HTTP_ACCEPT",
                     "HTTP_HOST", "HTTP_USER_AGENT", "HTTP_AUTHORIZATION", "CONTENT_TYPE", "CONTENT_LENGTH",
                     "HTTP_TRANSFER_ENCODING", "HTTP_CONTENT_ENCODING", "HTTP_MCP_SESSION_ID", "HTTP_LAST_EVENT_ID",
                     "HTTP_X_FORWARDED_HOST", "HTTP_COOKIE", "QUERY_STRING"]),
    http_text | st.sampled_from(["", "0", "-1", "9" * 30, "gzip", "chunked", *schemas.REVISIONS, "tools/call", "echo"]),
    max_size=5,
)  # fmt: skip


Pairs = tuple[list[Any], list[Any]]


def pairs_of_all(left: st.SearchStrategy[Any], right: st.SearchStrategy[Any]) -> st.SearchStrategy[Pairs]:
    """10 of one and 4 of the other, to be paired each with each: 40 inputs for the drawing of 14."""
    return st.tuples(st.lists(left, min_size=10, max_size=10), st.lists(right, min_size=4, max_size=4))


def settings_for_share(share: float) -> Callable[[Any], Any]:
    """Hypothesis settings for a share of all inputs."""
    return settings(
        max_examples=max(1, int(INPUTS * share / 40)),
        deadline=None,
        database=None,
        derandomize=not SOAK,  # the suite is the same every time; the soak explores
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def check(status: int, body: bytes) -> None:
    assert 200 <= status < 500
    if status == 202:
        assert body == b""
        return
    message = json.loads(body)
    for answer in message if isinstance(message, list) else [message]:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
        assert b"incident" not in body
        if "error" in answer:
            assert answer["error"]["code"] not in (-32603, 500)


def echo_only(tool: Any, given: Any, call: ToolCall) -> ToolOutcome:
    """Decoding and encoding as they are, without the database: this test is about what comes before and after."""
    try:
        decoded = decode_arguments(EchoArguments, given, tool=tool.name)
    except UserError as error:
        return ToolOutcome(problem=error.message)
    return ToolOutcome(answer=encode_answer(EchoAnswer(account="acme", got=decoded)))


@pytest.fixture(scope="module")
def server() -> Server:
    toys = make_toys(prompts=True)
    toys.freeze()
    toy_server = make_server(toys)
    return Server(**{**toy_server.__dict__, "run": echo_only})


@pytest.fixture(scope="module")
def call() -> ToolCall:
    credential = Credential(
        kind=CredentialKind.MCP_KEY,
        id=1,
        account=Account(id=1, name="Acme", slug="acme"),
        access=Access.READ_WRITE,
        label="a key",
        actor=Actor.command("tests"),
    )
    call = ToolCall(
        credential=credential, deadline=time.monotonic() + 3600, console="https://finops.example/a/acme/"
    )
    # As a credential without limits has them: these tests have no database.
    call.__dict__["cost_access_limits"] = []
    return call


@requirement("http:json-always")
@settings_for_share(0.4)
@given(sent=pairs_of_all(bodies, headers))
def test_any_bytes_and_headers_get_a_proper_answer(server: Server, call: ToolCall, sent: Pairs) -> None:
    for body, given_headers in itertools.product(*sent):
        reply = protocol.answer(body, given_headers, server, call)
        check(reply.status, reply.body)


@requirement("http:json-always", "rpc:id-echo")
@settings_for_share(0.5)
@given(sent=pairs_of_all(well_formed, versions_spoken))
def test_any_well_formed_request_gets_an_answer_with_its_id(
    server: Server, call: ToolCall, sent: Pairs
) -> None:
    for (method, id_, given_params), version in itertools.product(*sent):
        meta = {"_meta": META} if version == schemas.MODERN else {}
        body = encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": {**given_params, **meta}})
        named = str(given_params.get("uri" if method == "resources/read" else "name", "")) or None
        reply = protocol.answer(
            body, protocol.Headers(version=version, method=method, name=named), server, call
        )
        check(reply.status, reply.body)
        if b"-32700" not in reply.body:
            assert json.loads(reply.body)["id"] == id_


@pytest.fixture
def unlimited_key(cast: Cast, settings: Any) -> str:
    """Made once for all inputs: settings that are changed again and again nest until Python gives up."""
    settings.MCP_RATE_LIMIT_PER_MINUTE = 100_000_000
    return mint(cast, "read_write")


@requirement("http:json-always")
@settings_for_share(0.1)
@given(sent=pairs_of_all(bodies, http_headers), chunked=st.booleans())
def test_any_http_request_gets_a_proper_answer(unlimited_key: str, sent: Pairs, chunked: bool) -> None:
    credential = {"authorization": f"Bearer {unlimited_key}"}
    for body, given_headers in itertools.product(*sent):
        request = RequestFactory().post(PATH, body, content_type="application/json", headers=credential)
        request.META.update({"wsgi.input": BytesIO(body), "wsgi.input_terminated": True, **given_headers})
        if chunked:
            request.META["CONTENT_LENGTH"] = ""
        response = endpoint(request)
        check(response.status_code, response.content)
        assert response.get("Content-Type", "application/json") == "application/json"
        assert "Location" not in response


@requirement("http:json-always", "tools:arguments")
@pytest.mark.parametrize("tool", list(registry), ids=lambda tool: tool.name)
def test_any_arguments_of_a_registered_tool_get_a_proper_answer(
    cast: Cast, unlimited_key: str, tool: Any
) -> None:
    fill_with_marks(cast.account)
    fields = st.sampled_from([*tool.arguments.__struct_fields__, "nope"])
    words = st.sampled_from(_words(tool.input_schema))

    @settings_for_tools()
    @given(call_arguments=st.dictionaries(fields, words | st.lists(words, max_size=2) | anything, max_size=4))
    def ask(call_arguments: dict[str, Any]) -> None:
        body = encode(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": tool.name, "arguments": call_arguments}}
        )  # fmt: skip
        request = RequestFactory().post(
            PATH, body, content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {unlimited_key}"
        )
        response = endpoint(request)
        check(response.status_code, response.content)

    ask()


@requirement("http:json-always", "prompts:arguments")
@pytest.mark.parametrize("prompt", registry.prompts(), ids=lambda prompt: prompt.name)
def test_any_arguments_of_a_prompt_and_any_completion_get_a_proper_answer(
    cast: Cast, unlimited_key: str, prompt: Any
) -> None:
    fill_with_marks(cast.account)
    takes = st.sampled_from([*(argument.name for argument in prompt.arguments), "nope"])
    words = st.sampled_from(
        ["service", "2026-11", "2026-W46", "1e9", "billed", "USD", "team", "\x00", "9" * 400]
    )
    texts = words | st.text(max_size=20)
    some = st.dictionaries(takes, texts | anything, max_size=4)

    @settings_for_tools()
    @given(call_arguments=some, argument=takes | anything, typed=texts | anything, context=some | anything)
    def ask(call_arguments: dict[str, Any], argument: Any, typed: Any, context: Any) -> None:
        request_params = {
            "prompts/get": {"name": prompt.name, "arguments": call_arguments},
            "completion/complete": {
                "ref": {"type": "ref/prompt", "name": prompt.name},
                "argument": {"name": argument, "value": typed},
                "context": {"arguments": context},
            },
        }
        for method, params in request_params.items():
            body = encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            request = RequestFactory().post(
                PATH, body, content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {unlimited_key}"
            )
            response = endpoint(request)
            check(response.status_code, response.content)

    ask()


def settings_for_tools() -> Callable[[Any], Any]:
    return settings(
        max_examples=INPUTS // (400 if SOAK else 800),
        derandomize=not SOAK,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def _words(schema: dict[str, Any]) -> list[str]:
    """The words that a tool's schema knows, to come close to a valid call."""
    words = ["service", "2026-11-01", "2026-10-01", "10", "tag:env", "USD"]
    for value in schema.get("properties", {}).values():
        words += [word for word in value.get("enum", []) if isinstance(word, str)]
    return words
