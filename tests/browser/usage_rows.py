"""Usage rows for the browser tests, created inside the server's process."""

from __future__ import annotations

import json
from datetime import timedelta

from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from ingestion import services
from ingestion.models import UsageUpload
from ingestion.tasks import run_due_uploads
from tests.cast import ACTOR
from tests.periodic_tasks import run_due

PATH = "/api/usage/events"


def run_uploads() -> list[str]:
    """Run due uploads, as a worker does."""
    run_due(run_due_uploads)
    return [job.status for job in UsageUpload.objects.unscoped()]


def busy_source(name: str) -> int:
    """Create a source of Acme that pushed in each of the last hours, with errors. Return its id."""
    account = Account.objects.get(slug="acme")
    actor = ACTOR
    with account_scope(account):
        source = services.create_usage_source(account=account, actor=actor, name=name)
        _key, plaintext = services.generate_usage_key(source=source, actor=actor)
    now = clock.now()
    for back in range(12):
        with clock.frozen(now - timedelta(hours=11 - back)):
            _push(plaintext, back)
    return source.pk


def _push(key: str, number: int) -> None:
    good = {
        "customer_id": "globex",
        "metric": "requests",
        "unit": "call",
        "quantity": 3,
        "timestamp": "2026-11-19",
    }
    bad = {**good, "quantity": "3"} if number % 2 else {**good, "customer_id": "", "note": "n" * 300}
    events = [good] * (7 * number + 1) + [bad] * (number % 3)
    body = json.dumps({"events": events})
    headers = {"authorization": f"Bearer {key}"}
    answer = Client().post(PATH, body, content_type="application/json", headers=headers)
    assert answer.status_code == 200, answer.content
