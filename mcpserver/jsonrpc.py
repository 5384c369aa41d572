"""JSON-RPC 2.0: parses messages and encodes results. Independent of HTTP and MCP.

Two rules are stricter than the standard, as every MCP revision requires: `params` is an object (clients in PHP write an
empty one as `[]`), and an id is a string or an integer. An error about a message whose id cannot be read has no `id` member (`null` is in no MCP schema); only
refusals by HTTP have `null`, as the standard requires, since their reader need not know MCP.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from finops.lib.sentences import escape_hidden

MAX_DEPTH = 64  # real messages are less deep, and each level costs stack in code that recurses
MAX_BATCH = 50

NOT_JSON = (
    "The body is not valid JSON, or nested too deeply. NaN, numbers beyond 1e308 and lone "
    "surrogates are not allowed."
)

Id = str | int


class Code(enum.IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


class RpcError(Exception):
    """An error that is returned as a JSON-RPC error object."""

    def __init__(self, code: int, message: str, *, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclasses.dataclass(frozen=True)
class Request:
    id: Id
    method: str
    params: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class RpcNotification:
    method: str
    params: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class ResponseMessage:
    """A response, although this server sends no requests."""


@dataclasses.dataclass(frozen=True)
class Invalid:
    """Valid JSON that is not a message. `id` is the id in the JSON, if it can be read."""

    error: RpcError
    id: Id | None = None


Message = Request | RpcNotification | ResponseMessage | Invalid


@dataclasses.dataclass(frozen=True)
class MessageBatch:
    """A batch; of more than MAX_BATCH messages only MAX_BATCH + 1, enough to refuse it: a MiB holds half a million."""

    messages: tuple[Message, ...]


_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder(decimal_format="number")


def parse(body: bytes) -> Message | MessageBatch:
    """Return the message in a body. Raises RpcError(PARSE_ERROR) for invalid JSON."""
    value = decode(body)
    if isinstance(value, list):
        return MessageBatch(tuple(_message(item) for item in value[: MAX_BATCH + 1]))
    return _message(value)


def decode(body: bytes) -> Any:
    """Return the value in a body. Raises RpcError(PARSE_ERROR) for JSON that is invalid or nested too deeply."""
    try:
        value = _decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise RpcError(Code.PARSE_ERROR, NOT_JSON) from error
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise RpcError(Code.PARSE_ERROR, f"The body is nested deeper than {MAX_DEPTH} levels.")
    return value


def _deeper_than(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _message(value: Any) -> Message:
    if not isinstance(value, dict):
        return _invalid("A message must be a JSON object.")
    id_ = value.get("id")
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        id_ = None
    if value.get("jsonrpc") != "2.0":
        return _invalid('A message must have "jsonrpc": "2.0".', id_)
    if "method" not in value:
        return (
            ResponseMessage()
            if "result" in value or "error" in value
            else _invalid("A message must have a method.", id_)
        )
    return _call(value, id_)


def _call(value: dict[str, Any], id_: Id | None) -> Message:
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str):
        return _invalid("method must be a string.", id_)
    if not isinstance(params, dict) and params != []:
        return _invalid("params must be an object.", id_)
    if "id" not in value:
        return RpcNotification(method, params or {})
    if id_ is None:
        return _invalid("id must be a string or an integer.")
    return Request(id_, method, params or {})


def _invalid(message: str, id_: Id | None = None) -> Invalid:
    return Invalid(RpcError(Code.INVALID_REQUEST, message), id_)


def encode_result(id_: Id, result: Any) -> bytes:
    return _encoder.encode({"jsonrpc": "2.0", "id": id_, "result": result})


def encode_error(error: RpcError, id_: Id | None = None) -> bytes:
    error_object: dict[str, Any] = {"code": int(error.code), "message": escape_hidden(error.message)}
    if error.data is not None:
        error_object["data"] = error.data
    id_member = {} if id_ is None else {"id": id_}
    return _encoder.encode({"jsonrpc": "2.0", **id_member, "error": error_object})


def encode_refusal(error: RpcError, id_: Id | None) -> bytes:
    """Encode the error of a request refused by HTTP; `id` is null if it could not be read."""
    error_object = {"code": int(error.code), "message": error.message}
    return _encoder.encode({"jsonrpc": "2.0", "id": id_, "error": error_object})


class _IdOnly(msgspec.Struct):
    id: Any = None


_id_decoder = msgspec.json.Decoder(_IdOnly)


def read_id(body: bytes) -> Id | None:
    """Return the id of a body with one request; None for any other. Skips the rest: about 1 ms for a MiB."""
    try:
        id_ = _id_decoder.decode(body).id
    except (ValueError, RecursionError):
        return None
    return id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None


def encode_batch(answers: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(answers) + b"]"
