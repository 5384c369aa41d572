"""First steps of a new account: what is done by facts, what each person may do, and their end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.first_steps import first_steps_of
from accounts.keys import mint_mcp_key
from accounts.models import Account, Membership, User
from accounts.scoping import account_scope
from accounts.services import invite
from finops.costs.models import CostSource
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget
from tests.pages import get_page

pytestmark = pytest.mark.django_db
ACTIONS = ("Connect source", "Invite teammate", "Connect assistant", "Create budget")


def only_membership(cast: Cast) -> Membership:
    """The owner of an account without anybody else."""
    Membership.objects.filter(account=cast.account).exclude(user=cast.owner).delete()
    return Membership.objects.get(account=cast.account, user=cast.owner)


def steps(membership: Membership) -> dict[str, bool]:
    with account_scope(membership.account):
        first_steps = first_steps_of(membership)
    return {step.action: is_done for step, is_done in first_steps.steps} if first_steps else {}


def page(user: User) -> str:
    return get_page(signed_in(user), "/a/acme/")


def test_a_new_account_has_four_steps_in_order_with_a_button_each(cast: Cast) -> None:
    membership = only_membership(cast)

    assert steps(membership) == dict.fromkeys(ACTIONS, False)
    text = page(cast.owner)
    assert "0 of 4 done" in text
    assert all(action in text for action in ACTIONS)


@pytest.mark.parametrize(
    ("action", "act"),
    [
        ("Connect source", lambda cast: CostSource.objects.create(account=cast.account, name="AWS")),
        (
            "Invite teammate",
            lambda cast: invite(
                account=cast.account, actor=cast.actor, email="ana@example.com", role="viewer"
            ),
        ),
        (
            "Connect assistant",
            lambda cast: mint_mcp_key(account=cast.account, actor=cast.actor, name="Cursor"),
        ),
        ("Create budget", lambda cast: create_budget(cast.account)),
    ],
)
def test_a_step_is_done_once_the_fact_is_there(
    cast: Cast, action: str, act: Callable[[Cast], object]
) -> None:
    membership = only_membership(cast)
    with account_scope(cast.account):
        act(cast)

    assert steps(membership) == {each: each == action for each in ACTIONS}
    assert "1 of 4 done" in page(cast.owner)


def test_facts_of_another_account_do_nothing(cast: Cast, acme: Account) -> None:
    membership = only_membership(cast)
    with account_scope(cast.other_account):
        CostSource.objects.create(account=cast.other_account, name="AWS")
        mint_mcp_key(account=cast.other_account, actor=cast.actor, name="Cursor")

    assert steps(membership) == dict.fromkeys(ACTIONS, False)


def test_everybody_sees_what_their_role_may_do(cast: Cast) -> None:
    def actions(user: User) -> set[str]:
        return {each for each in ACTIONS if each in page(user)}

    assert actions(cast.viewer) == {"Connect assistant"}
    assert actions(cast.member) == {"Connect source", "Connect assistant", "Create budget"}


def test_the_panel_ends_by_itself_once_all_is_done(cast: Cast, acme: Account) -> None:
    assert "First steps" in page(cast.viewer)

    mint_mcp_key(account=acme, actor=cast.actor, name="Cursor")

    assert "First steps" not in page(cast.viewer)
    assert "First steps" in page(cast.member)


def test_a_person_dismisses_the_panel_for_themselves_and_it_costs_no_query_then(
    cast: Cast, acme: Account
) -> None:
    client = signed_in(cast.viewer)
    client.get("/a/acme/")
    with CaptureQueriesContext(connection) as captured:
        client.get("/a/acme/")
    before = len(captured)

    answer = client.post("/a/acme/first-steps/dismiss/")

    assert answer.status_code == 302
    assert answer.headers["Location"] == "/a/acme/"
    with CaptureQueriesContext(connection) as captured:
        assert "First steps" not in get_page(client, "/a/acme/")
    assert before - len(captured) == 1
    assert "First steps" in page(cast.member)


def test_an_account_from_before_has_none(cast: Cast) -> None:
    membership = only_membership(cast)
    created_at = membership.account.created_at

    with clock.frozen(created_at + timedelta(days=89)):
        assert steps(membership)
    with clock.frozen(created_at + timedelta(days=90)), CaptureQueriesContext(connection) as captured:
        assert not steps(membership)
    assert len(captured) == 0
