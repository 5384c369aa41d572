"""Events that no client would send, and their JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.ingestion.push_client import MOMENT

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "",
        " ",
        "\u00a0\t",
        "\u200b\ufeff",
        "\u3164",
        "\u200bx",
        "a\0",
        "x" * 255,
        "x" * 256,
        "😀" * 100,
        "😀" * 101,
        "\ud800",
        "a\udc00b",
    ]
)
numbers = (
    st.integers(-(10**21), 10**21)
    | st.decimals(allow_nan=False, allow_infinity=False, places=13)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        [
            Decimal("1E-12"),
            Decimal("1E-13"),
            Decimal("1E+19"),
            Decimal("1E+20"),
            Decimal("9" * 5_000),
            Decimal("-0"),
            Decimal("-1E-13"),
            Decimal("0.0000000000005"),
            Decimal("0.0000000000015"),
            Decimal("0.00000000000050000000000000000000000001"),
            Decimal("0.30000000000000004"),
            Decimal("99999999999999999999.9999999999995"),
            Decimal("-99999999999999999999.9999999999994"),
        ]
    )
)
moments = st.datetimes().map(str) | st.sampled_from(
    [
        MOMENT,
        "Fri, 20 Nov 2026 12:00:00 GMT",
        "20 Nov 2026",
        "Nov 2026",
        "",
        "2026-11-20 12:00 XYZ",
        "2026-11-20 12:00 Europe/Berlin",
        "1763640000",
        "-2026-11-20",
        MOMENT + "\0",
    ]
)
dimensions = st.dictionaries(texts, texts, max_size=3)
other_values = st.none() | st.booleans() | texts | numbers | dimensions | st.lists(texts, max_size=2)
FIELDS = {
    "customer_id": texts,
    "customer_name": texts,
    "metric": texts,
    "unit": texts,
    "quantity": numbers,
    "dimensions": dimensions,
    "timestamp": moments,
    "event_id": texts,
    "unknown": other_values,
}
valid = st.fixed_dictionaries(
    {
        "customer_id": st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12),
        "metric": st.just("requests"),
        "quantity": st.integers(-5, 5)
        | st.decimals("-9", "9", places=12)
        | st.decimals("-9", "9", places=14)
        | st.floats(0, 100).map(lambda number: Decimal(repr(number))),
        "timestamp": st.datetimes().map(str),
    },
    optional={
        "customer_name": texts,
        "unit": texts,
        "dimensions": dimensions,
        "event_id": st.sampled_from(["a", "b", "x" * 255, "😀" * 255]),
    },
)
likely = st.fixed_dictionaries(
    {}, optional={name: kind | other_values if name != "unknown" else kind for name, kind in FIELDS.items()}
)
nearly = st.builds(lambda good, wrong: {**good, **wrong}, valid, likely)
events = valid | nearly | likely | other_values


def as_json(value: Any) -> str:
    """JSON with Decimals as they are; json.dumps would make floats of them."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{as_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    return json.dumps(value)


def body_of(batch: list[Any]) -> bytes:
    return ('{"events":' + as_json(batch) + "}").encode()
