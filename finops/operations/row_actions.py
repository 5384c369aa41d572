"""The actions of the console, each a service that exists for the product's own pages too."""

from __future__ import annotations

from collections import Counter
from typing import Final

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse

from accounts.audit import Actor
from accounts.keys import revoke_mcp_key
from accounts.models import Account, MCPKey, OAuthApplication, OAuthConnection, User
from accounts.oauth.services import delete_client, disconnect
from accounts.security import visits
from accounts.services.deletion import ask_for_deletion, count_rows, restore_account
from accounts.services.operators import VISIT, allow_visit, change_operator_role, end_access
from accounts.services.suspension import resume_account, suspend_account
from finops.alerts.models import AlertDelivery
from finops.alerts.services.deliveries import resend
from finops.connections.models import CostConnection, CostSync
from finops.connections.services.syncs import cancel_sync, queue_sync
from finops.costs.models import CostImport
from finops.costs.services.reviews import cancel_import
from finops.lib import clock
from finops.lib.formats.numbers import plural
from finops.operations.actions import RowAction, row_actions
from ingestion.models import UsageUpload
from ingestion.services.uploads import cancel_upload


def _visit(account: Account, actor: Actor) -> str:
    until = allow_visit(account=account, actor=actor)
    return f"Read-only until {until:%H:%M} UTC."


def _begin_visit(request: HttpRequest, account: Account) -> str:
    visits.begin(request, account, clock.now() + VISIT)
    return reverse("overview", args=[account.slug])


def _delete(account: Account, actor: Actor) -> str:
    when = ask_for_deletion(account=account, actor=actor, name=account.name)
    return f"The account is deleted on {when:%Y-%m-%d}. Until then it can be restored."


def _restore(account: Account, actor: Actor) -> str:
    restore_account(account=account, actor=actor)
    return "The account is kept."


def _rows_of(account: Account) -> list[tuple[str, int]]:
    """Rows by model, the most first; partitions of a table are one."""
    names = {model._meta.db_table: str(model._meta.verbose_name_plural) for model in apps.get_models()}
    counts: Counter[str] = Counter()
    for table, count in count_rows(account.pk).items():
        whole = table if table in names else table.rstrip("0123456789").rstrip("_")
        counts[names.get(whole, whole)] += count
    return [(f"{name[:1].upper()}{name[1:]}", count) for name, count in counts.most_common()]


def _suspend(account: Account, actor: Actor) -> str:
    suspend_account(account=account, actor=actor)
    return "The account is suspended."


def _resume(account: Account, actor: Actor) -> str:
    resume_account(account=account, actor=actor)
    return "The account is active again."


def _end_access(user: User, actor: Actor) -> str:
    ended = end_access(user=user, actor=actor)
    return f"Ended: {ended.sessions} sessions, {ended.connections} connected apps, {ended.keys} MCP keys."


def _let_look(user: User, actor: Actor) -> str:
    change_operator_role(user=user, may_look=True, may_act=False, actor=actor)
    return "The operator can view only."


def _let_act(user: User, actor: Actor) -> str:
    change_operator_role(user=user, may_look=True, may_act=True, actor=actor)
    return "The operator can view and act."


def _end_role(user: User, actor: Actor) -> str:
    change_operator_role(user=user, may_look=False, may_act=False, actor=actor)
    return "The person is no operator."


def _revoke_key(key: MCPKey, actor: Actor) -> str:
    revoke_mcp_key(key=key, actor=actor)
    return "The key is revoked."


def _disconnect(connection: OAuthConnection, actor: Actor) -> str:
    disconnect(connection=connection, actor=actor, reason="by the operator")
    return "The app is disconnected."


def _delete_client(application: OAuthApplication, actor: Actor) -> str:
    count = delete_client(application=application, actor=actor)
    return f"The client is deleted, with {count} {plural('connections', count)}."


def _cancel_import(job: CostImport, actor: Actor) -> str:
    cancel_import(job=job, actor=actor)
    return "The import is being canceled."


def _cancel_sync(sync: CostSync, actor: Actor) -> str:
    cancel_sync(sync=sync, actor=actor)
    return "The sync is being canceled."


def _queue_sync(connection: CostConnection, actor: Actor) -> str:
    queue_sync(connection=connection, actor=actor)
    return "A sync is queued."


