"""The actions of the console, each a service that the product's own pages use too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest
from django.urls import reverse

from accounts.audit import Actor
from accounts.keys import revoke_mcp_key
from accounts.models import (
    Account,
    AccountDeletion,
    MCPKey,
    OAuthApplication,
    OAuthConnection,
    ServiceAccount,
    User,
)
from accounts.oauth.clients import client_label
from accounts.oauth.service_accounts import delete_service_account
from accounts.oauth.services import delete_client, disconnect
from accounts.security import visits
from accounts.services.deletion import ask_for_deletion, count_rows, delete_now, restore_account
from accounts.services.limits import change_limits
from accounts.services.operators import VISIT, allow_visit, change_operator_role, end_access
from accounts.services.suspension import resume_account, suspend_account
from accounts.sso.assertion_clients import remove_assertion_client
from finops.alerts.services.deliveries import cancel_delivery, resend
from finops.connections.models import CostSync
from finops.connections.services.pushes import cancel_cost_push
from finops.connections.services.syncs import cancel_sync, queue_sync
from finops.costs.models import CostImport
from finops.costs.services.imports import retry_import
from finops.costs.services.reviews import cancel_import
from finops.data_exports.models import DataExport, DataExportRun
from finops.data_exports.services.runs import cancel_run, queue_run
from finops.exports.models import AccountExport
from finops.exports.services import cancel_export, request_export
from finops.lib import clock
from finops.lib.cost_access import cost_access
from finops.lib.formats.numbers import plural
from finops.operations.actions import RowAction, row_actions, service_call
from finops.operations.forms import AccountNameForm, LimitsForm
from finops.operations.identity_providers import SIGN_ON_ACTIONS
from finops.operations.links import row_href
from finops.operations.panels import rows_by_model
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


def _rows_of(account: Account) -> list[tuple[str, int]]:
    return rows_by_model(count_rows(account.pk))


def _delete_now(account: Account, actor: Actor, values: Mapping[str, str]) -> str:
    delete_now(account=account, actor=actor, name=values["name"])
    return "The deletion begins now."


def _deletion_page(request: HttpRequest, account: Account) -> str:
    return row_href(AccountDeletion.objects.get(account_number=account.pk))


def _export_page(request: HttpRequest, account: Account) -> str:
    # Unscoped: the row was created a moment ago.
    return row_href(AccountExport.objects.unscoped().filter(account=account).latest("pk"))


def _change_limits(account: Account, actor: Actor, values: Mapping[str, int | None]) -> str:
    limits = change_limits(account=account, actor=actor, limits=values)
    return f"{len(limits)} {plural('limits', len(limits))} differ from the defaults."


def _end_access(user: User, actor: Actor) -> str:
    access = end_access(user=user, actor=actor)
    return (
        f"Ended: {access.sessions} {plural('sessions', access.sessions)}, {access.connections} connected "
        f"{plural('apps', access.connections)}, {access.keys} MCP {plural('keys', access.keys)}."
    )


def _credentials_of(user: User) -> list[tuple[str, int]]:
    """The credentials that end with the person's access, by name, also of accounts that the person left."""
    # Unscoped: of every account of the person.
    keys = MCPKey.objects.unscoped().filter(created_by=user, revoked_at=None)
    service_accounts = ServiceAccount.objects.unscoped().filter(created_by=user)
    connections = OAuthConnection.objects.unscoped().filter(user=user)
    names = [
        *(f"MCP key {row.name}, {row.account.name}" for row in keys.select_related("account")),
        *(
            f"Service account {row.name}, {row.account.name}"
            for row in service_accounts.select_related("account")
        ),
        *(
            f"Connected app {client_label(row.application)}, {row.account.name}"
            for row in connections.select_related("account", "application")
        ),
    ]
    return list(Counter(names).items())


def _delete_client(application: OAuthApplication, actor: Actor) -> str:
    count = delete_client(application=application, actor=actor)
    return f"The client is deleted, with {count} {plural('connections', count)}."


def _retry_import(job: CostImport, actor: Actor) -> str:
    return f"Import {retry_import(job=job, actor=actor).pk} is queued."


