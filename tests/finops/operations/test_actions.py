"""Operators' actions in the admin console: a confirmation, a service, an entry in the operator log and the
account's own."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from accounts.keys import authenticate_mcp_key, mint_mcp_key
from accounts.models import AuditEntry, MCPKey, OAuthApplication, SecurityEvent, User
from finops.connections.models import CostSync
from finops.data_exports.models import DataExport, DataExportRun
from finops.operations.actions import row_actions
from finops.operations.catalog import entries
from tests.accounts.oauth.flow import OAuthClient, mcp_status
from tests.cast import Cast, reauthenticated, signed_in
from tests.isolation.rows import MAKERS


def action_url(model: type, pk: object, name: str) -> str:
    meta = model._meta  # type: ignore[attr-defined]
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_action", args=[pk, name])


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


@pytest.fixture
def staff_client(db: None) -> Client:
    person = User.objects.create_user("looks@example.com", "a long enough secret", is_staff=True)
    return reauthenticated(signed_in(person), person)


def test_actions_are_of_models_that_have_pages() -> None:
    assert set(row_actions) <= {entry.model_label for entry in entries()}


def test_a_key_is_revoked_after_a_page_that_asks_again(cast: Cast, operator_client: Client) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    url = action_url(MCPKey, key.pk, "revoke")

    assert "401" in operator_client.get(url).content.decode()
    assert authenticate_mcp_key(plaintext) is not None
    assert operator_client.post(url).status_code == 302
    assert authenticate_mcp_key(plaintext) is None


def test_an_act_is_in_the_operator_log_and_in_the_audit_log_of_the_account(
    cast: Cast, operator_client: Client
) -> None:
    key, _plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    operator_client.post(action_url(MCPKey, key.pk, "revoke"))

    entry = AuditEntry.objects.unscoped().get(action="mcp_key.revoke")
    assert (entry.account, entry.actor_label) == (cast.account, "Operator operator@example.com")
    line = LogEntry.objects.get()
    assert (line.object_repr, line.change_message) == ("Claude", "Revoke key: The key is revoked.")


def test_an_operator_with_view_access_sees_no_button_and_does_nothing(
    cast: Cast, staff_client: Client
) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    url = action_url(MCPKey, key.pk, "revoke")

    assert "Revoke key" not in staff_client.get(f"/admin/accounts/mcpkey/{key.pk}/change/").content.decode()
    assert [staff_client.get(url).status_code, staff_client.post(url).status_code] == [403, 403]
    assert authenticate_mcp_key(plaintext) is not None


def test_only_an_operator_finds_actions(cast: Cast) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    url, client = action_url(MCPKey, key.pk, "revoke"), reauthenticated(signed_in(cast.owner), cast.owner)

    assert [client.get(url).status_code, client.post(url).status_code] == [404, 404]
    assert authenticate_mcp_key(plaintext) is not None


def test_an_operator_proves_herself_again_before_an_act(cast: Cast, operator: Client) -> None:
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")

    answer = operator.post(action_url(MCPKey, key.pk, "revoke"))

    assert answer.headers["Location"].startswith("/auth/reauthenticate/")
    assert authenticate_mcp_key(plaintext) is not None


def test_an_action_that_the_row_does_not_have_is_not_found(cast: Cast, operator_client: Client) -> None:
    key, _plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    url = action_url(MCPKey, key.pk, "revoke")
    operator_client.post(url)

    assert operator_client.post(url).status_code == 404
    assert operator_client.post(action_url(MCPKey, key.pk, "explode")).status_code == 404


def test_a_client_that_deceives_is_deleted_and_each_account_sees_it(
    cast: Cast, operator_client: Client
) -> None:
    tokens = OAuthClient().connect(cast.member)
    application = OAuthApplication.objects.get()

    answer = operator_client.post(action_url(OAuthApplication, application.pk, "delete"))

    assert answer.headers["Location"] == "/admin/accounts/oauthapplication/"
    assert mcp_status(tokens.access) == 401
    assert not OAuthApplication.objects.exists()
    entry = AuditEntry.objects.unscoped().get(action="connected_app.disconnect")
    assert entry.detail["reason"] == "the client was deleted"


def test_a_sync_is_canceled_and_what_cannot_be_done_is_a_message(cast: Cast, operator_client: Client) -> None:
    sync_pk = int(str(MAKERS["sync_id"](cast.account)))

    operator_client.post(action_url(CostSync, sync_pk, "cancel"))
    sync = CostSync.objects.unscoped().get(pk=sync_pk)
    repeated = operator_client.post(action_url(CostSync, sync_pk, "repeat"))
    again = operator_client.post(action_url(CostSync, sync_pk, "repeat"), follow=True)

    assert sync.status == "canceled"
    assert repeated.status_code == 302
    assert CostSync.objects.unscoped().filter(connection=sync.connection, status="queued").count() == 1
    assert "A sync of this source is queued or running already." in again.content.decode()


def test_all_access_of_a_person_ends_and_she_and_her_accounts_see_it(
    cast: Cast, operator_client: Client
) -> None:
    client = signed_in(cast.member)
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    tokens = OAuthClient().connect(cast.member)

    page = operator_client.get(action_url(User, cast.member.pk, "end-access")).content.decode()
    operator_client.post(action_url(User, cast.member.pk, "end-access"))

    assert "MCP key Claude, Acme" in page
    assert "Connected app Test client" in page
    assert client.get("/a/acme/").status_code == 302
    assert authenticate_mcp_key(plaintext) is None
    assert mcp_status(tokens.access) == 401
    assert "by the operator" in SecurityEvent.objects.filter(user=cast.member, kind="end_session")[0].detail
    assert AuditEntry.objects.unscoped().filter(action="user.end_access", account=cast.account).count() == 1
    assert signed_in(cast.member).get("/a/acme/").status_code == 200


def test_operators_are_made_and_removed_but_not_by_themselves(cast: Cast, operator_client: Client) -> None:
    def role() -> tuple[bool, bool]:
        person = User.objects.get(pk=cast.member.pk)
        return person.is_staff, person.is_superuser

    roles = []
    for name in ("let-look", "let-act", "end-role"):
        operator_client.post(action_url(User, cast.member.pk, name))
        roles.append(role())
    me = User.objects.get(email="operator@example.com")
    answer = operator_client.post(action_url(User, me.pk, "end-role"), follow=True)

    assert roles == [(True, False), (True, True), (False, False)]
    assert "You cannot change your own role." in answer.content.decode()
    assert User.objects.get(pk=me.pk).is_superuser


def test_a_data_export_is_run_now_and_once(operator_client: Client, cast: Cast) -> None:
    export = DataExport.objects.unscoped().create(account=cast.account, name="lake", external_id="lake")
    queued = operator_client.post(action_url(DataExport, export.pk, "run"), follow=True)
    again = operator_client.post(action_url(DataExport, export.pk, "run"), follow=True)

    assert "A run is queued." in queued.content.decode()
    assert "queued or running already" in again.content.decode()
    assert DataExportRun.objects.unscoped().filter(export=export).count() == 1


def test_a_run_of_a_data_export_is_canceled_and_retried(operator_client: Client, cast: Cast) -> None:
    run = DataExportRun.objects.unscoped().get(pk=int(str(MAKERS["run_id"](cast.account))))
    assert "as it was" in operator_client.get(action_url(DataExportRun, run.pk, "cancel")).content.decode()
    assert operator_client.get(action_url(DataExportRun, run.pk, "retry")).status_code == 404

    operator_client.post(action_url(DataExportRun, run.pk, "cancel"))
    canceled = DataExportRun.objects.unscoped().get(pk=run.pk)
    again = operator_client.post(action_url(DataExportRun, run.pk, "cancel"))
    retried = operator_client.post(action_url(DataExportRun, run.pk, "retry"), follow=True)

    assert (canceled.status, again.status_code) == ("canceled", 404)
    assert "A run is queued." in retried.content.decode()
    [new] = DataExportRun.objects.unscoped().filter(export=run.export_id, status="queued")
    assert new.actor_label == "Operator operator@example.com"
    entry = AuditEntry.objects.unscoped().get(action="data_export.cancel_run")
    assert (entry.account, entry.actor_label) == (cast.account, "Operator operator@example.com")
    assert entry.detail == {"run_id": run.pk}
    assert [line.change_message for line in LogEntry.objects.order_by("pk")] == [
        "Cancel run: The run is being canceled.",
        "Retry run: A run is queued.",
    ]


def test_an_operator_with_view_access_cancels_and_retries_no_run(staff_client: Client, cast: Cast) -> None:
    pk = int(str(MAKERS["run_id"](cast.account)))

    for name in ("cancel", "retry"):
        DataExportRun.objects.unscoped().update(status="queued" if name == "cancel" else "failed")
        assert staff_client.post(action_url(DataExportRun, pk, name)).status_code == 403

    assert DataExportRun.objects.unscoped().get().status == "failed"
    page = staff_client.get(f"/admin/data_exports/dataexportrun/{pk}/change/").content.decode()
    assert "Retry run" not in page
