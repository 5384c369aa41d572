"""An operator lengthens or shortens how long one account's data stays: clean-up keeps by account, others have the default."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, models, transaction
from django.test import Client

from accounts.limits import LIMITS, older_than_retention, own_limits
from accounts.models import Account, AuditEntry, User
from accounts.scoping import account_scope
from accounts.services.limits import change_limits
from finops.activity import services as activity
from finops.activity.calls import store
from finops.activity.models import AssistantCall
from finops.activity.queries import retention_days as activity_days
from finops.alerts.models import AlertDelivery
from finops.alerts.services import deliveries
from finops.audit_webhooks import sending
from finops.audit_webhooks import tasks as audit_tasks
from finops.audit_webhooks.models import AuditDelivery, AuditDeliveryEntry, AuditWebhook
from finops.audit_webhooks.services import create_audit_webhook
from finops.change_events.models import ChangeEvent
from finops.change_events.services import retention as change_events
from finops.connections.models import CostSync
from finops.connections.services import syncs
from finops.connections.services.syncs import remove_old_syncs
from finops.data_exports.models import DataExportRun
from finops.data_exports.services import runs
from finops.exports.models import AccountExport
from finops.exports.services import delete_old_exports
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from finops.lib.errors import UserError
from finops.notifications.models import Notification
from finops.notifications.services import notify
from finops.notifications.services import sweep as sweep_notifications
from finops.receipts import queries as receipts
from finops.receipts.models import AnswerReceipt, AnswerState
from finops.receipts.services import set_receipt_retention
from finops.receipts.services import sweep as sweep_receipts
from ingestion.queries.billing import usage_storage
from ingestion.services.retention import drop_old_usage, set_usage_retention
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.finops.activity.call_helpers import call_of, credential_of
from tests.ingestion.push_client import create_push_client, event
from tests.isolation.rows.alerts import alert_delivery
from tests.isolation.rows.connections import cost_sync
from tests.isolation.rows.data_exports import data_export_run
from tests.isolation.rows.exports import account_export
from tests.pages import get_page


def limit(account: Account, **limits: int | None) -> Account:
    change_limits(account=account, actor=ACTOR, limits=limits)
    account.refresh_from_db()
    return account


def sent_delivery(account: Account) -> int:
    pk = alert_delivery(account)
    AlertDelivery.objects.unscoped().filter(pk=pk).update(status="failed", next_attempt_at=None)
    return pk


def audit_delivery(account: Account) -> int:
    with account_scope(account):
        webhook = (
            AuditWebhook.objects.first()
            or create_audit_webhook(account=account, actor=ACTOR, url="https://93.184.216.34/audit")[0]
        )
        return AuditDelivery.objects.create(webhook=webhook, status="delivered", event_count=1).pk


def notification(account: Account) -> int:
    notify(
        account=account, title="AWS failed", path="data-health/", kind=Notification.Kind.SYNC, key=uuid4().hex
    )
    return Notification.objects.unscoped().latest("pk").pk


def imported_sync(account: Account) -> int:
    pk = cost_sync(account)
    CostSync.objects.unscoped().filter(pk=pk).update(status="done", months_imported=1)
    return pk


def done_run(account: Account) -> int:
    pk = data_export_run(account)
    DataExportRun.objects.unscoped().filter(pk=pk).update(status="done")
    return pk


Kept = tuple[str, type[models.Model], str, int, Callable[[Account], int], Callable[[], Any]]
KEPT: list[Kept] = [
    ("ALERT_DELIVERY_DAYS", AlertDelivery, "created_at", 90, sent_delivery, deliveries.sweep),
    ("AUDIT_DELIVERY_DAYS", AuditDelivery, "delivered_at", 90, audit_delivery, sending.sweep),
    ("SYNC_DAYS", CostSync, "finished_at", 90, imported_sync, remove_old_syncs),
    ("DATA_EXPORT_RUN_DAYS", DataExportRun, "finished_at", 90, done_run, runs.remove_old_runs),
    ("ACCOUNT_EXPORT_DAYS", AccountExport, "finished_at", 7, account_export, delete_old_exports),
    ("NOTIFICATION_DAYS", Notification, "created_at", 90, notification, sweep_notifications),
]


@pytest.mark.parametrize(
    ("name", "model", "field", "days", "create", "sweep"), KEPT, ids=[each[0] for each in KEPT]
)
def test_an_account_with_a_longer_retention_keeps_what_goes_by_the_default_elsewhere(
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    model: type[Any],
    field: str,
    days: int,
    create: Callable[[Account], int],
    sweep: Callable[[], Any],
) -> None:
    monkeypatch.setattr(syncs, "NEWEST_KEPT", 0)
    monkeypatch.setattr(runs, "NEWEST_KEPT", 0)
    ages = (days - 1, days + 1, days * 2 + 1)
    for account in (cast.account, cast.other_account):
        for age in ages:
            rows = model.objects.unscoped().filter(pk=create(account))
            rows.update(**{field: clock.now() - timedelta(days=age)})
    limit(cast.account, **{name: days * 2})

    def ages_in_days(account: Account) -> list[int]:
        moments = model.objects.unscoped().filter(account=account).values_list(field, flat=True)
        return sorted((clock.now() - each).days for each in moments)

    sweep()
    assert (ages_in_days(cast.account), ages_in_days(cast.other_account)) == (
        [days - 1, days + 1],
        [days - 1],
    )
    limit(cast.account, **{name: None})
    sweep()
    assert (ages_in_days(cast.account), ages_in_days(cast.other_account)) == ([days - 1], [days - 1])


def test_the_newest_syncs_and_runs_of_each_stay_whatever_their_age(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncs, "NEWEST_KEPT", 2)
    first = CostSync.objects.unscoped().get(pk=imported_sync(cast.account))
    for age in (300, 200, 100, 1):
        CostSync.objects.unscoped().create(
            account=cast.account,
            connection_id=first.connection_id,
            status="done",
            months_imported=1,
            finished_at=clock.now() - timedelta(days=age),
        )
    CostSync.objects.unscoped().filter(pk=first.pk).update(finished_at=clock.now() - timedelta(days=400))

    assert remove_old_syncs() == 3
    remaining = CostSync.objects.unscoped().filter(account=cast.account)
    assert sorted((clock.now() - row.finished_at).days for row in remaining if row.finished_at) == [1, 100]


def audit_entries(account: Account, *ages: int) -> list[int]:
    """Entries of these ages in days, the oldest first; returns their ids."""
    moments = [clock.now() - timedelta(days=age) for age in sorted(ages, reverse=True)]
    rows = [AuditEntry(account=account, at=at, actor_label="x", action="aged") for at in moments]
    return [row.pk for row in AuditEntry.objects.unscoped().bulk_create(rows)]


def aged_entries(account: Account) -> list[int]:
    rows = AuditEntry.objects.unscoped().filter(account=account, action="aged")
    return sorted((clock.now() - row.at).days for row in rows)


def test_the_audit_log_is_kept_forever_unless_an_operator_sets_a_retention(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        audit_entries(account, 1, 199, 201, 4_000)
    audit_tasks.sweep()
    assert aged_entries(cast.account) == aged_entries(cast.other_account) == [1, 199, 201, 4_000]

    limit(cast.account, AUDIT_LOG_DAYS=200)
    audit_tasks.sweep()
    assert (aged_entries(cast.account), aged_entries(cast.other_account)) == ([1, 199], [1, 199, 201, 4_000])
    assert AuditEntry.objects.unscoped().filter(account=cast.account, action="account.limits").exists()

    limit(cast.account, AUDIT_LOG_DAYS=0)
    audit_tasks.sweep()
    assert aged_entries(cast.account) == [1, 199]


def test_all_expired_entries_go_in_one_sweep_however_many(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SWEEP_BATCH", 2)
    audit_entries(cast.account, *range(300, 305), 1)
    limit(cast.account, AUDIT_LOG_DAYS=180)

    assert sending.sweep_audit_log() == 5
    assert aged_entries(cast.account) == [1]


def test_an_expired_entry_stays_until_the_webhook_has_sent_it_and_its_delivery_is_gone(cast: Cast) -> None:
    before, unsent, sent = audit_entries(cast.account, 420, 400, 300)
    limit(cast.account, AUDIT_LOG_DAYS=180)
    with account_scope(cast.account):
        delivery = AuditDelivery.objects.get(pk=audit_delivery(cast.account))
        webhook = delivery.webhook
        AuditDelivery.objects.filter(pk=delivery.pk).update(delivered_at=clock.now())
        AuditDeliveryEntry.objects.create(webhook=webhook, delivery=delivery, entry_id=sent)
        AuditWebhook.objects.filter(pk=webhook.pk).update(
            start_at=clock.now() - timedelta(days=410), low_water=before
        )
        audit_tasks.sweep()
        assert aged_entries(cast.account) == [300, 400]

        AuditWebhook.objects.filter(pk=webhook.pk).update(low_water=sent)
        audit_tasks.sweep()
        assert aged_entries(cast.account) == [300]

        AuditDelivery.objects.filter(pk=delivery.pk).update(delivered_at=clock.now() - timedelta(days=91))
        audit_tasks.sweep()
        assert aged_entries(cast.account) == []
    assert unsent != sent


def test_the_audit_log_says_how_long_entries_are_kept_and_an_operator_sets_180_days_or_more(
    cast: Cast, operator: Client
) -> None:
    admin, page = signed_in(cast.admin), "/a/acme/settings/audit-log/"
    operator_client = reauthenticated(operator, User.objects.get(email="operator@example.com"))
    form = f"/admin/accounts/account/{cast.account.pk}/actions/limits/"
    assert "Entries are kept as long as the account." in get_page(admin, page)

    refusal = operator_client.post(form, {"AUDIT_LOG_DAYS": "30"})
    operator_client.post(form, {"AUDIT_LOG_DAYS": "365"})

    assert refusal.status_code == 422
    assert "30 is not between 180 and 3,650 and not 0." in refusal.content.decode()
    assert "Entries are kept for 365 days." in get_page(admin, page)
    assert "Audit log kept, days 365 Forever" in get_page(
        operator_client, f"/admin/accounts/account/{cast.account.pk}/change/"
    )


def test_the_ceiling_of_assistant_activity_is_an_operators_and_clean_up_keeps_to_it(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        store([call_of(credential_of(account), days_ago=ago) for ago in (10, 80, 500, 900)])
    with pytest.raises(UserError, match="may keep 400 days at most"):
        activity.set_activity_retention(account=cast.account, actor=ACTOR, days=401)
    limit(cast.account, ASSISTANT_ACTIVITY_DAYS=800)
    activity.set_activity_retention(account=cast.account, actor=ACTOR, days=800)
    limit(cast.other_account, ASSISTANT_ACTIVITY_DAYS=30)

    activity.sweep()

    def days(account: Account) -> list[int]:
        with account_scope(account):
            return sorted((clock.today() - call.at.date()).days for call in AssistantCall.objects.all())

    assert (days(cast.account), days(cast.other_account)) == ([10, 80, 500], [10])
    with account_scope(cast.other_account):
        assert activity_days(cast.other_account) == 30


def test_the_ceiling_of_change_events_shortens_what_the_account_chose(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        with account_scope(account):
            for age in (10, 450, 1_050):
                moment = clock.now() - timedelta(days=age)
                ChangeEvent.objects.create(origin="note", kind="note", title=f"{age}", occurred_at=moment)
    limit(cast.account, CHANGE_EVENT_DAYS=500)
    with pytest.raises(UserError, match="may keep 500 days at most"):
        change_events.set_change_event_retention(account=cast.account, actor=ACTOR, days=501)

    change_events.sweep()

    def titles(account: Account) -> set[str]:
        with account_scope(account):
            return {each.title for each in ChangeEvent.objects.all()}

    assert titles(cast.account) == {"10", "450"}
    assert titles(cast.other_account) == {"10", "450", "1050"}
    with account_scope(cast.account):
        assert change_events.retention_days() == 500


def test_the_ceilings_of_receipts_and_of_their_bills_count_for_the_account_alone(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        with account_scope(account):
            state = AnswerState.objects.create(
                digest="x" * 32, first_used_at=clock.now(), last_used_at=clock.now()
            )
            for age in (10, 60, 600):
                AnswerReceipt.objects.create(
                    code=f"{account.pk}-{age}",
                    state=state,
                    at=clock.now() - timedelta(days=age),
                    tool="querySpend",
                )
    limit(cast.account, RECEIPT_DAYS=700, BILL_VERSION_DAYS=0)
    limit(cast.other_account, RECEIPT_DAYS=30)
    with pytest.raises(UserError, match="may keep 0 days at most"):
        set_receipt_retention(account=cast.account, actor=ACTOR, days=700, bill_days=1)
    set_receipt_retention(account=cast.account, actor=ACTOR, days=700, bill_days=0)

    sweep_receipts()

    def ages(account: Account) -> list[int]:
        rows = AnswerReceipt.objects.unscoped().filter(account=account)
        return sorted((clock.now() - row.at).days for row in rows)

    assert (ages(cast.account), ages(cast.other_account)) == ([10, 60, 600], [10])
    with account_scope(cast.other_account):
        assert receipts.retention(cast.other_account).days == 30


def test_a_ceiling_on_usage_deletes_older_months_of_that_account_and_its_page_says_so(cast: Cast) -> None:
    with clock.frozen(datetime(2026, 5, 15, 12, tzinfo=UTC)):
        for account in (cast.account, cast.other_account):
            create_push_client(cast, account).push(
                event(timestamp="2025-12-31"), event(timestamp="2026-02-01")
            )
            flush_usage(account)
        limit(cast.account, USAGE_MONTHS=3)

        assert [drop_old_usage(account=each) for each in (cast.account, cast.other_account)] == [1, 0]
        assert usage_storage(cast.account).events == 1
        page = get_page(signed_in(cast.admin), "/a/acme/settings/usage/")
        assert "Now: 3 full months and the current one." in page
        assert "At most 3, as by default." in page
        with pytest.raises(UserError, match="may keep 3 months at most"):
            set_usage_retention(account=cast.account, actor=ACTOR, months=4)


def test_the_account_reads_its_ceilings_beside_what_it_chooses(cast: Cast) -> None:
    limit(
        cast.account,
        ASSISTANT_ACTIVITY_DAYS=500,
        CHANGE_EVENT_DAYS=600,
        RECEIPT_DAYS=700,
        ALERT_DELIVERY_DAYS=800,
    )
    admin = signed_in(cast.admin)

    assert "7 to 500 days." in get_page(admin, "/a/acme/assistant-activity/")
    assert "400 to 600 days." in get_page(admin, "/a/acme/events/")
    assert "7 to 700. Older receipts are deleted." in get_page(admin, "/a/acme/verify-answer/")
    assert "Alerts sent in the last 800 days." in get_page(admin, "/a/acme/alerts/deliveries/")


def test_the_form_names_bounds_and_consequence_and_the_page_of_the_account_the_value(
    cast: Cast, operator: Client
) -> None:
    operator_client = reauthenticated(operator, User.objects.get(email="operator@example.com"))
    url = f"/admin/accounts/account/{cast.account.pk}/"
    form = get_page(operator_client, f"{url}actions/limits/")
    refusal = operator_client.post(f"{url}actions/limits/", {"SYNC_DAYS": "6"})
    operator_client.post(f"{url}actions/limits/", {"SYNC_DAYS": "365"})

    assert "Syncs kept, days" in form
    assert "Default: 90. Minimum: 7. Maximum: 1,100. The newest 20 of each source stay." in form
    assert refusal.status_code == 422
    assert "Enter 7 to 1,100." in refusal.content.decode()
    page = get_page(operator_client, f"{url}change/")
    assert "Syncs kept, days 365 90" in page
    assert "Raw usage kept at most, months Default Forever" in page


def test_no_limit_is_stored_that_is_no_number(cast: Cast) -> None:
    for value in ("90", -1, None, [1], True):
        with pytest.raises(IntegrityError, match="account_limits_are_numbers"), transaction.atomic():
            Account.objects.filter(pk=cast.account.pk).update(limits={"SYNC_DAYS": value})


def test_a_stored_retention_out_of_bounds_counts_as_none(cast: Cast) -> None:
    Account.objects.filter(pk=cast.account.pk).update(limits={"SYNC_DAYS": 1, "NOTIFICATION_DAYS": 200})

    assert own_limits("SYNC_DAYS") == {}
    assert own_limits("NOTIFICATION_DAYS") == {cast.account.pk: 200}
    own = f"('account_id', {cast.account.pk})"
    assert own not in str(older_than_retention("SYNC_DAYS", "finished_at"))
    assert own in str(older_than_retention("NOTIFICATION_DAYS", "created_at"))


def test_every_limit_says_its_bounds_and_its_default_is_within_them(cast: Cast) -> None:
    for each in LIMITS:
        assert each.accepts(each.default), each.name
        assert each.help.startswith("Default: "), each.name


def test_the_page_of_the_account_says_where_a_server_does_not_accept_a_stored_value(
    cast: Cast, operator: Client
) -> None:
    Account.objects.filter(pk=cast.account.pk).update(limits={"LAKE_MEMORY_MB": 10**9})

    page = get_page(operator, f"/admin/accounts/account/{cast.account.pk}/change/")
    assert "Lake memory, MB Default, since this server does not accept 1,000,000,000" in page