def _repeat_sync(sync: CostSync, actor: Actor) -> str:
    return service_call(queue_sync, "connection", "A sync is queued.")(sync.connection, actor)


def _is_unfinished(job: CostImport | CostSync | DataExportRun | UsageUpload) -> bool:
    return job.status in {"queued", "running"}


def _run_export(export: DataExport, actor: Actor) -> str:
    # An operator has no limit of an account, and sees nothing of its cost here.
    with cost_access(None):
        return service_call(queue_run, "export", "A run is queued.")(export, actor)


def _retry_run(run: DataExportRun, actor: Actor) -> str:
    return _run_export(run.export, actor)


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
            "Pages, keys and connected apps get 403 immediately, and no task runs. Data is kept. Members see that the account is suspended.",
            service_call(suspend_account, "account", "The account is suspended."),
            lambda account: account.suspended_at is None,
            True,
        ),
        "resume": RowAction(
            "Resume account",
            "Members, keys, apps and tasks work again.",
            service_call(resume_account, "account", "The account is active again."),
            lambda account: account.suspended_at is not None,
        ),
        "delete": RowAction(
            "Delete account",
            "In 14 days these rows and all files of the account are permanently deleted. Owner and admins get an email; until then the "
            "account works and can be restored.",
            _delete,
            lambda account: account.delete_after is None,
            True,
            preview=_rows_of,
        ),
        "delete-now": RowAction(
            "Delete now",
            "Ends the 14 days: a worker deletes all rows and files of the account immediately. This cannot be undone.",
            _delete_now,
            lambda account: account.delete_after is not None and account.delete_after > clock.now(),
            True,
            preview=_rows_of,
            begin=_deletion_page,
            form=AccountNameForm,
        ),
        "export": RowAction(
            "Export account",
            "A worker writes cost as FOCUS Parquet, usage and configuration into a ZIP, kept for 7 days unless the account has another limit. The account's audit "
            "log names you.",
            service_call(request_export, "account", "The export is queued."),
            begin=_export_page,
        ),
        "limits": RowAction(
            "Change limits",
            "Empty fields have the server's default. New values count from the next request or task. A shorter retention deletes "
            "older data permanently with the next clean-up.",
            _change_limits,
            form=LimitsForm,
        ),
        "restore": RowAction(
            "Restore account",
            "The account is not deleted.",
            service_call(restore_account, "account", "The deletion is canceled."),
            lambda account: account.delete_after is not None and account.delete_after > clock.now(),
        ),
    },
    "accounts.User": {
        "end-access": RowAction(
            "End all access",
            "Ends every session and connected app of this person, and the MCP keys and service accounts that the person created. "
            "Signing in again is possible.",
            _end_access,
            is_danger=True,
            preview=_credentials_of,
        ),
        "let-look": RowAction(
            "Make operator: view only",
            "The person can view all accounts in the admin console.",
            service_call(
                change_operator_role, "user", "The operator can view only.", may_look=True, may_act=False
            ),
            lambda user: not user.is_staff or user.is_superuser,
        ),
        "let-act": RowAction(
            "Make operator: view and act",
            "The person can view all accounts in the admin console and use every action, this one included.",
            service_call(
                change_operator_role, "user", "The operator can view and act.", may_look=True, may_act=True
            ),
            lambda user: not user.is_superuser,
        ),
        "end-role": RowAction(
            "Remove operator",
            "The person keeps the memberships of accounts.",
            service_call(
                change_operator_role,
                "user",
                "The person is no longer an operator.",
                may_look=False,
                may_act=False,
            ),
            lambda user: user.is_staff or user.is_superuser,
            True,
        ),
    },
    "accounts.MCPKey": {
        "revoke": RowAction(
            "Revoke key",
            "Programs with this key get 401 immediately. A revoked key cannot be restored.",
            service_call(revoke_mcp_key, "key", "The key is revoked."),
            is_offered=lambda key: key.revoked_at is None,
            is_danger=True,
        )
    },
    "accounts.OAuthConnection": {
        "disconnect": RowAction(
            "Disconnect app",
            "Its tokens stop working immediately.",
            service_call(disconnect, "connection", "The app is disconnected.", reason="by the operator"),
            is_danger=True,
        )
    },
    "accounts.ServiceAccount": {
        "delete": RowAction(
            "Delete service account",
            "Its secret or key and its tokens stop working immediately.",
            service_call(
                delete_service_account,
                "service_account",
                "The service account is deleted.",
                reason="by the operator",
            ),
            is_danger=True,
        )
    },
    "sso.AssertionClient": {
        "remove": RowAction(
            "Remove client",
            "Everyone connected through it is disconnected immediately.",
            service_call(remove_assertion_client, "client", "The client is removed."),
            is_danger=True,
        )
    },
    "accounts.OAuthApplication": {
        "delete": RowAction(
            "Delete client",
            "All connections of this client end immediately, in all accounts.",
            _delete_client,
            is_danger=True,
        )
    },
    "exports.AccountExport": {
        "cancel": RowAction(
            "Cancel export",
            "No file is kept.",
            service_call(cancel_export, "export", "The export is canceled."),
            lambda export: export.is_unfinished,
            True,
        )
    },
    "costs.CostImport": {
        "cancel": RowAction(
            "Cancel import",
            "Costs stay as they were before it.",
            service_call(cancel_import, "job", "The import is being canceled."),
            _is_unfinished,
            True,
        ),
        "retry": RowAction(
            "Retry import",
            "Imports the same files again, as a new import. Billing months in them are replaced.",
            _retry_import,
            lambda job: job.status == "failed" and job.origin == "upload" and bool(job.files),
        ),
    },
    "connections.CostPush": {
        "cancel": RowAction(
            "Cancel push",
            "Its parts are deleted. Costs stay as they were before it.",
            service_call(cancel_cost_push, "push", "The push is canceled."),
            lambda push: push.status in {"open", "queued"},
            True,
        )
    },
    "connections.CostSync": {
        "cancel": RowAction(
            "Cancel sync",
            "Months already imported stay.",
            service_call(cancel_sync, "sync", "The sync is being canceled."),
            _is_unfinished,
            True,
        ),
        "repeat": RowAction(
            "Sync again",
            "Queues a sync of the same source.",
            _repeat_sync,
            lambda sync: not _is_unfinished(sync),
        ),
    },
    "connections.CostConnection": {
        "sync": RowAction(
            "Sync now",
            "Queues a sync of this source.",
            service_call(queue_sync, "connection", "A sync is queued."),
        )
    },
    "data_exports.DataExport": {
        "run": RowAction(
            "Run now",
            "Queues a run, also of a paused export.",
            _run_export,
        )
    },
    "data_exports.DataExportRun": {
        "cancel": RowAction(
            "Cancel run",
            "Months that are written stay; the current one is complete or as it was.",
            service_call(cancel_run, "run", "The run is being canceled."),
            lambda run: _is_unfinished(run) and run.cancel_requested_at is None,
            True,
        ),
        "retry": RowAction(
            "Retry run",
            "Queues a run of the same export. Months that are written are not written again.",
            _retry_run,
            lambda run: run.status in {"failed", "canceled"},
        ),
    },
    "ingestion.UsageUpload": {
        "cancel": RowAction(
            "Cancel upload",
            "Events already stored stay until voided.",
            service_call(cancel_upload, "job", "The upload is being canceled."),
            _is_unfinished,
            True,
        )
    },
    "alerts.AlertDelivery": {
        "resend": RowAction(
            "Resend message",
            "Sends the same message to the same channel.",
            service_call(resend, "delivery", "The message is queued again."),
            lambda delivery: delivery.status != "waiting",
        ),
        "cancel": RowAction(
            "Cancel delivery",
            "It is not retried. An attempt in progress may still arrive.",
            service_call(cancel_delivery, "delivery", "The delivery is canceled."),
            lambda delivery: delivery.status == "waiting",
            True,
        ),
    },
}


def register_actions() -> None:
    """Register the actions; called once, with the URLs."""
    for model_label, actions in (ACTIONS | SIGN_ON_ACTIONS).items():
        row_actions.add(model_label, actions)
