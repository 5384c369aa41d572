"""Inputs that no well-behaved client sends: values of fields, JSON bodies near a valid one, whole requests."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st

from tests.finops.costs.focus_reader import as_csv

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
BOUNDARY: Final = "b0undary"
MULTIPART: Final = f"multipart/form-data; boundary={BOUNDARY}"

LONE: Final = "\ud800"
DEEP: Final = "[" * 20_000

HOSTILE: Final = (
    *("", " ", "\0", "a\0b", LONE, f"a{LONE}", "\udc00b", "\ufeff", "\u202e", "\ufffd", "é", "\x85", "\r\n"),
    *("-1", "0", "9" * 400, "9" * 5000, "9223372036854775808", "2147483648", "1e999", "-1e-999", "NaN", "Infinity", "²", "٣"),
    *("2026-02-30", "0001-01-01", "9999-12-31", "10000-01-01", "2026-13", "0000", "0001-01", "9999-12", "\uff12\uff10\uff12\uff16-05", "2026-W54", "23:60", "24:00"),
    *("[]", "{}", "[1", "null", "[null]", "[[]]", '[{"a": 1}]', '"\\ud800"', '["\\ud800"]', '{"a": "\\u0000"}', "[1e999]", "[NaN]", DEEP),
    *('{"a":' * 5_000, "- \0", "a: *b", "&a [*a]", "!!python/object:x.y {}", "a: 1\na: 2", "? []"),
    *("http://[", "https://x:y/", "https://a:99999/", "//", "javascript:0", "a@", "@", "a@b@c", "a" * 3000, "..", "../x"),
    *("%00", "%zz", "%", "'\"<>", "$1", "{{ x }}", "=1+1", "true", "on", "None", "undefined"),
)  # fmt: skip
"""Texts at the edges of what code reads from a field: text, numbers, days, JSON, YAML, addresses."""

texts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=12)


@dataclasses.dataclass(frozen=True)
class Sent:
    """A request: its query and body as they go over the wire."""

    method: str = "POST"
    query: str = ""
    content_type: str = FORM
    body: bytes = b""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Fields(dict[str, list[str]]):
    """Plausible values by name; none for a field that no form has. `files` are the names of fields that take files."""

    def __init__(self) -> None:
        super().__init__()
        self.files: set[str] = set()


def encoded(text: str) -> bytes:
    """The text as bytes: a lone surrogate as three, which are not UTF-8."""
    return text.encode(errors="surrogatepass")


def as_form(pairs: list[tuple[str, str]]) -> str:
    return "&".join("=".join(quote_from_bytes(encoded(text)) for text in pair) for pair in pairs)


def as_multipart(pairs: list[tuple[str, str]], files: Mapping[str, bytes]) -> bytes:
    """The fields, those of `files` as files."""
    parts = [(encoded(name), b"", encoded(value)) for name, value in pairs if name not in files]
    parts += [(encoded(name), b'; filename="f.csv"', content) for name, content in files.items()]
    body = b"".join(
        b'--%b\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n' % (BOUNDARY.encode(), *part)
        for part in parts
    )
    return body + f"--{BOUNDARY}--\r\n".encode()


SAMPLES: Final = (
    b"""customer_id,metric,quantity,timestamp,unit,customer_name,event_id,plan
