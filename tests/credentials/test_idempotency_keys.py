"""An Idempotency-Key belongs to the source that sends it, at every endpoint of programs that push. A new endpoint joins by
itself, and asks here for a body."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.test import Client

from accounts.key_endpoint import KeyEndpoint
from finops.change_events.models import ChangeEvent
from finops.change_events.services.keys import regenerate_event_key, revoke_event_key
from finops.connections.models import CostPush
from finops.connections.views.push import NoPath
from ingestion import services
from ingestion.models import UsageBatch
from tests.cast import Cast
from tests.finops.change_events.event_client import create_event_client
from tests.finops.connections.pushes.push_steps import create_cost_client, row
from tests.ingestion.formats.test_cloudevents import cloudevent
from tests.ingestion.formats.test_otlp import delta, point, request_of
from tests.ingestion.push_client import create_push_client
from tests.ingestion.push_client import event as usage_event
from tests.isolation.discovery import routes

KEY: Final = "k"
_numbers = itertools.count(1)

BODIES: dict[str, Callable[[], object]] = {
    "api/usage/events": lambda: {"events": [usage_event()]},
    # Their events have an id, which belongs to the account: each is another event.
    "api/usage/cloudevents": lambda: cloudevent(id=str(next(_numbers))),
    "api/usage/openmeter/api/v1/events": lambda: cloudevent(id=str(next(_numbers))),
    "api/usage/otlp/v1/metrics": lambda: request_of(delta(point(), name=f"calls {next(_numbers)}")),
    "api/events": lambda: {"events": [{"kind": "release", "title": "v1"}]},
    "api/costs/pushes": lambda: {"month": "2026-05"},
    "api/costs/months/<str:month>": lambda: {"rows": [row()]},
}
OF_A_PUSH = {"api/costs/pushes/<str:push_id>/parts/<str:number>", "api/costs/pushes/<str:push_id>/commit"}
"""They name a push of their source, and another source's is not found."""

each_path = pytest.mark.parametrize("path", BODIES)
each_keyed_path = pytest.mark.parametrize("path", [path for path in BODIES if "costs" not in path])


def send(path: str, key: str, body: object) -> Any:
    url = "/" + path.replace("<str:month>", "2026-05")
    headers = {"authorization": f"Bearer {key}", "idempotency-key": KEY}
    answer = Client().post(url, json.dumps(body), "application/json", headers=headers)
    assert answer.status_code < 300, answer.content
    return answer


def create_source(path: str, cast: Cast, name: str) -> Any:
    if path.startswith("api/events"):
        return create_event_client(cast, name=name)
    if path.startswith("api/costs"):
        return create_cost_client(cast, name=name)
    return create_push_client(cast, name=name)


def stored(path: str, source_id: int) -> int:
    """The number of pushes that are stored of a source; of change events, for which there is none, of events."""
    model: Any = UsageBatch
    if path.startswith("api/events"):
        model = ChangeEvent
    if path.startswith("api/costs"):
        model = CostPush
    return int(model.objects.unscoped().filter(source_id=source_id).count())


def test_every_endpoint_that_takes_a_push_is_here() -> None:
    endpoints = {
        route.path
        for route in routes()
        if (view := getattr(route.view, "cls", None)) is not None
        and issubclass(view, KeyEndpoint)
        and view is not NoPath
        and {"post", "put"} & set(view.http_method_names)
    }

    assert endpoints == BODIES.keys() | OF_A_PUSH


@each_path
def test_the_same_key_of_two_sources_is_two_pushes(cast: Cast, path: str) -> None:
    clients = [create_source(path, cast, name) for name in ("First", "Second")]

    answers = [send(path, client.key, BODIES[path]()) for client in clients]

    assert [stored(path, client.source.pk) for client in clients] == [1, 1]
    assert not any("Idempotent-Replayed" in answer.headers for answer in answers)
    assert len({answer.headers.get("Usage-Batch-Id", number) for number, answer in enumerate(answers)}) == 2


@each_keyed_path
def test_a_retry_by_its_own_source_is_the_same_push(cast: Cast, path: str) -> None:
    client, body = create_source(path, cast, "Backend"), BODIES[path]()
    first = send(path, client.key, body)

    again = send(path, client.key, body)

    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert stored(path, client.source.pk) == 1


@each_keyed_path
def test_a_new_key_of_the_source_continues_and_a_revoked_one_gets_nothing(cast: Cast, path: str) -> None:
    client, body = create_source(path, cast, "Backend"), BODIES[path]()
    of_events = path.startswith("api/events")
    regenerate = regenerate_event_key if of_events else services.regenerate_usage_key
    revoke = revoke_event_key if of_events else services.revoke_usage_key
    first = send(path, client.key, body)

    _key, new_key = regenerate(source=client.source, actor=cast.actor)
    again = send(path, new_key, body)
    assert (again.content, stored(path, client.source.pk)) == (first.content, 1)

    revoke(source=client.source, actor=cast.actor)
    headers = {"authorization": f"Bearer {new_key}", "idempotency-key": KEY}
    refused = Client().post(f"/{path}", json.dumps(body), "application/json", headers=headers)
    assert (refused.status_code, "Idempotent-Replayed" in refused.headers) == (401, False)
