"""The two eras of MCP on one URL: which era a message belongs to, which methods it may call, and the HTTP status of
the response.

* Modern (2026-07-28) is stateless: each request names its revision in `params._meta` and in headers. Its checks run in a fixed order, and the first
  that fails decides the error.
* Legacy (three revisions) starts with `initialize`; later requests name the revision in a header. The server keeps no state between them, so there is
  no session.

Legacy clients treat every HTTP status but 2xx as a failed connection and ignore the body: their JSON-RPC errors are
sent with 200.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import logging
import re
import time
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any

from mcpserver import jsonrpc
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import (
    MAX_BATCH,
    Code,
    Id,
    Invalid,
    Message,
    MessageBatch,
    Request,
    RpcError,
    RpcNotification,
)
from mcpserver.method_context import META_CAPABILITIES, META_SERVER, Method, MethodContext, Result, Server
from mcpserver.methods import METHODS
from mcpserver.results import InsufficientScope, new_incident
from mcpserver.revisions import MODERN, OLDEST, REVISIONS, Revision, legacy

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
NOT_RUN = -32001
"""The error of a request in a batch that was not started; it is the SDKs' RequestTimeout, so that a client knows it
may send it again."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"

BATCH_SECONDS = 5.0
"""No request of a batch starts later than this. A batch occupies one slot of the server and needs few bytes, so it
may keep others waiting no longer than a few single requests do."""
_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NAMES = frozenset(revision.name for revision in REVISIONS)
_SENTINEL = re.compile(r"=\?base64\?(.*)\?=")

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Headers:
    """The request headers of the protocol, stripped of whitespace; None if missing."""

    version: str | None = None
    method: str | None = None
    name: str | None = None


@dataclasses.dataclass(frozen=True)
class Reply:
    """An HTTP status and a JSON body, or no body."""

    status: int
    body: bytes = b""


def answer(body: bytes, headers: Headers, server: Server, call: ToolCall) -> Reply:
    """Return the reply to one POST body. Raises only InsufficientScope."""
    try:
        message = jsonrpc.parse(body)
    except RpcError as error:
        return _refusal(error)
    if isinstance(message, MessageBatch):
        return _answer_batch(message, headers, server, call)
    if isinstance(message, Invalid):
        return _refusal(message.error, message.id)
    if not isinstance(message, Request):
        return _accept(message, headers)
    if _is_modern(message, headers):
        return _answer_modern(message, headers, server, call)
    if headers.version is not None and headers.version not in _NAMES and message.method != "initialize":
        return _refusal(_unsupported_version_error(headers.version), message.id)
    return _answer_legacy(message, headers, server, call)


def count_requests(body: bytes) -> int:
    """The number of requests that a body may contain, for the rate limit: an upper bound, since each begins with a
    brace."""
    return min(body.count(b"{"), MAX_BATCH) if body.lstrip()[:1] == b"[" else 1


def _refusal(error: RpcError, id_: Id | None = None) -> Reply:
    return Reply(HTTPStatus.BAD_REQUEST, jsonrpc.encode_error(error, id_))


def _accept(message: Message, headers: Headers) -> Reply:
    """Accept notifications, and responses to requests that the server never sends, without an effect."""
    if headers.version is not None and headers.version not in _NAMES:
        return _refusal(_unsupported_version_error(headers.version))
    if headers.version == MODERN.name and not isinstance(message, RpcNotification):
        return _refusal(
            RpcError(Code.INVALID_REQUEST, ("A client must send requests or notifications, not responses."))
        )
    return Reply(HTTPStatus.ACCEPTED)


def _is_modern(request: Request, headers: Headers) -> bool:
    """Whether the message is of the modern era. The body decides first: a legacy client behind a modern proxy may
    send modern headers."""
    meta = request.params.get("_meta")
    if isinstance(meta, dict) and META_VERSION in meta:
        return True
    return request.method != "initialize" and headers.version == MODERN.name


# Modern


def _answer_modern(request: Request, headers: Headers, server: Server, call: ToolCall) -> Reply:
    try:
        _validate_request_headers(request, headers)
    except RpcError as error:
        return _refusal(error, request.id)
    method = _method(request, MODERN)
    if method is None:
        return Reply(HTTPStatus.NOT_FOUND, jsonrpc.encode_error(_method_not_found_error(request), request.id))
    return _call_method(request, method, server, MODERN, call)


def _validate_request_headers(request: Request, headers: Headers) -> None:
    """Check the headers in the order that the conformance suite expects. Raises RpcError at the first check that
    fails."""
    version = _meta_version(request.params)
    if headers.version != version:
        raise RpcError(HEADER_MISMATCH, "MCP-Protocol-Version header does not match the request body")
    if headers.method != request.method:
        raise RpcError(HEADER_MISMATCH, "Mcp-Method header does not match the request body")
    name_param = _NAME_PARAMS.get(request.method)
    if name_param and _decode_header(headers.name) != request.params.get(name_param):
        raise RpcError(HEADER_MISMATCH, "Mcp-Name header does not match the request body")
    if version != MODERN.name:
        raise _unsupported_version_error(version, [MODERN])  # only it is named in the body