c-1,requests,1.5,2026-03-01T12:00:00Z,calls,Ann,e-1,pro
"c,2","a ""b""\",-2,2026-03-02,,,,
""",
    as_csv({"Tags": '{"a": "b"}', "RegionId": "eu"}, {"ChargeDescription": 'x, "y"\nz'}, {"BilledCost": "-1e-3"}),
    b"date,from,to,rate\n2026-03-01,EUR,USD,1.0876\n2026-03-02,EUR,GBP,0.85\n",
    b"model,token_type,price_per_million,currency,valid_from\ngpt-5,input,2.5,USD,2026-01-01\n",
    b"key: env\ndescription: x\nrules:\n  - value: prod\n    when: {tag: env, in: [prod]}\n",
)  # fmt: skip
"""Files that a page takes: usage, cost as FOCUS, exchange rates, AI prices, a cost tag."""


def files(samples: Sequence[bytes] = SAMPLES) -> st.SearchStrategy[bytes]:
    """Files near one of the samples: a cell replaced, bytes put in, an end cut off, another encoding."""
    cells = st.builds(_with_cell, st.sampled_from(samples), st.integers(0), texts)
    damaged = st.builds(
        _with_bytes, st.sampled_from(samples), st.integers(0), st.sampled_from(_BYTES) | st.binary(max_size=4)
    )
    cut = st.builds(
        lambda sample, place: sample[: place % len(sample)], st.sampled_from(samples), st.integers(0)
    )
    encodings = st.sampled_from(["utf-16", "utf-8-sig", "utf-32", "utf-7", "cp037"])
    encoded = st.builds(
        lambda sample, name: sample.decode().encode(name, "replace"), st.sampled_from(samples), encodings
    )
    packed = st.builds(gzip.compress, cells | damaged)
    return cells | cells | damaged | cut | encoded | packed | st.binary(max_size=60)


def _with_cell(sample: bytes, place: int, text: str) -> bytes:
    cells = re.split(rb"([,\n])", sample)
    cells[place % len(cells)] = encoded(text)
    return b"".join(cells)


def _with_bytes(sample: bytes, place: int, more: bytes) -> bytes:
    at = place % (len(sample) + 1)
    return sample[:at] + more + sample[at:]


def requests(fields: Fields, valid: object = None) -> st.SearchStrategy[Sent]:
    """Requests with some of the fields, each with one of its plausible values or a hostile one. `valid`: a JSON body that
    the endpoint accepts."""
    names = sorted(fields)
    field = st.sampled_from(names) if names else st.just("x")
    pairs = st.lists(st.tuples(field, texts), max_size=4)
    # The plausible ones of all fields, most of the time, so that what comes after the first check is reached.
    base = st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in fields.items() if values}
    )
    whole = st.tuples(base, pairs).map(_joined)
    forms = whole.map(lambda sent: Sent(body=as_form(sent).encode()))
    uploads = st.dictionaries(
        st.sampled_from(sorted(fields.files)) if fields.files else field, files(), max_size=2
    )
    multiparts = st.tuples(whole, uploads).map(
        lambda sent: Sent(content_type=MULTIPART, body=as_multipart(*sent))
    )
    bodies = json_bodies(valid).map(lambda body: Sent(content_type=JSON, body=body))
    gets = whole.map(lambda sent: Sent(method="GET", query=as_form(sent)))
    raw = st.tuples(
        st.sampled_from(["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
        st.sampled_from([FORM, JSON, MULTIPART, "", "text/plain", "multipart/form-data", "application/json; charset=nope", f"{FORM}; charset=utf-16"]),
        st.binary(max_size=40),
        st.sampled_from(["", "%ff=%ff", "a=1&a=2", "%00", "=", ";"]),
    ).map(lambda sent: Sent(method=sent[0], content_type=sent[1], body=sent[2], query=sent[3]))  # fmt: skip
    if valid is not None:
        return bodies | bodies | bodies | raw
    return forms | forms | multiparts | gets | raw | bodies


def _joined(sent: tuple[dict[str, str], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """A hostile value replaces the plausible one, and comes twice where two were drawn."""
    base, pairs = sent
    replaced = {name for name, _value in pairs}
    return [(name, value) for name, value in base.items() if name not in replaced] + pairs


def json_bodies(valid: object) -> st.SearchStrategy[bytes]:
    """JSON bodies: the valid one with a value, a name or some bytes replaced."""
    text = json.dumps(valid)
    places = list(_places(valid))
    return st.one_of(
        st.tuples(st.sampled_from(places), _leaves).map(lambda drawn: _replaced(valid, *drawn)),
        st.tuples(st.integers(0, len(text)), st.sampled_from(_BYTES)).map(
            lambda drawn: text[: drawn[0]].encode() + drawn[1] + text[drawn[0] :].encode()
        ),
        st.sampled_from([text.encode("utf-16"), b"\xef\xbb\xbf" + text.encode(), text.encode() * 2, text.encode()]),
        st.integers(0, len(text)).map(lambda end: text[:end].encode()),
    )  # fmt: skip


def edges(valid: object) -> list[bytes]:
    """The valid body with each value and each name replaced by the ones that most parsers stumble over, and with bytes that
    are not UTF-8 in each text."""
    bodies = [_replaced(valid, place, new) for place in _places(valid) for new in (LONE, "\0", 10**400)]
    text = json.dumps(valid).encode()
    quotes = [at + 1 for at, byte in enumerate(text) if byte == ord('"')]
    return bodies + [text[:at] + b"\xff" + text[at:] for at in quotes] + [DEEP.encode(), b'{"a":' * 5_000]


_BYTES: Final = (
    b"\xff", b"\xed\xa0\x80", b"\xc3\x28", b"\xf8", b"\0", b"\\ud800", b"\\uDFFF", b"\\u0000", b"\\", b'"', b",", b"]", b"}",
    b"9" * 5000, b"1e999", b"[" * 20_000, b'{"a":' * 5000, b"NaN", b"-", b"'", b"//",
)  # fmt: skip
_SCALARS: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**31, 2**63, 2**64, 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf"), *HOSTILE, [], {}, [[]],
    [None], {"": ""}, {"\0": LONE},
)  # fmt: skip
_leaves = st.sampled_from(_SCALARS) | st.recursive(
    st.sampled_from(_SCALARS) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to each value of a JSON document; with a trailing None to each name of an object."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*path, name, None)
            yield from _places(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _replaced(value: object, path: tuple[Any, ...], new: object) -> bytes:
    return json.dumps(_with(value, path, new)).encode()


def _with(value: Any, path: tuple[Any, ...], new: object) -> object:
    if not path:
        return new
    step, deeper = path[0], path[1:]
    if deeper == (None,):
        name = new if isinstance(new, str) else json.dumps(new)
        return {name if key == step else key: inner for key, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, deeper, new) if index == step else inner for index, inner in enumerate(value)]
    return {key: _with(inner, deeper, new) if key == step else inner for key, inner in value.items()}
