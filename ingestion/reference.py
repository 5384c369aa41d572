"""Reference of the push endpoint for its page, generated from the OpenAPI document and the rules, and snippets to
push a first event.

Nothing is written twice: a limit or a message that changes in the code changes on the page.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from accounts.snippets import Snippet
from finops.lib import clock
from finops.lib.openapi_reference import (
    Field,
    Parameter,
    ResponseStatus,
    Schema,
    fields_of,
    headers_of,
    parameter_of,
    status_of,
)
from ingestion.events import (
    LONG_DIMENSION_KEY,
    MAX_CUSTOMER_ID,
    MAX_DIMENSION_KEYS,
    MAX_EVENT_ID,
    MAX_METRIC,
    NOT_AN_OBJECT,
    OTHER_CONTENT,
    QUANTITY_LIMIT,
    TOO_MANY_KEYS,
    violation,
)
from ingestion.openapi import document

PATH: Final = "/api/usage/events"


@dataclass(frozen=True)
class RejectionMessage:
    """A rejection message and its reason."""

    error: str
    when: str


@dataclass(frozen=True)
class Reference:
    fields: list[Field]
    parameters: list[Parameter]
    headers: list[Parameter]
    statuses: list[ResponseStatus]
    messages: list[RejectionMessage]


def reference() -> Reference:
    """Return the content of the page."""
    whole = document()
    post: Schema = whole["paths"][PATH]["post"]
    event: Schema = whole["components"]["schemas"]["UsageEvent"]
    return Reference(
        fields=fields_of(event),
        parameters=[parameter_of(schema) for schema in post["parameters"]],
        headers=headers_of(post["responses"]["200"]),
        statuses=[status_of(code, response) for code, response in post["responses"].items()],
        messages=list(_messages()),
    )


_VALID: Final[dict[str, Any]] = {
    "customer_id": "c",
    "metric": "m",
    "quantity": Decimal(1),
    "timestamp": "2026-11-20T12:00:00Z",
}
_WRONG: Final[tuple[tuple[str, Any, str], ...]] = (
    ("customer_id", "c" * (MAX_CUSTOMER_ID + 1), "missing, empty, blank, too long, or not a string"),
    ("customer_name", 1, "neither a string nor null"),
    ("metric", "m" * (MAX_METRIC + 1), "missing, empty, blank, too long, or not a string"),
    ("unit", 1, "neither a string nor null"),
    ("unit", " ", "blank"),
    ("quantity", "5", 'missing, or not a JSON number, such as "5" or true'),
    ("quantity", Decimal(QUANTITY_LIMIT), "10^20 or more in size, before or after rounding to 12 places"),
    ("dimensions", [], "another type, or a value that is not a string"),
    (
        "timestamp",
        "soon",
        "missing, without year, month or day, or ambiguous; the message states what to write",
    ),
    ("event_id", "i" * (MAX_EVENT_ID + 1), "empty, too long, or neither a string nor null"),
)


def _messages() -> Iterator[RejectionMessage]:
    yield RejectionMessage(NOT_AN_OBJECT, "another type")
    for field, value, when in _WRONG:
        yield RejectionMessage(violation({**_VALID, field: value}) or "", when)
    yield RejectionMessage(LONG_DIMENSION_KEY, "a longer key")
    when = f"the source has {MAX_DIMENSION_KEYS:,} keys, and this event has another; events with known keys are still accepted"
    yield RejectionMessage(TOO_MANY_KEYS, when)
    yield RejectionMessage(OTHER_CONTENT, "an event with this event_id and other content is stored")


_CLIENTS: Final = Path(settings.BASE_DIR) / "clients"


@functools.cache
def client_snippets() -> list[Snippet]:
    """Return the push clients as complete files to copy: they send batches, retry and return rejected events."""
    return [
        Snippet(
            "python-client",
            "Python client",
            "Save as finops_usage.py. Standard library only, Python 3.9 or later.",
            (_CLIENTS / "python" / "finops_usage.py").read_text(),
        ),
        Snippet(
            "node-client",
            "Node.js client",
            "Save as finops-usage.mjs. No package needed, Node 18 or later.",
            (_CLIENTS / "node" / "finops-usage.mjs").read_text(),
        ),
    ]


@dataclass(frozen=True)
class OtherFormat:
    """An endpoint for backends with another event format."""

    title: str
    url: str


def other_formats() -> list[OtherFormat]:
    """Return the endpoints for events in other formats, with the same key."""
    return [
        OtherFormat("CloudEvents", f"{settings.PUBLIC_URL}/api/usage/cloudevents"),
        OtherFormat("OpenMeter clients, LiteLLM (base URL)", f"{settings.PUBLIC_URL}/api/usage/openmeter"),
        OtherFormat("OpenTelemetry metrics (OTLP/HTTP)", f"{settings.PUBLIC_URL}/api/usage/otlp/v1/metrics"),
    ]


def snippets_for(url: str, key: str) -> list[Snippet]:
    """Return snippets for the push endpoint at `url` and a plaintext key; each sends one event with the current time."""
    return [
        Snippet("curl", "curl", "Run in a terminal.", _curl(url, key)),
        Snippet("python", "Python", "Standard library only, Python 3.7 or later.", _python(url, key)),
        Snippet("node", "Node.js", "No package needed, Node 18 or later.", _node(url, key)),
    ]


def _event() -> dict[str, object]:
    return {
        "customer_id": "customer-1",
        "customer_name": "First customer",
        "metric": "api_requests",
        "unit": "requests",
        "quantity": 1,
        "dimensions": {"region": "eu"},
        "timestamp": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _curl(url: str, key: str) -> str:
    body = json.dumps({"events": [_event()]}, indent=2)
    return f"curl {url} \\\n  -H \"Authorization: Bearer {key}\" \\\n  -d '{body}'"


def _python(url: str, key: str) -> str:
    event = json.dumps(_event(), indent=4)
    return f"""import json, urllib.request

events = [{event}]  # up to 1,000 in one request
request = urllib.request.Request(
    "{url}",
    data=json.dumps({{"events": events}}).encode(),
    headers={{"Authorization": "Bearer {key}", "Content-Type": "application/json"}},
)
answer = json.load(urllib.request.urlopen(request, timeout=30))
print(answer)  # {{"accepted": 1, "rejected": 0, "errors": []}}
"""


def _node(url: str, key: str) -> str:
    event = json.dumps(_event(), indent=2)
    return f"""(async () => {{
  const events = [{event}]; // up to 1,000 in one request
  const answer = await fetch("{url}", {{
    method: "POST",
    headers: {{ Authorization: "Bearer {key}", "Content-Type": "application/json" }},
    body: JSON.stringify({{ events }}),
  }});
  console.log(await answer.json()); // {{ accepted: 1, rejected: 0, errors: [] }}
}})();
"""
