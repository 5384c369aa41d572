"""A suspended account: every endpoint answers 403 and says why, no task of it runs, and nothing is lost."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.keys import mint_mcp_key
from accounts.models import Account, AuditEntry, User
from accounts.scoping import account_scope
from accounts.services.suspension import resume_account, suspend_account
from finops.celery import RUNS_WHILE_SUSPENDED
from finops.connections.models import CostSync
from finops.connections.services.syncs import queue_due_syncs
from finops.connections.tasks import check_for_changes
from finops.lib.errors import UserError
from ingestion.models import UsageBatch
from tests.accounts.oauth.flow import OAuthClient, mcp_status
from tests.cast import ACTOR, Cast, reauthenticated, signed_in
from tests.finops.connections.pushes.push_steps import create_cost_client
from tests.ingestion.push_client import create_push_client, event
from tests.isolation.rows import MAKERS
from tests.isolation.test_tasks import OF_AN_ACCOUNT

WHY = "The account Acme is suspended."


def suspend(account: Account) -> None:
    suspend_account(account=account, actor=ACTOR)


def test_members_see_why_and_where_else_they_may_go(cast: Cast) -> None:
    client = signed_in(cast.both)
    suspend(cast.account)

    answer = client.get("/a/acme/")

    assert answer.status_code == 403
    assert "Acme is suspended" in answer.content.decode()
    assert 'href="/a/elsewhere/"' in answer.content.decode()
    assert 'action="/auth/logout/"' in answer.content.decode()
    assert client.post("/a/acme/settings/mcp-keys/new/", {"name": "x"}).status_code == 403
    assert client.get("/a/elsewhere/").status_code == 200
    assert signed_in(cast.stranger).get("/a/acme/").status_code == 404


def test_keys_and_apps_are_refused_at_the_mcp_endpoint(cast: Cast) -> None:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="Claude")
    tokens = OAuthClient().connect(cast.member)
    suspend(cast.account)

    for path in ("/api/mcp", "/api/v1/tools/listBudgets"):
        answer = Client().post(
            path, "{}", content_type="application/json", headers={"authorization": f"Bearer {plaintext}"}
        )

        assert answer.status_code == 403
        assert WHY in answer.content.decode()
    assert mcp_status(tokens.access) == 403


def test_pushes_are_refused_and_store_nothing(cast: Cast) -> None:
    usage, cost = create_push_client(cast), create_cost_client(cast)
    suspend(cast.account)

    refusal = usage.push(event())

    assert (refusal.status_code, refusal.json()["error"]["code"]) == (403, "account_suspended")
    assert WHY in refusal.json()["error"]["message"]
    assert cost.send("POST", "/api/costs/pushes", {"month": "2026-05"}).status_code == 403
    assert not UsageBatch.objects.unscoped().exists()


def test_all_works_again_once_it_is_resumed(cast: Cast) -> None:
    push_client = create_push_client(cast)
    suspend(cast.account)
    resume_account(account=cast.account, actor=ACTOR)

    assert push_client.push(event()).status_code == 200
    assert signed_in(cast.viewer).get("/a/acme/").status_code == 200


def test_no_task_runs_and_no_sync_is_queued(cast: Cast) -> None:
    sync_pk = int(str(MAKERS["sync_id"](cast.account)))
    suspend(cast.account)
    with account_scope(cast.account):
        CostSync.objects.update(status="canceled")

    assert queue_due_syncs() == 0
    with account_scope(cast.account):
        CostSync.objects.update(status="queued")
    check_for_changes(cast.account.pk, sync_pk)
    with account_scope(cast.account):
        assert CostSync.objects.get(pk=sync_pk).status == "queued"


def test_tasks_that_run_despite_suspension_are_tasks_of_an_account() -> None:
    assert set(OF_AN_ACCOUNT) >= RUNS_WHILE_SUSPENDED


def test_an_account_is_suspended_once_and_resumed_once(cast: Cast) -> None:
    with pytest.raises(UserError, match="not suspended"):
        resume_account(account=cast.account, actor=ACTOR)
    suspend(cast.account)
    with pytest.raises(UserError, match="already suspended"):
        suspend(cast.account)


def test_an_operator_suspends_and_resumes_and_the_account_sees_who(cast: Cast, operator: Client) -> None:
    client = reauthenticated(operator, User.objects.get(email="operator@example.com"))
    page = f"/admin/accounts/account/{cast.account.pk}"

    client.post(f"{page}/actions/suspend/")
    suspended = Account.objects.get(pk=cast.account.pk).suspended_at
    client.post(f"{page}/actions/resume/")

    assert suspended is not None
    assert Account.objects.get(pk=cast.account.pk).suspended_at is None
    entries = AuditEntry.objects.unscoped().filter(account=cast.account, actor_label__startswith="Operator ")
    assert {entry.action for entry in entries} == {"account.suspend", "account.resume"}
