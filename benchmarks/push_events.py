"""Bodies of realistic pushes."""

from __future__ import annotations

import json
import random
from typing import Any

BATCH = 1_000
CUSTOMERS = 400


def bodies(size: int, *, wrong: int = 0, count: int = 8) -> list[bytes]:
    """Return bodies of realistic events. Every nth event has an invalid quantity."""
    chance = random.Random(size)
    return [
        json.dumps({"events": [_event(chance, at, wrong) for at in range(size)]}).encode()
        for _ in range(count)
    ]


def with_event_ids(body: bytes, prefix: str) -> bytes:
    """Return the body with an event_id in each event: the prefix and the event's number."""
    events = json.loads(body)["events"]
    return json.dumps(
        {"events": [{**each, "event_id": f"{prefix}-{at}"} for at, each in enumerate(events)]}
    ).encode()


def _event(chance: random.Random, at: int, wrong: int) -> dict[str, Any]:
    customer, minute, second = chance.randrange(CUSTOMERS), chance.randrange(60), chance.randrange(60)
    moments = (
        f"2026-11-20T12:{minute:02}:{second:02}Z",
        f"2026-11-20T13:{minute:02}:{second:02}.{chance.randrange(10**6):06}+01:00",
        f"2026-11-20 12:{minute:02}:{second:02}",
    )
    return {
        "customer_id": f"cust-{customer:04}",
        "customer_name": f"Customer {customer}",
        "metric": chance.choice(("api_requests", "orders", "gigabytes")),
        "unit": "units",
        "quantity": "x"
        if wrong and at % wrong
        else chance.choice((chance.randrange(100), round(chance.random() * 99, 3))),
        "dimensions": {
            "region": chance.choice(("eu-west-1", "us-east-1")),
            "plan": chance.choice(("free", "pro", "enterprise")),
            "endpoint": chance.choice(("/v1/search", "/v1/orders")),
        },
        "timestamp": moments[at % 3],
    }
