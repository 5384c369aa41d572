"""Sending change events as a pipeline does: a source with a key, HTTP through Django's client, what is stored."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from django.test import Client

from finops.change_events.models import ChangeEvent, EventSource
from finops.change_events.services.keys import generate_event_key
from finops.change_events.services.sources import create_event_source
from tests.cast import Cast

PATH = "/api/events"
MOMENT = "2026-11-20T12:00:00Z"


def event(**fields: Any) -> dict[str, Any]:
    """A valid event; a field given as ... is left out."""
    whole = {"kind": "deployment", "title": "checkout v142", "occurred_at": MOMENT, **fields}
    return {name: value for name, value in whole.items() if value is not ...}


@dataclasses.dataclass(frozen=True)
class EventClient:
    """/api/events as one source of an account reaches it."""

    source: EventSource
    key: str

    @property
    def page(self) -> str:
        return f"/a/{self.source.account.slug}/connections/events/{self.source.pk}/"

    def send(self, body: bytes | str, *, method: str = "POST", path: str = "", **headers: str) -> Any:
        """`path`: what comes after the endpoint's, as in ?dry_run=true. Keywords are headers."""
        all_headers = {
            "authorization": f"Bearer {self.key}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return Client().generic(
            method, PATH + path, body, content_type="application/json", headers=all_headers
        )

    def push(self, *events: Any, **options: str) -> Any:
        return self.send(json.dumps({"events": events}), **options)


def create_event_client(cast: Cast, name: str = "Pipeline") -> EventClient:
    source = create_event_source(account=cast.account, actor=cast.actor, name=name)
    return EventClient(source, generate_event_key(source=source, actor=cast.actor)[1])


def stored_events() -> list[ChangeEvent]:
    """Of every account, the oldest first."""
    return list(ChangeEvent.objects.unscoped().order_by("id"))


def reasons(answer: Any, *, submitted: int) -> dict[int, str]:
    """What was rejected, by index, of a request whose answer counts every event once."""
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert list(body) == ["accepted", "rejected", "errors"]
    assert body["accepted"] + body["rejected"] == submitted
    assert body["rejected"] == len(body["errors"]) == int(answer.headers["Events-Rejected"])
    return {each["index"]: each["error"] for each in body["errors"]}
