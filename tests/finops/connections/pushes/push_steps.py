"""Pushing cost as a program does: a source with a key, HTTP through Django's client, and the worker's turn."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from typing import Any

from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.models import CostPush
from finops.connections.services import push_run
from finops.connections.services.cost_keys import CostCredential, authenticate_cost_key, create_pushed_source
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.factories.imports import cost_by
from tests.finops.costs.focus_reader import ROW, as_csv

PUSHES = "/api/costs/pushes"
MONTHS = "/api/costs/months"
MAY = "2026-05"


@dataclasses.dataclass(frozen=True)
class CostPushClient:
    """/api/costs as one source of an account reaches it."""

    source: CostSource
    key: str

    @property
    def page(self) -> str:
        return f"/a/{self.source.account.slug}/connections/{self.source.pk}/"

    def send(self, method: str, path: str, body: bytes | str | object = b"", **headers: str) -> Any:
        """Keywords are headers. What is no text is sent as JSON."""
        content = body if isinstance(body, bytes | str) else json.dumps(body)
        every = {"authorization": f"Bearer {self.key}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return Client().generic(method, path, content, content_type="application/octet-stream", headers=every)

    def open(self, month: str = MAY) -> str:
        """A new push: its address."""
        answer = self.send("POST", PUSHES, {"month": month})
        assert answer.status_code == 201, answer.content
        return f"{PUSHES}/{answer.json()['id']}"

    def put(self, push: str, number: int, body: bytes | str | object, **headers: str) -> Any:
        return self.send("PUT", f"{push}/parts/{number}", body, **headers)

    def commit(self, push: str, parts: int) -> Any:
        return self.send("POST", f"{push}/commit", {"parts": parts})

    def status(self, push: str) -> dict[str, Any]:
        answer = self.send("GET", push)
        assert answer.status_code == 200, answer.content
        status: dict[str, Any] = answer.json()
        return status

    def push(self, *parts: bytes | str | object, month: str = MAY) -> dict[str, Any]:
        """These parts of a month, committed and imported: what its status is then."""
        push = self.open(month)
        for number, part in enumerate(parts, 1):
            answer = self.put(push, number, part)
            assert answer.status_code == 200, answer.content
        assert self.commit(push, len(parts)).status_code == 202
        run_pushes()
        return self.status(push)

    def push_month(self, body: bytes | str | object, month: str = MAY) -> dict[str, Any]:
        """The one call: what its status is once the worker had its turn."""
        answer = self.send("POST", f"{MONTHS}/{month}", body)
        assert answer.status_code == 202, answer.content
        run_pushes()
        return self.status(f"{PUSHES}/{answer.json()['id']}")

    def billed(self) -> dict[str | None, Decimal]:
        """What the source's account has of each month."""
        sums = cost_by(self.source.account, "billing_period")
        return {month: amounts[0] for month, amounts in sums.items()}


def create_cost_client(cast: Cast, account: Account | None = None, name: str = "LiteLLM") -> CostPushClient:
    source, _key, plaintext = create_pushed_source(
        account=account or cast.account, actor=cast.actor, name=name
    )
    return CostPushClient(source, plaintext)


def credential_of(cost_client: CostPushClient) -> CostCredential:
    credential = authenticate_cost_key(cost_client.key)
    assert credential is not None
    return credential


def row(cost: str | Decimal | int = "1.5", **columns: Any) -> dict[str, Any]:
    """A FOCUS row of JSON in May."""
    return {**ROW, "BilledCost": cost, "EffectiveCost": cost, **columns}


def csv_rows(*costs: str, **columns: str) -> bytes:
    """A FOCUS file of May with a line for each cost."""
    return as_csv(*({"BilledCost": cost, "EffectiveCost": cost, **columns} for cost in costs))


def run_pushes() -> None:
    """The worker's turn, until nothing is left to do."""
    for _account_id, push_id in push_run.unfinished_pushes():
        push_run.run_push(push_id)


def push_of(cost_client: CostPushClient) -> CostPush:
    """The newest push of the source."""
    with account_scope(cost_client.source.account):
        return CostPush.objects.filter(source=cost_client.source)[0]
