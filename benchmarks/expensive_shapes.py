"""Expensive requests by endpoint: each shape returns a body (or query string) of about the given size."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from itertools import count, cycle
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq

Shape = Callable[[int], bytes]
Shapes = dict[str, Shape]

_number = count()
"""A counter that makes every query different, because results are cached."""


def around(before: bytes, repeated: bytes, after: bytes) -> Shape:
    return lambda size: before + repeated * (size // len(repeated)) + after


# Pushes

VALID = b'{"customer_id":"a","metric":"m","timestamp":"2026-11-20T00:00:00Z","quantity":1%s}'
_QUANTITY = VALID.replace(b"1%s", b"%s")


def _events(event: bytes, repeated: bytes = b"", *, most: int = 1_000) -> Shape:
    """Return events of equal size; `event` has a %s that is filled with as much of `repeated` as fits."""

    def shape(size: int) -> bytes:
        events = max(1, min(most, size // (len(event) + len(repeated) + 1)))
        room = max(0, size // events - len(event))
        filled_event = event % (repeated * (room // len(repeated))) if repeated else event
        return b'{"events":[' + b",".join([filled_event] * events) + b"]}"

    return shape


def _dimensions(size: int) -> bytes:
    keys = ",".join(f'"key {at % 1_000}":"v"' for at in range(max(1, min(1_000, size // 15))))
    event = VALID % (',"dimensions":{' + keys + "}").encode()
    return b'{"events":[' + b",".join([event] * max(1, min(1_000, size // len(event)))) + b"]}"


def _new(fields: str) -> Shape:
    """Return events with names that no earlier push used."""

    def shape(size: int) -> bytes:
        run = next(_number)
        text = '{"timestamp":"2026-11-20T00:00:00Z","quantity":1,' + fields + "}"
        events = max(1, min(1_000, size // len(text)))
        return ('{"events":[' + ",".join(text % f"{run} {at}" for at in range(events)) + "]}").encode()

    return shape


def _gzip(shape: Shape) -> Shape:
    return lambda size: gzip.compress(shape(size), 6)


PUSHES: Shapes = {
    "open brackets": around(b"", b"[", b""),
    "deep": around(b'{"events":', b"[", b""),
    "deep event": around(b'{"events":[', b'{"a":', b""),
    "zeros": around(b'{"events":[', b"0,", b"0]}"),
    "zeros in an event": around(b'{"events":[[', b"0,", b"0]]}"),
    "lists before": around(b'{"a":[', b"[],", b'0],"events":[0]}'),
    "fields": around(b"{", b'"":0,', b'"events":[0]}'),
    "lone surrogates": around(b'{"events":["', rb"\ud800", b'"]}'),
    "escapes": _events(VALID % b',"customer_name":"%s"', rb"\u00e9"),
    "empty events": _events(b"{}"),
    "one field often": _events(b'{"quantity":1%s}', b',"quantity":1'),
    "unit of blanks": _events(VALID % b',"unit":"%sx"', "\u200b".encode()),
    "long wrong quantities": _events(VALID.replace(b"1%s", b'"%s"'), b"9"),
    "long quantities": _events(_QUANTITY, b"9"),
    "long fractions": _events(VALID.replace(b"1%s", b"0.%s1"), b"0"),
    "exponents": _events(_QUANTITY.replace(b"%s", b"1e-99999999")),
    "dimensions": _dimensions,
    "odd timestamps": _events(b'{"customer_id":"a","metric":"m","quantity":1,"timestamp":"%s"}', b"20 Nov "),
    "all customers new": _new('"customer_id":"%s","metric":"m"'),
    "all event ids new": _new('"customer_id":"a","metric":"m","event_id":"%s"'),
    "all metrics new": _new('"customer_id":"a","metric":"%s"'),
}
PACKED: Shapes = {
    **{name: _gzip(shape) for name, shape in PUSHES.items()},
    "members": lambda size: gzip.compress(b"") * (size // 20),
    "stored bytes": lambda size: gzip.compress(PUSHES["zeros"](size), 0),
}


# Messages of MCP


def call(tool: str, arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def _single(message: Callable[[], bytes]) -> Shape:
    return lambda _size: message()


def batch(most: int, message: Callable[[], bytes]) -> Shape:
    def shape(size: int) -> bytes:
        each = max(1, min(most, size // (len(message()) + 1)))
        return b"[" + b",".join(message() for _ in range(each)) + b"]"

    return shape


def _filters(op: str, length: int = 6) -> Shape:
    def shape(size: int) -> bytes:
        values = [f"{at:0{length}}" for at in range(max(1, size // (length + 3)))]
        return _spend(filters=[{"dimension": "service", "op": op, "values": values}])

    return shape


def _nest(size: int) -> bytes:
    arguments = b'{"filters":' * 40 + b"[" + b"[]," * (size // 3) + b"0]" + b"}" * 40
    return call("querySpend", None).replace(b"null", arguments)


_COMPLETION = (
    b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt",'
    b'"name":"cost_review"},"argument":{"name":"period","value":"l"}}}'
)
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
MESSAGES: Shapes = {
    "long dimension": lambda size: call("querySpend", {"group_by": ["x" * size]}),
    "unknown arguments": lambda size: call("querySpend", {f"group_b{at}": 0 for at in range(size // 14)}),
    "long number": lambda size: call("querySpend", {}).replace(b"{}", b'{"top":' + b"9" * size + b"}"),
    "unknown tool": lambda size: call("x" * size, {}),
    "long id": lambda size: PING.replace(b":1,", b':"' + rb"\u0001" * (size // 6) + b'",'),
    "one key often": around(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{', b'"a":1,', b'"a":1}}'),
    "nested": _nest,
    "deep": around(b'{"a":', b"[", b""),
    "lists": around(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[', b"[],", b"0]}}"),
    "batch of pings": batch(50, lambda: PING),
    "batch of nothing": around(b"[", b"0,", b"0]"),
    "batch of lists": batch(50, lambda: PING.replace(b"ping", b"tools/list")),
    "batch of unknown tools": batch(50, lambda: call("listx", {})),
    "batch of completions": batch(50, lambda: _COMPLETION),
}


# Questions to the lake. None is asked twice, since answers are kept: days differ.


def _other_days() -> dict[str, str]:
    at = next(_number)
    start, end = date(2025, 1, 1) + timedelta(at % 300), date(2026, 11, 19) - timedelta(at // 300)
    return {"start_date": f"{start}", "end_date": f"{end}"}


def _spend(**arguments: Any) -> bytes:
    return call("querySpend", {**arguments, **_other_days()})


_QUESTIONS: dict[str, Callable[[], bytes]] = {
    "spend": _spend,
    "spend by tag and month": lambda: _spend(group_by=["service", "tag:env"], granularity="month"),
    "spend by resource and week": lambda: _spend(group_by=["resource", "account"], granularity="week"),
    "spend change": lambda: call("explainSpendChange", _other_days()),
    "usage": lambda: call("queryUsage", {"metric": "requests", "group_by": ["customer"], **_other_days()}),
    "unit cost": lambda: call("queryUnitCost", {"usage_metric": "requests", **_other_days()}),
    "cost tag": lambda: call("queryCostTag", {"cost_tag": "environment", **_other_days()}),
    "values": lambda: call("listDimensionValues", {"dimension": "resource", **_other_days()}),
    "recommended tags": lambda: call("listTagRecommendations", {"limit": 1 + next(_number) % 50}),
    "budgets": lambda: call("listBudgets", {"limit": 1 + next(_number) % 50}),
}
QUESTIONS: Shapes = {
    **{name: _single(ask) for name, ask in _QUESTIONS.items()},
    **{f"values {op}": _filters(op) for op in ("in", "not_in", "contains", "starts_with")},
    "a long value": lambda size: _filters("contains", size)(1),
    "a long metric": lambda size: call("queryUsage", {"metric": "x" * size}),
}
BATCHES: Shapes = {
    "spend": batch(50, _spend),
    "spend by tag and month": batch(50, _QUESTIONS["spend by tag and month"]),
    "all kinds": lambda size: batch(50, _each_kind(cycle(_QUESTIONS.values())))(size),
}


def _each_kind(kinds: Iterator[Callable[[], bytes]]) -> Callable[[], bytes]:
    return lambda: next(kinds)()


# Forms, documents and query strings


FORMS: Shapes = {
    "fields": around(b"", b"a=1&", b"b=2"),
    "percents": around(b"login=", b"%41", b"&password=x"),
    "bad percents": around(b"login=", b"%f", b"&password=x"),
    "long password": around(b"login=a%40b.c&password=", b"x", b""),
    "long address": around(b"password=x&login=", b"a@", b""),
    "long token": around(b"grant_type=refresh_token&refresh_token=", b"x", b""),
    "scopes": around(b"grant_type=refresh_token&scope=", b"mcp:read+", b""),
    "code": around(b"grant_type=authorization_code&code=x&code_verifier=", b"x", b""),
}
TRIES: Shapes = {
    "unknown address": lambda size: b"login=a%d%%40b.c&password=" % next(_number) + b"x" * size,
    "known address": lambda size: b"login=owner%40demo.example&password=" + b"x" * size,
    **{name: FORMS[name] for name in ("fields", "percents", "bad percents", "long address")},
}
SIGN_UPS: Shapes = {
    "new address": lambda size: urlencode(
        {"email": f"a{next(_number)}@b.example", "password1": "correct horse battery " + "x" * size}
    ).encode(),
    "password alike the address": lambda size: urlencode(
        {"email": f"{'ab' * min(60, size)}{next(_number)}@b.example", "password1": "ab" * size}
    ).encode(),
    "long address": around(b"password1=x&email=", b"a@", b""),
    "labels": around(b"password1=x&email=a%40", b"a.", b"example"),
}
RESETS: Shapes = {
    "unknown address": lambda size: b"email=a%d%%40b.c" % next(_number) + b"x" * size,
    "long address": around(b"email=", b"a@", b""),
    "labels": around(b"email=a%40", b"a.", b"example"),
    "fields": FORMS["fields"],
}
REGISTRATIONS: Shapes = {
    "addresses": lambda size: json.dumps(
        {"redirect_uris": [f"https://example.com/{at}" for at in range(size // 30)]}
    ).encode(),
    "long address": lambda size: json.dumps(
        {"redirect_uris": ["https://example.com/" + "a" * size]}
    ).encode(),
    "deep": around(b'{"redirect_uris":', b"[", b""),
    "lists": around(b'{"redirect_uris":[', b"[],", b"0]}"),
    "long name": lambda size: json.dumps(
        {"redirect_uris": ["https://example.com/"], "client_name": "\u202e" * size}
    ).encode(),
}


def _query(**fields: Any) -> Shape:
    def shape(size: int) -> bytes:
        filled = {name: value(size) if callable(value) else value for name, value in fields.items()}
        return urlencode({**filled, "n": next(_number)}, doseq=True).encode()

    return shape


def _values(size: int) -> list[str]:
    return [f"{at:04}" for at in range(min(900, size // 8))]


QUERIES: Shapes = {
    "fields": around(b"", b"a=1&", b"b=2"),
    "other days": lambda _size: urlencode(_other_days()).encode(),
    "values": _query(f0="service", f0op="in", f0v=_values),
    "values contain": _query(f0="service", f0op="contains", f0v=_values),
    "a long value": _query(f0="service", f0op="contains", f0v=lambda size: "x" * size),
    "a long dimension": _query(f0="x", f0v="1", group_by=lambda size: "x" * size),
    "values of an unknown tag": _query(f0="tag:nothing", f0v=_values),
    "percents": around(b"period=", b"%41", b""),
    "by day for years": _query(
        start_date="2020-01-01", end_date="2026-11-20", granularity="day", group_by=["service"], top="50"
    ),
    "by day and resource": lambda _size: urlencode(
        {**_other_days(), "granularity": "month", "group_by": ["service", "resource"], "top": 50}, doseq=True
    ).encode(),
    "many filters": lambda size: "&".join(
        f"f{at}=service&f{at}op=not_in&f{at}v={'x' * 40}" for at in range(min(20, max(1, size // 70)))
    ).encode(),
}
AUTHORIZATIONS: Shapes = {
    name: QUERIES[name] for name in ("fields", "percents", "a long value", "a long dimension")
} | {
    "long client": around(b"client_id=", b"x", b""),
    "a document": around(b"client_id=https://a/", b"x", b""),
}


# Cost tags


def _rules(size: int, value: Callable[[int], str], *, tests: int = 50) -> str:
    every = [
        {"dimension": "service", "op": "contains", "values": [value(at)]} for at in range(max(1, size // 80))
    ]
    rules = [
        {"when": {"any": every[at : at + tests]}, "value": f"x{at}"} for at in range(0, len(every), tests)
    ]
    return json.dumps(rules)


def _form(rules: str) -> bytes:
    return urlencode({"key": "x", "rules": rules}).encode()


TAGS: Shapes = {
    "conditions": lambda size: _form(_rules(size, str)),
    "rules": lambda size: _form(_rules(size, str, tests=1)),
    "one condition": lambda size: _form(
        json.dumps(
            [
                {
                    "when": {
                        "dimension": "service",
                        "op": "contains",
                        "values": [f"{at}" for at in range(size // 8)],
                    },
                    "value": "x",
                }
            ]
        )
    ),
    "deep": lambda size: _form("[" * size),
    "deep conditions": lambda size: _form('[{"value":"x","when":' + '{"not":' * (size // 7)),
    "long values": lambda size: _form(_rules(size // 20, lambda at: f"{at}" + "x" * 900)),
}
YAML: Shapes = {
    "list": lambda size: urlencode({"text": "rules: [" + "a," * (size // 2) + "]"}, safe=":[],").encode(),
    "deep": lambda size: urlencode({"text": "[" * size}, safe="[").encode(),
    "keys": lambda size: urlencode(
        {"text": "{" + ",".join(f"k{at}: " for at in range(size // 8)) + "}"}, safe="{},:"
    ).encode(),
}


# Uploads

BOUNDARY = "finops"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
HUB_COLUMNS = ("recommendation_id", "action_type", "estimated_monthly_savings_after_discount")


def form_with_file(content: bytes, **fields: object) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'.encode()
    return b"".join([*parts, head, content, f"\r\n--{BOUNDARY}--\r\n".encode()])


def _parquet(columns: Sequence[str], rows: Callable[[int], int], text: Callable[[int], str]) -> Shape:
    def shape(size: int) -> bytes:
        column = pa.DictionaryArray.from_arrays(pa.array([0] * rows(size), pa.int32()), [text(size)])
        file = io.BytesIO()
        pq.write_table(pa.table(dict.fromkeys(columns, column)), file, compression="zstd")
        return file.getvalue()

    return shape


def _in_form(shape: Shape, source: int) -> Shape:
    return lambda size: form_with_file(shape(size), source=source)


def files(source: int) -> Shapes:
    header = ",".join(HUB_COLUMNS).encode() + b"\n"
    wide = [*HUB_COLUMNS, "action_type", "resource_arn", "resource_type", "region", "account_id"]
    contents: Shapes = {
        "rows": around(header, b"a,Stop,1\n", b""),
        "blank lines": around(header, b"\n", b""),
        "one field": around(header + b'"', b"x", b'"'),
        "columns": around(header.strip(), b",a", b"\n" + b"a,Stop,1\n"),
        "gzip": lambda size: gzip.compress(header + b"a,Stop,1\n" * (size * 20)),
        "gzip of blank lines": lambda size: gzip.compress(header + b"\n" * (size * 50)),
        "Parquet of one value": _parquet(wide, lambda size: min(65_536, size), lambda _: "x"),
        "Parquet of one long value": _parquet(
            wide, lambda size: min(1_000, size // 8), lambda _: "x" * 65_536
        ),
    }
    return {
        **{name: _in_form(shape, source) for name, shape in contents.items()},
        "parts": around(
            b"",
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.encode(),
            f"--{BOUNDARY}--\r\n".encode(),
        ),
        "boundaries": around(b"", f"--{BOUNDARY}\r\n".encode(), b""),
        "headers": around(f"--{BOUNDARY}\r\n".encode(), b"a: b\r\n", b"\r\n"),
    }
