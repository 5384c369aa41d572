"""What the MCP endpoint must do: one line each, where it is written, and (by decorator) the tests that show it.

`test_requirements.py` checks both ways: each requirement has a test, each test names known requirements.
Sources: `<revision> <page>` is a page below https://modelcontextprotocol.io/specification/; `product` is a decision
of docs/adr/0004-the-mcp-endpoint-is-a-stateless-django-view-not-the-sdk-server.md; `interface` is a rule of docs/interface.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Requirement:
    text: str
    source: str


def requirement(*ids: str) -> Callable[[Test], Test]:
    """Marks a test as showing these requirements; an unknown id fails when the module is imported."""
    unknown = [id_ for id_ in ids if id_ not in REQUIREMENTS]
    if unknown or not ids:
        raise LookupError(f"no such requirement: {', '.join(unknown) or '(none named)'}")
    return lambda test: test


_HTTP = "2026-07-28 basic/transports/streamable-http"
_VERSIONING = "2026-07-28 basic/versioning"
_BASIC = "2026-07-28 basic"
_AUTHORIZATION = "2026-07-28 basic/authorization"
_TOOLS = "2026-07-28 server/tools"
_CACHING = "2026-07-28 server/utilities/caching"
_LEGACY_HTTP = "2025-11-25 basic/transports"
_LIFECYCLE = "2025-11-25 basic/lifecycle"

REQUIREMENTS: dict[str, Requirement] = {
    id_: Requirement(text, source)
    for id_, text, source in (
        # HTTP
        (
            "http:only-post",
            "GET and DELETE with a credential are answered 405 with Allow: POST.",
            _LEGACY_HTTP,
        ),
        (
            "http:credential-first",
            "Without a valid credential everything is 401, whatever else is wrong.",
            "product",
        ),
        (
            "http:challenge",
            "A 401 names the resource metadata and the scopes in one Bearer challenge.",
            _AUTHORIZATION,
        ),
        ("http:header-only", "A credential counts in the Authorization header alone.", _AUTHORIZATION),
        (
            "http:other-credentials",
            "Session cookies, usage keys and revoked or expired keys are refused.",
            "interface",
        ),
        (
            "http:last-used",
            "Every request made with a key updates its last use, refused ones too.",
            "interface",
        ),
        (
            "http:id-of-a-refusal",
            "What HTTP refuses (401, 403, 413, 429) is a JSON-RPC error with the id of its request, else null.",
            "product",
        ),
        ("http:origin", "A foreign Origin is refused with 403; none, or our own, is fine.", _HTTP),
        ("http:host", "A host name that is not ours is refused with 400.", _HTTP),
        ("http:body-limit", "A body over 1 MiB is refused with 413, announced or not.", "product"),
        (
            "http:rate-limit",
            "Too many requests of a credential in a minute: 429 with Retry-After.",
            "product",
        ),
        (
            "http:json-always",
            "Every answer is JSON or empty, never HTML, never a 5xx for bad input.",
            "product",
        ),
        ("http:no-store", "No answer may be stored by a cache.", "product"),
        (
            "http:no-session",
            "No session id is given out; one that is sent, or Last-Event-ID, is ignored.",
            _HTTP,
        ),
        ("http:no-redirect", "The endpoint never redirects.", "product"),
        # JSON-RPC
        ("rpc:parse-error", "What is not JSON, or nested absurdly, is -32700 with 400.", _BASIC),
        ("rpc:invalid-request", "JSON that is no message is -32600 with 400.", _BASIC),
        ("rpc:id-echo", "An answer has the request's id, errors too.", _BASIC),
        ("rpc:id-omitted", "An error about a message without readable id has no id.", _BASIC),
        ("rpc:notification", "A notification is accepted with 202 and no body.", _HTTP),
        ("rpc:response", "A response is refused in the modern era and accepted with 202 before.", _HTTP),
        ("rpc:batch", "A batch is answered as one in 2025-03-26.", "2025-03-26 basic/transports"),
        ("rpc:no-batch", "A batch is refused in every later revision.", _LEGACY_HTTP),
        # Modern era
        (
            "modern:meta",
            "params._meta with version and capabilities is required: else -32602 with 400.",
            _BASIC,
        ),
        ("modern:version-header", "The version header equals the body's, else -32020 with 400.", _HTTP),
        ("modern:method-header", "Mcp-Method equals the method, else -32020 with 400.", _HTTP),
        ("modern:name-header", "Mcp-Name equals the name or uri, else -32020 with 400.", _HTTP),
        ("modern:name-base64", "Mcp-Name may be wrapped in base64; broken wrapping is -32020.", _HTTP),
        (
            "modern:unsupported-version",
            "An unknown version is -32022 with supported and requested.",
            _VERSIONING,
        ),
        ("modern:unknown-method", "An unknown or removed method is -32601 with 404.", _HTTP),
        ("modern:initialize", "initialize that claims the modern era is an unknown method.", _VERSIONING),
        ("modern:client-info", "Client info may be missing.", _BASIC),
        ("modern:extra-params", "Unknown params and _meta keys are ignored.", _BASIC),
        ("modern:result-type", "Every result has resultType and the server's info in _meta.", _BASIC),
        ("modern:caching", "Lists and discover have ttlMs and cacheScope, calls have not.", _CACHING),
        ("modern:discover", "server/discover says versions, capabilities and instructions.", _VERSIONING),
        # Legacy era
        (
            "legacy:initialize",
            "initialize echoes a supported legacy version, else offers the newest.",
            _LIFECYCLE,
        ),
        ("legacy:stateless", "Requests are served without a handshake before them.", "product"),
        ("legacy:ping", "ping is answered with an empty result.", "2025-11-25 basic/utilities/ping"),
        ("legacy:missing-header", "Without a version header the oldest revision is assumed.", _LEGACY_HTTP),
        ("legacy:bad-header", "An unsupported version header is refused with 400.", _LEGACY_HTTP),
        ("legacy:errors-200", "JSON-RPC errors of well-formed requests travel with 200.", _LEGACY_HTTP),
        ("legacy:fields", "A revision gets no field that its schema does not know.", "product"),
        # Methods
        ("methods:capabilities", "Declared capabilities are those that work.", _VERSIONING),
        (
            "methods:one-page",
            "A cursor that was never given out is -32602.",
            "2026-07-28 server/utilities/pagination",
        ),
        ("methods:instructions", "The instructions tell an assistant how to begin.", "product"),
        ("methods:crash", "A fault of ours is -32603 without a word of the inside.", _BASIC),
        ("prompts:list", "prompts/list gives prompts with their arguments.", "2026-07-28 server/prompts"),
        (
            "prompts:get",
            "prompts/get renders; unknown prompts and arguments are -32602.",
            "2026-07-28 server/prompts",
        ),
        (
            "prompts:arguments",
            "A wrong value of a prompt's argument is -32602 that says what it could be.",
            "2026-07-28 server/prompts",
        ),
        (
            "prompts:calls",
            "The calls that a prompt's text names exist, take its arguments and work in its order.",
            "product",
        ),
        ("prompts:write", "A prompt names what writes only to a credential that may.", "product"),
        (
            "completion:complete",
            "completion/complete suggests values that the account has; unknown prompts and arguments are -32602.",
            "2026-07-28 server/utilities/completion",
        ),
        (
            "completion:limit",
            "At most 100 values, with how many there are and whether there are more.",
            "2026-07-28 server/utilities/completion",
        ),
        (
            "completion:context",
            "Arguments given already narrow what is suggested.",
            "2026-07-28 server/utilities/completion",
        ),
        (
            "resources:empty",
            "Resource lists are empty; reading is 'not found'.",
            "2026-07-28 server/resources",
        ),
        (
            "resources:read",
            "Each listed resource, and each name of a template, is read as text of its type.",
            "2026-07-28 server/resources",
        ),
        (
            "skills:verified",
            "Each file of each skill has the size, digest and frontmatter of its entry.",
            "extension io.modelcontextprotocol/skills",
        ),
        # Tools
        ("tools:order", "tools/list has the same order every time.", _TOOLS),
        ("tools:by-credential", "tools/list shows what the credential may call.", "product"),
        ("tools:schemas", "Schemas are objects without references that every revision can read.", _TOOLS),
        ("tools:annotations", "All hints are spelled out; only a destructive tool says so.", _TOOLS),
        ("tools:hosts", "Converters of hosts keep every tool, argument and description.", "product"),
        ("tools:size", "All tool definitions together stay under 36 KB.", "product"),
        ("tools:names", "A name is registered once, and nothing after the start.", "product"),
        ("tools:unknown", "An unknown tool or a malformed call is -32602.", _TOOLS),
        (
            "tools:arguments",
            "Bad arguments are an error result that says how to repair them.",
            "2025-11-25 server/tools",
        ),
        ("tools:kindness", "Unambiguous arguments of the wrong type are taken.", "product"),
        (
            "tools:unknown-argument",
            "An unknown argument is refused by name with the nearest valid ones.",
            "product",
        ),
        ("tools:answer", "Text and structured content each carry the complete answer.", _TOOLS),
        (
            "tools:output-schema",
            "No output schema hides fields of an answer, which fits its type.",
            "product",
        ),
        ("tools:answer-size", "One copy of an answer stays under 25 KB.", "product"),
        ("tools:rounding", "Amounts are JSON numbers of at most six places, rounded at the end.", "product"),
        ("tools:money", "An amount has its currency beside it.", "interface"),
        ("tools:read-only", "A read tool cannot change anything.", "interface"),
        ("tools:write-key", "A write tool with a read key is an error result; nothing changes.", "interface"),
        (
            "tools:step-up",
            "A write tool with a read-only OAuth token is 403 insufficient_scope.",
            _AUTHORIZATION,
        ),
        ("tools:timeout", "A tool that runs too long is stopped and says so.", "product"),
        ("tools:crash", "A tool that fails says an incident number and nothing of the inside.", "product"),
        # Clients
        ("clients:sdk", "The official Python client connects, lists and calls in every mode.", "product"),
        (
            "clients:typescript",
            "The official TypeScript client connects, lists and calls in every mode.",
            "product",
        ),
        ("clients:inspector", "Inspector's command line works, and its lint finds nothing.", "product"),
        ("clients:mcp-remote", "mcp-remote works with a key in a static header.", "product"),
        (
            "clients:oauth",
            "Clients that register or have a document sign in, refresh and step up by themselves.",
            "product",
        ),
        (
            "clients:conformance-suite",
            "The official suite fails where it needs fixtures of its own, and nowhere else.",
            "product",
        ),
    )
}