def _meta_version(params: Mapping[str, Any]) -> str:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise RpcError(
            Code.INVALID_PARAMS, f"params._meta is required, with {META_VERSION} and {META_CAPABILITIES}"
        )
    version = meta.get(META_VERSION)
    if not isinstance(version, str):
        raise RpcError(Code.INVALID_PARAMS, f"params._meta needs {META_VERSION}, a string")
    if not isinstance(meta.get(META_CAPABILITIES), dict):
        raise RpcError(Code.INVALID_PARAMS, f"params._meta needs {META_CAPABILITIES}, an object")
    return version


def _decode_header(value: str | None) -> str | None:
    """Decode a header value in base64. Raises RpcError for invalid encoding."""
    wrapped = _SENTINEL.fullmatch(value) if value else None
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise RpcError(HEADER_MISMATCH, "Mcp-Name header is not valid base64 of UTF-8") from error


def _unsupported_version_error(version: str, revisions: Collection[Revision] = REVISIONS) -> RpcError:
    supported = [revision.name for revision in revisions]
    message = f"Unsupported protocol version. Supported: {', '.join(supported)}."
    return RpcError(UNSUPPORTED_VERSION, message, data={"supported": supported, "requested": version})


# Legacy


def _answer_legacy(request: Request, headers: Headers, server: Server, call: ToolCall) -> Reply:
    """Reply to a legacy request. One without a version header is of the oldest revision, since later ones require the
    header."""
    revision = legacy(headers.version) or OLDEST
    method = _method(request, revision)
    if method is None:
        return Reply(HTTPStatus.OK, jsonrpc.encode_error(_method_not_found_error(request), request.id))
    return _call_method(request, method, server, revision, call)


def _answer_batch(batch: MessageBatch, headers: Headers, server: Server, call: ToolCall) -> Reply:
    revision = OLDEST if headers.version is None else legacy(headers.version)
    if revision is None or not revision.has_batches:
        return _refusal(
            RpcError(
                Code.INVALID_REQUEST, ("Batches are only supported in revision 2025-03-26. Send one message.")
            )
        )
    if not 0 < len(batch.messages) <= MAX_BATCH:
        return _refusal(RpcError(Code.INVALID_REQUEST, f"A batch must have 1 to {MAX_BATCH} messages."))
    end = time.monotonic() + BATCH_SECONDS
    answers = [reply for item in batch.messages if (reply := _answer_item(item, headers, server, call, end))]
    return Reply(HTTPStatus.OK, jsonrpc.encode_batch(answers)) if answers else Reply(HTTPStatus.ACCEPTED)


def _answer_item(item: Message, headers: Headers, server: Server, call: ToolCall, end: float) -> bytes | None:
    if isinstance(item, Invalid):
        return jsonrpc.encode_error(item.error, item.id)
    if not isinstance(item, Request):
        return None
    if item.method == "initialize":
        return jsonrpc.encode_error(
            RpcError(Code.INVALID_REQUEST, "initialize must not be in a batch."), item.id
        )
    if time.monotonic() > end:
        late = (
            "Not run, nothing was changed: earlier requests of the batch took more than "
            f"{BATCH_SECONDS:.0f} s. Send it again, alone or in a smaller batch."
        )
        return jsonrpc.encode_error(RpcError(NOT_RUN, late), item.id)
    return _answer_legacy(item, headers, server, call).body


# Both


def _method(request: Request, revision: Revision) -> Method | None:
    method = METHODS.get(request.method)
    if method is None or not (method.modern if revision.modern else method.legacy):
        return None
    return method


def _method_not_found_error(request: Request) -> RpcError:
    return RpcError(Code.METHOD_NOT_FOUND, f"Method not found: {request.method[:64]}")


def _call_method(
    request: Request, method: Method, server: Server, revision: Revision, call: ToolCall
) -> Reply:
    """The method's response. Its errors are sent with status 200 in both eras, since all clients read them there."""
    try:
        result = method.answer(
            MethodContext(server=server, params=request.params, revision=revision, call=call)
        )
        if revision.modern:
            result = _modern_result(result, method, server)
        return Reply(HTTPStatus.OK, jsonrpc.encode_result(request.id, result))
    except RpcError as error:
        return Reply(HTTPStatus.OK, jsonrpc.encode_error(error, request.id))
    except InsufficientScope:
        raise
    except Exception:
        incident = new_incident()
        log.exception("incident %s: method %s failed", incident, request.method)
        failure = RpcError(Code.INTERNAL_ERROR, f"Internal error (incident {incident})")
        return Reply(HTTPStatus.OK, jsonrpc.encode_error(failure, request.id))


def _modern_result(result: Result, method: Method, server: Server) -> Result:
    cache_fields = (
        {"ttlMs": method.cache.seconds * 1000, "cacheScope": method.cache.scope} if method.cache else {}
    )
    meta = {META_SERVER: server.info(MODERN), **result.get("_meta", {})}
    return {"resultType": "complete", **cache_fields, **result, "_meta": meta}
