"""The person of an identity assertion: the same checks as at a sign-in, and the connection that it creates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.credentials import authenticate_bearer
from accounts.models import AuditEntry, Membership, OAuthAccessToken, OAuthConnection, User
from accounts.oauth.services import sweep
from accounts.scoping import account_scope
from accounts.services import change_role, remove_member
from accounts.services.suspension import suspend_account
from accounts.sso.models import IdentityProvider
from finops.cost_access.queries import limits_of_credential
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from tests.accounts.oauth.flow import mcp_status
from tests.accounts.sso.assertion_agent import Agent, refusal
from tests.accounts.sso.providers import Server, add_oidc
from tests.cast import ACTOR, Cast

pytestmark = pytest.mark.usefixtures("empty_key_cache")


def test_a_provider_of_another_account_authenticates_no_person(
    cast: Cast, agent: Agent, oidc: Server
) -> None:
    """The same issuer in two accounts: each has clients and people of its own."""
    elsewhere = Agent(add_oidc(cast.other_account, oidc, "elsewhere.test"), oidc)

    assert refusal(elsewhere.show(oidc.sign(elsewhere.claims())))[0] == "invalid_grant"
    assert not OAuthAccessToken.objects.exists()


def test_a_removed_member_gets_none_and_loses_hers(cast: Cast, agent: Agent) -> None:
    token = agent.connect()
    remove_member(membership=cast.member.memberships.get(account=cast.account), actor=ACTOR)

    assert mcp_status(token) == 401
    assert refusal(agent.show(agent.server.sign(agent.claims())))[1].startswith(
        "You are not a member of Acme."
    )


def test_a_demoted_member_reads_from_then_on(cast: Cast, agent: Agent) -> None:
    token = agent.connect()
    membership = cast.member.memberships.get(account=cast.account)
    change_role(membership=membership, role=Membership.objects.get(user=cast.viewer).role, actor=ACTOR)

    credential = authenticate_bearer(token)
    assert credential is not None
    assert not credential.may_write


def deactivate(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_active=False)


def make_operator(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(is_staff=True)


def move_away(cast: Cast, agent: Agent) -> None:
    User.objects.filter(pk=cast.member.pk).update(email="member@other.test")


def lose_the_domain(cast: Cast, agent: Agent) -> None:
    agent.provider.domains.update(verified_at=None)


def suspend(cast: Cast, agent: Agent) -> None:
    suspend_account(account=cast.account, actor=ACTOR)


def enforce_another(cast: Cast, agent: Agent) -> None:
    other = add_oidc(cast.account, agent.server, name="Other")
    IdentityProvider.objects.filter(pk=other.pk).update(is_enforced=True)


def require_factor(cast: Cast, agent: Agent) -> None:
    cast.account.second_factor_required = True
    cast.account.second_factor_required_at = clock.now() - timedelta(days=300)
    cast.account.save()
    Membership.objects.update(created_at=clock.now() - timedelta(days=300))
    IdentityProvider.objects.update(requires_factor_claim=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (deactivate, "deactivated"),
        (make_operator, "Operators of this server sign in by password"),
        (move_away, "whose domain is not one of Acme OIDC"),
        (lose_the_domain, "whose domain is not one of Acme OIDC"),
        (suspend, "The account is suspended"),
        (enforce_another, "requires single sign-on by Other"),
        (require_factor, "requires two-factor sign-in"),
    ],
)
def test_a_person_whose_sign_in_would_be_refused_gets_no_token(
    cast: Cast, agent: Agent, change: Any, message: str
) -> None:
    change(cast, agent)

    error, text = refusal(agent.show(agent.server.sign(agent.claims())))

    assert error == "invalid_grant"
    assert message in text
    assert not OAuthAccessToken.objects.exists()


def test_a_second_factor_at_the_provider_counts(cast: Cast, agent: Agent) -> None:
    require_factor(cast, agent)

    assert mcp_status(agent.connect(amr=["pwd", "otp"])) == 200


def test_the_persons_limit_of_cost_access_holds(cast: Cast, agent: Agent) -> None:
    service = CostFilter(dimension="service", op="in", values=["Amazon S3"])
    limit = create_limit(account=cast.account, actor=ACTOR, name="S3", alternatives=[[service]])
    limit_member(membership=cast.member.memberships.get(account=cast.account), limit=limit, actor=ACTOR)

    credential = authenticate_bearer(agent.connect())

    assert credential is not None
    assert limits_of_credential(credential) == [limit]


def test_a_person_has_one_connection_with_a_client_which_stays_between_assertions(
    cast: Cast, agent: Agent
) -> None:
    agent.connect()
    agent.connect()
    OAuthConnection.objects.unscoped().update(created_at=clock.now() - timedelta(days=2))
    OAuthAccessToken.objects.update(expires=clock.now() - timedelta(days=1))
    sweep()

    with account_scope(cast.account):
        connection = OAuthConnection.objects.get()
        entry = AuditEntry.objects.get(action="connected_app.connect")
    assert connection.user == cast.member
    assert (entry.actor_label, entry.detail["provider"]) == ("member@example.com", "Acme OIDC")
    OAuthConnection.objects.unscoped().update(created_at=clock.now() - timedelta(days=40))
    sweep()
    assert not OAuthConnection.objects.unscoped().exists()
