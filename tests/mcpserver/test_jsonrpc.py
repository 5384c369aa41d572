from __future__ import annotations

import json

import pytest

from mcpserver import jsonrpc
from mcpserver.jsonrpc import Code, Invalid, MessageBatch, Request, ResponseMessage, RpcError, RpcNotification
from tests.conformance.requirements import requirement

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def parse(value: object) -> jsonrpc.Message | MessageBatch:
    return jsonrpc.parse(json.dumps(value).encode())


@requirement("rpc:parse-error")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"nul",
        b"NaN",
        b'{"a": Infinity}',
        b"\xff\xfe",
        b'"\\ud800"',
        b"\xef\xbb\xbf{}",
        b"1e999",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 65 + b"]" * 65,
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + b"[" * 70 + b"]" * 70 + b"}}",
        b"1" * 5_000,
    ],
)
def test_invalid_json_is_a_parse_error(body: bytes) -> None:
    with pytest.raises(RpcError) as error:
        jsonrpc.parse(body)

    assert error.value.code == Code.PARSE_ERROR


@requirement("rpc:invalid-request", "rpc:id-omitted")
@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "text",
        {},
        {**REQUEST, "id": None},
        {**REQUEST, "id": True},
        {**REQUEST, "id": 1.0},
        {**REQUEST, "id": [1]},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "method": 7},
        {"jsonrpc": "2.0", "method": "m", "params": [1]},
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_without_id(value: object) -> None:
    message = parse(value)

    assert isinstance(message, Invalid)
    assert message.error.code == Code.INVALID_REQUEST
    assert message.id is None
    assert b'"id"' not in jsonrpc.encode_error(message.error, message.id)


@requirement("rpc:invalid-request", "rpc:id-echo")
@pytest.mark.parametrize(
    "change", [{"jsonrpc": "1.0"}, {"jsonrpc": None}, {"method": 7}, {"params": [1]}, {"params": None}]
)
def test_an_id_that_can_be_read_is_kept(change: dict[str, object]) -> None:
    message = parse({**REQUEST, **change})

    assert isinstance(message, Invalid)
    assert message.id == 1


@pytest.mark.parametrize("id_", [0, -1, 2**63, 10**40, "", "a", "1", "ключ"])
def test_a_request_has_its_id_as_it_came(id_: str | int) -> None:
    message = parse({**REQUEST, "id": id_})

    assert message == Request(id_, "ping", {})
    assert json.loads(jsonrpc.encode_result(id_, {}))["id"] == id_


def test_messages_are_distinguished() -> None:
    assert parse({"jsonrpc": "2.0", "method": "n", "params": {"a": 1}}) == RpcNotification("n", {"a": 1})
    assert parse({"jsonrpc": "2.0", "id": 1, "result": {}}) == ResponseMessage()
    assert parse({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}) == ResponseMessage()
    batch = parse([REQUEST, 7])
    assert isinstance(batch, MessageBatch)
    assert [type(message) for message in batch.messages] == [Request, Invalid]


def test_many_brackets_that_are_not_deep_are_fine() -> None:
    wide = {**REQUEST, "params": {"rows": [[index] for index in range(500)]}}

    assert isinstance(parse(wide), Request)