def _repeat_sync(sync: CostSync, actor: Actor) -> str:
    return _queue_sync(sync.connection, actor)


def _cancel_upload(job: UsageUpload, actor: Actor) -> str:
    cancel_upload(job=job, actor=actor)
    return "The upload is being canceled."


def _resend(delivery: AlertDelivery, actor: Actor) -> str:
    resend(delivery=delivery, actor=actor)
    return "The message is queued again."


def _is_unfinished(job: CostImport | CostSync | UsageUpload) -> bool:
    return job.status in {"queued", "running"}


ACTIONS: Final[dict[str, dict[str, RowAction]]] = {
    "accounts.Account": {
        "visit": RowAction(
            "View account",
            "Opens the account's pages read-only for an hour. The account's audit log names you.",
            _visit,
            begin=_begin_visit,
        ),
        "suspend": RowAction(
            "Suspend account",
            "Pages, keys and connected apps get 403 at once, and no task runs. Data is kept. Members see why.",
            _suspend,
            lambda account: account.suspended_at is None,
            True,
        ),
        "resume": RowAction(
            "Resume account",
            "Members, keys, apps and tasks work again.",
            _resume,
            lambda account: account.suspended_at is not None,
        ),
        "delete": RowAction(
            "Delete account",
            "In 14 days these rows and all files of the account are deleted for good. Owner and admins get an e-mail; until then the "
            "account works and can be restored.",
            _delete,
            lambda account: account.delete_after is None,
            True,
            preview=_rows_of,
        ),
        "restore": RowAction(
            "Restore account",
            "The account is not deleted.",
            _restore,
            lambda account: account.delete_after is not None,
        ),
    },
    "accounts.User": {
        "end-access": RowAction(
            "End all access",
            "Ends every session and connected app of this person, and the MCP keys that the person created. Signing in again "
            "is possible.",
            _end_access,
            is_danger=True,
        ),
        "let-look": RowAction(
            "Make operator: view only",
            "The person can view all accounts in the admin console.",
            _let_look,
            lambda user: not user.is_staff or user.is_superuser,
        ),
        "let-act": RowAction(
            "Make operator: view and act",
            "The person can view all accounts in the admin console and use every action, this one included.",
            _let_act,
            lambda user: not user.is_superuser,
        ),
        "end-role": RowAction(
            "Remove operator",
            "The person keeps the memberships of accounts.",
            _end_role,
            lambda user: user.is_staff or user.is_superuser,
            True,
        ),
    },
    "accounts.MCPKey": {
        "revoke": RowAction(
            "Revoke key",
            "Programs with this key get 401 at once. A revoked key cannot be restored.",
            _revoke_key,
            is_offered=lambda key: key.revoked_at is None,
            is_danger=True,
        )
    },
    "accounts.OAuthConnection": {
        "disconnect": RowAction(
            "Disconnect app", "Its tokens stop working at once.", _disconnect, is_danger=True
        )
    },
    "accounts.OAuthApplication": {
        "delete": RowAction(
            "Delete client",
            "Every connection of this client ends at once, in all accounts.",
            _delete_client,
            is_danger=True,
        )
    },
    "costs.CostImport": {
        "cancel": RowAction(
            "Cancel import", "Costs stay as they were before it.", _cancel_import, _is_unfinished, True
        )
    },
    "connections.CostSync": {
        "cancel": RowAction(
            "Cancel sync", "Months already imported stay.", _cancel_sync, _is_unfinished, True
        ),
        "repeat": RowAction(
            "Sync again",
            "Queues a sync of the same source.",
            _repeat_sync,
            lambda sync: not _is_unfinished(sync),
        ),
    },
    "connections.CostConnection": {
        "sync": RowAction("Sync now", "Queues a sync of this source.", _queue_sync)
    },
    "ingestion.UsageUpload": {
        "cancel": RowAction(
            "Cancel upload",
            "Events already stored stay until voided.",
            _cancel_upload,
            _is_unfinished,
            True,
        )
    },
    "alerts.AlertDelivery": {
        "resend": RowAction(
            "Resend message",
            "Sends the same message to the same channel.",
            _resend,
            lambda delivery: delivery.status != "waiting",
        )
    },
}


def register_actions() -> None:
    """Once, with the URLs."""
    for model_label, actions in ACTIONS.items():
        row_actions.add(model_label, actions)
