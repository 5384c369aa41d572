"""Pushing as a customer's backend does: a source with a key, HTTP through Django's client, what is in the inbox."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.test import Client

from accounts.models import Account
from finops.lake.usage import inbox as lake_inbox
from finops.lake.usage.payload import decode
from ingestion import services
from ingestion.models import UsageKey, UsageSource
from ingestion.parsing import Batch, check_batch
from ingestion.services.keys import PushCredential, authenticate_usage_key
from tests.cast import Cast

PATH = "/api/usage/events"
MOMENT = "2026-11-20T12:00:00Z"


def event(**fields: Any) -> dict[str, Any]:
    """A valid event; a field given as ... is left out."""
    whole = {"customer_id": "cust-1", "metric": "requests", "quantity": 1, "timestamp": MOMENT, **fields}
    return {name: value for name, value in whole.items() if value is not ...}


@dataclasses.dataclass(frozen=True)
class PushClient:
    """The push endpoint as one source of an account reaches it."""

    source: UsageSource
    key: str

    @property
    def page(self) -> str:
        """The address of the source's page."""
        return f"/a/{self.source.account.slug}/connections/usage/{self.source.pk}/"

    def send(self, body: bytes | str, *, method: str = "POST", path: str = "", **headers: str) -> Any:
        """`path`: what comes after the endpoint's, as in ?dry_run=true. Keywords are headers."""
        all_headers = {
            "authorization": f"Bearer {self.key}",
            **{name.replace("_", "-"): headers[name] for name in headers},
        }
        return Client().generic(
            method,
            PATH + path,
            body,
            content_type="application/json",
            headers={k: v for k, v in all_headers.items() if v},
        )

    def push(self, *events: Any, **headers: str) -> Any:
        return self.send(json.dumps({"events": events}), **headers)

    def errors(self, *events: Any) -> dict[int, str]:
        """Reasons by index, of an answer whose counts are right."""
        return reasons(self.push(*events), submitted=len(events))

    def error(self, **fields: Any) -> str:
        """What the endpoint says of one event; empty when it takes it."""
        return self.errors(event(**fields)).get(0, "")


def reasons(answer: Any, *, submitted: int) -> dict[int, str]:
    assert answer.status_code == 200, answer.content
    result = answer.json()
    assert result.keys() == {"accepted", "rejected", "errors"}
    assert result["accepted"] + result["rejected"] == submitted
    assert len(result["errors"]) == result["rejected"]
    indexes = [error["index"] for error in result["errors"]]
    assert indexes == sorted(set(indexes))
    assert all(error.keys() == {"index", "error"} for error in result["errors"])
    return {error["index"]: error["error"] for error in result["errors"]}


def create_push_client(cast: Cast, account: Account | None = None, name: str = "Backend") -> PushClient:
    source = services.create_usage_source(account=account or cast.account, actor=cast.actor, name=name)
    _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)
    return PushClient(source, plaintext)


def credential_of(push_client: PushClient) -> PushCredential:
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None
    return credential


def batch_of(*events: dict[str, Any]) -> Batch:
    """What the endpoint makes of a body with these events."""
    return check_batch(json.dumps({"events": events}).encode())


def key_of(source: UsageSource) -> UsageKey | None:
    return UsageKey.objects.unscoped().filter(source_id=source.pk, revoked_at=None).first()


@dataclasses.dataclass(frozen=True)
class InboxRow:
    """A row of the inbox."""

    account_id: int
    source_id: int
    batch: str
    position: int
    received_at: datetime
    event_time: datetime
    customer_id: str
    metric: str
    unit: str | None
    quantity: Decimal
    dimensions: dict[str, str] | None


def inbox() -> list[InboxRow]:
    """Everything in the inbox, of every account, in the order of batches and positions.

    Of accounts that exist: between tests in real transactions only Django's tables are emptied.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT account_id, payload, size, events FROM lake_usageinbox "
            "WHERE account_id IN (SELECT id FROM accounts_account)"
        )
        payloads = [
            (account_id, lake_inbox.payload_of_row(tuple(columns)))
            for account_id, *columns in cursor.fetchall()
        ]
    rows = [
        _inbox_row(account_id, row) for account_id, value in payloads for row in decode([value]).to_pylist()
    ]
    return sorted(rows, key=lambda row: (row.received_at, row.batch, row.position))


def _inbox_row(account_id: int, row: dict[str, Any]) -> InboxRow:
    values = {name: value for name, value in row.items() if name not in ("source", "day", "dimensions")}
    dimensions = row["dimensions"] and json.loads(row["dimensions"])
    return InboxRow(account_id=account_id, source_id=int(row["source"]), dimensions=dimensions, **values)


def event_id_rows() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ingestion_usageeventid")
        row = cursor.fetchone()
    return int(row[0]) if row else 0
