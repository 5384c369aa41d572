"""Every task: its arguments are ids, the account first, and it finds nothing of another account."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ObjectDoesNotExist

from accounts.models import Account
from accounts.scoping import account_scope
from finops.audit_webhooks.services import create_audit_webhook
from finops.celery import app
from finops.insights.anomalies.parts import DetectionPart, DetectionPlan, store
from tests.cast import ACTOR, Cast
from tests.isolation.discovery import OUR_PREFIXES, fingerprint
from tests.isolation.rows import MAKERS

app.loader.import_default_modules()
TASKS = {name: task.run for name, task in app.tasks.items() if task.run.__module__.startswith(OUR_PREFIXES)}

# Tasks that look over all accounts, each with its reason. They take no arguments.
SWEEPS = {
    "accounts.sweep_connections": "deletes what has ended, by its own dates, and clients of no account",
    "accounts.send_invitations_due": "asks the database which invitations are to be mailed, and queues them by account",
    "accounts.send_unsent_mails": "sends the mails of sign-up and reset that are kept, which are of no account",
    "finops.note_worker": "notes that a worker of its queue lives, which is nobody's",
    "accounts.sweep_security": "deletes sessions and events of people by age, and seals second factors anew",
    "accounts.delete_due_accounts": "asks the database which accounts are to be deleted, and queues them by account",
    "lake.sweep": "removes files that no account's manifest names",
    "lake.summarise_due": "asks the database which accounts' cost is to be summarised, and queues them by account",
    "connections.run_due_syncs": "asks the database which syncs are due, and queues them by account and id",
    "connections.run_due_pushes": "asks the database which pushes are due, and queues them by account and id",
    "connections.expire_pushes": "ends pushes by age, and removes files that no push will read",
    "connections.sweep": "deletes syncs by age, the newest of each connection stay",
    "costs.remove_forgotten_uploads": "removes files that no import of any account will read",
    "ingestion.flush_due_usage": "asks the database which inboxes are due, and queues them by account",
    "ingestion.tidy_all_usage": "queues the nightly pass of every account that has usage",
    "ingestion.prune_rejected": "keeps the newest rejected events of each source of every account",
    "ingestion.sweep": "rolls old batches up into the month's sum of their own account, deletes answers by age",
    "ingestion.expire_event_ids": "deletes ids by age, walking the whole table",
    "ingestion.void_due": "asks the database which accounts have batches to void, and queues them by account",
    "ingestion.run_due_uploads": "asks the database which uploads are due, and queues them by account and id",
    "ingestion.remove_forgotten_uploads": "removes files that no upload of any account will read",
    "insights.find_due_anomalies": "asks the database whose cost changed, and queues them by account",
    "insights.derive_due_events": "asks the database whose cost, budgets or cost tags changed, and queues them by account",
    "insights.find_recommendations_due": "asks the database which sources are of a cloud, and queues them by account and id",
    "notifications.sweep": "deletes notifications by age, of every account",
    "reports.send_due": "asks the database which report schedules are due, and queues them by account and id",
    "receipts.sweep": "deletes receipts by age, each account's by its own retention",
    "change_events.sweep": "deletes change events by age, each account's by its own retention",
    "activity.sweep": "deletes calls of assistants by age, each account's by its own retention",
    "alerts.send_due": "asks the database which deliveries are due, and queues them by account and id",
    "alerts.sweep": "deletes deliveries by age, and seals each account's targets anew for itself",
    "audit_webhooks.send_due": "asks the database which webhooks have unsent entries, and queues them by account and id",
    "audit_webhooks.sweep": "deletes deliveries by age, and seals each target anew for its own account",
    "issues.create_due": "asks the database which issues are to be created, and queues them by account and id",
    "issues.poll_due": "asks the database which trackers are due, and queues them by account and id",
    "issues.sweep": "seals each tracker's token anew for its own account",
    "alerts.evaluate_due": "asks the database whose alerts are due, and queues them by account",
    "costs.run_due_imports": "asks the database which imports are due, and queues them by account and id",
    "costs.find_due_overlaps": "asks the database which imports have left to look, and looks for their own account",
    "data_exports.run_due": "asks the database which data exports are due, and queues them by account and id",
    "data_exports.sweep": "deletes runs by age, the newest of each data export stay",
    "exports.run_due": "asks the database which exports are due, and queues them by account and id; deletes them by age",
    "backup.run_due": "asks when the last backup of the whole service was, and queues one",
    "backup.run": "stores the database and the lake of every account, where operators say",
    "exchange_rates.fetch": "fetches one file of rates, and keeps them for each account by itself",
    "costs.refresh_completeness": "asks the database which sources changed, and reads each for its own account",
}
OF_AN_ACCOUNT = sorted(TASKS.keys() - SWEEPS.keys())


def parameters(run: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(run).parameters.values())


def test_there_are_tasks_to_walk() -> None:
    assert TASKS.keys() >= SWEEPS.keys()


@pytest.mark.parametrize("name", sorted(SWEEPS))
def test_a_sweep_takes_nothing(name: str) -> None:
    assert parameters(TASKS[name]) == []


@pytest.mark.parametrize("name", OF_AN_ACCOUNT)
def test_a_task_takes_ids_and_its_account_first(name: str) -> None:
    names = parameters(TASKS[name])

    assert names[0].name == "account_id", f"{name}: say the account first, or list it in SWEEPS with a reason"
    assert {parameter.annotation for parameter in names} == {"int"}


def audit_webhook(account: Account) -> object:
    """With an entry to send."""
    with account_scope(account):
        row, _secret = create_audit_webhook(account=account, actor=ACTOR, url="http://127.0.0.1:1234/in")
    return row.pk


def part_of_a_detection(account: Account) -> object:
    """The first of one."""
    with account_scope(account):
        service = DetectionPart(dimension="service", first="")
        store(account, DetectionPlan(version="1", asks=0, months={}, parts=[service]))
    return 0


@pytest.mark.parametrize("name", OF_AN_ACCOUNT)
def test_a_task_of_one_account_finds_no_row_of_another(cast: Cast, name: str, settings: Any) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    run = TASKS[name]
    # Of no URL.
    makers = {**MAKERS, "webhook_id": audit_webhook, "number": part_of_a_detection}
    rows = [makers[parameter.name](cast.account) for parameter in parameters(run)[1:]]
    before = fingerprint()

    # A task may say that the row is not there, or leave it alone, as after a second run.
    with contextlib.suppress(ObjectDoesNotExist):
        run(cast.other_account.pk, *rows)

    assert fingerprint() == before
