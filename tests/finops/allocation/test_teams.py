"""Teams: their people, the values that they own, and what keeps them."""

from __future__ import annotations

from datetime import date

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry, Membership
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, SharedCostSplit, Team, TeamKey, TeamMember, TeamValue
from finops.allocation.queries.teams import team_infos
from finops.allocation.services import teams as services
from finops.allocation.services.teams import (
    add_team_member,
    change_team,
    create_team,
    delete_team,
    own_value,
    release_value,
    remove_team_member,
    set_team_key,
)
from finops.budgets.models import Budget
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.costs import add_source, cost


@pytest.fixture
def payer(acme: Account) -> Account:
    add_source(acme, [cost(date(2026, 3, 1), 5, tags={"Team": "core", "app": "shop"})])
    return acme


@pytest.fixture
def core(cast: Cast, acme: Account) -> Team:
    return create_team(account=acme, actor=cast.actor, name="Core")


def last_entry() -> tuple[str, str]:
    entry = AuditEntry.objects.latest("pk")
    return entry.action, entry.target


@pytest.mark.parametrize(
    ("dimension", "expected_key"),
    [
        ("tag:Team", "tag:Team"),
        ("tag: team", "tag:Team"),
        ("account", "account"),
        ("cost_tag:unit", "cost_tag:unit"),
    ],
)
def test_the_team_key_is_a_dimension_that_the_data_has(
    cast: Cast, payer: Account, dimension: str, expected_key: str
) -> None:
    CostTag.objects.create(account=payer, key="unit")

    set_team_key(account=payer, actor=cast.actor, dimension=dimension)

    assert TeamKey.objects.get().dimension == expected_key
    assert last_entry() == ("team_key.set", expected_key)


def test_choosing_again_replaces_the_key_and_keeps_the_values(cast: Cast, payer: Account, core: Team) -> None:
    own_value(team=core, actor=cast.actor, value="core")
    set_team_key(account=payer, actor=cast.actor, dimension="tag:Team")
    set_team_key(account=payer, actor=cast.actor, dimension="account")

    assert [key.dimension for key in TeamKey.objects.all()] == ["account"]
    assert AuditEntry.objects.latest("pk").detail == {"from": "tag:Team", "to": "account"}
    assert TeamValue.objects.get().value == "core"


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        ("tag:Taem", "Nearest: 'tag:Team'"),
        ("accuont", "Nearest: account"),
        ("team", "dimension: team cannot be the team key."),
        ("", "Choose a tag or dimension."),
        ("cost_tag:nope", "'nope' does not exist"),
    ],
    ids=["misspelt tag", "misspelt dimension", "itself", "empty", "unknown cost tag"],
)
def test_an_unknown_team_key_is_refused(cast: Cast, payer: Account, dimension: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        set_team_key(account=payer, actor=cast.actor, dimension=dimension)

    assert not TeamKey.objects.exists()


def test_a_cost_tag_whose_rules_ask_for_the_team_cannot_be_the_team_key(cast: Cast, payer: Account) -> None:
    rule = {"when": {"dimension": "team", "op": "in", "values": ["Core"]}, "value": "ours"}
    CostTag.objects.create(account=payer, key="unit", rules=[rule])

    with pytest.raises(
        UserError, match="Circular reference: the team key is a cost tag whose rules use team"
    ):
        set_team_key(account=payer, actor=cast.actor, dimension="cost_tag:unit")

    assert not TeamKey.objects.exists()


def test_a_team_is_made_changed_and_deleted_and_the_log_says_so(cast: Cast, acme: Account) -> None:
    team = create_team(account=acme, actor=cast.actor, name=" Core ", description="Runs it all")
    assert (team.name, last_entry()) == ("Core", ("team.create", "Core"))

    change_team(team=team, actor=cast.actor, name="Platform", description="")
    assert AuditEntry.objects.latest("pk").detail == {
        "from": {"name": "Core", "description": "Runs it all"},
        "to": {"name": "Platform", "description": ""},
    }

    delete_team(team=team, actor=cast.actor)
    assert not Team.objects.exists()
    assert last_entry() == ("team.delete", "Platform")


@pytest.mark.parametrize(
    "name", ["", "CORE", "(no team)", "x" * 101], ids=["empty", "taken", "reserved", "long"]
)
def test_a_team_needs_a_name_of_its_own(cast: Cast, acme: Account, core: Team, name: str) -> None:
    with pytest.raises((ValidationError, UserError)):
        create_team(account=acme, actor=cast.actor, name=name)

    assert Team.objects.get() == core


def test_an_account_has_so_many_teams_and_values_at_most(
    cast: Cast, acme: Account, core: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_TEAMS", 1)
    monkeypatch.setattr(services, "MAX_VALUES", 1)
    own_value(team=core, actor=cast.actor, value="a")

    with pytest.raises(UserError, match="The maximum is 1 teams per account"):
        create_team(account=acme, actor=cast.actor, name="Edge")
    with pytest.raises(UserError, match="Teams can own at most 1 values"):
        own_value(team=core, actor=cast.actor, value="b")


def test_a_value_has_one_team_whatever_its_case(cast: Cast, acme: Account, core: Team) -> None:
    edge = create_team(account=acme, actor=cast.actor, name="Edge")
    owned = own_value(team=core, actor=cast.actor, value="payments")

    with pytest.raises(UserError, match="'PAYMENTS' already belongs to team 'Core'"):
        own_value(team=edge, actor=cast.actor, value="PAYMENTS")

    release_value(owned=owned, actor=cast.actor)
    assert own_value(team=edge, actor=cast.actor, value="PAYMENTS").team == edge
    assert last_entry() == ("team_value.own", "Edge")


@pytest.mark.parametrize("value", ["", "x" * 256], ids=["empty", "long"])
def test_a_value_that_no_line_can_have_is_refused(cast: Cast, core: Team, value: str) -> None:
    with pytest.raises(ValidationError):
        own_value(team=core, actor=cast.actor, value=value)


def test_people_of_the_account_join_and_leave_a_team(cast: Cast, acme: Account, core: Team) -> None:
    membership = Membership.objects.get(account=acme, user=cast.viewer)
    member = add_team_member(team=core, actor=cast.actor, membership=membership)

    assert [person.email for person in team_infos(acme)[0].people] == ["viewer@example.com"]
    assert last_entry() == ("team_member.add", "Core")
    with pytest.raises(ValidationError, match="This person is already in the team"):
        add_team_member(team=core, actor=cast.actor, membership=membership)

    remove_team_member(member=member, actor=cast.actor)
    assert team_infos(acme)[0].people == ()
    assert Membership.objects.filter(pk=membership.pk).exists()


def test_a_member_who_leaves_the_account_leaves_its_teams(cast: Cast, acme: Account, core: Team) -> None:
    membership = Membership.objects.get(account=acme, user=cast.viewer)
    add_team_member(team=core, actor=cast.actor, membership=membership)

    membership.delete()

    assert not TeamMember.objects.exists()


def test_a_member_of_another_account_cannot_join(cast: Cast, core: Team) -> None:
    stranger = Membership.objects.get(user=cast.stranger)

    with pytest.raises(UserError, match="Only members of the account"):
        add_team_member(team=core, actor=cast.actor, membership=stranger)


def test_a_team_with_budgets_or_splits_stays_and_says_which(cast: Cast, acme: Account, core: Team) -> None:
    budget = Budget.objects.create(
        account=acme, name="Core monthly", amount=100, currency="USD", scope="team", team=core
    )
    with pytest.raises(UserError, match="used by the budget 'Core monthly'"):
        delete_team(team=core, actor=cast.actor)

    budget.delete()
    split = SharedCostSplit.objects.create(
        account=acme,
        name="NAT",
        dimension="team",
        source_value="(no team)",
        method="even",
        targets=[{"value": "core", "percent": None}],
    )
    with pytest.raises(UserError, match="used by the split 'NAT'"):
        delete_team(team=core, actor=cast.actor)

    split.delete()
    delete_team(team=core, actor=cast.actor)
    assert not Team.objects.exists()


def test_splits_follow_a_team_that_gets_another_name(cast: Cast, acme: Account, core: Team) -> None:
    targets = [{"value": "core", "percent": "40"}, {"value": "Edge", "percent": "60"}]
    SharedCostSplit.objects.create(
        account=acme, name="NAT", dimension="team", source_value="Shared", method="fixed", targets=targets
    )

    change_team(team=core, actor=cast.actor, name="Platform", description="")

    assert [target["value"] for target in SharedCostSplit.objects.get().targets] == ["Platform", "Edge"]


def test_teams_of_another_account_are_out_of_reach(cast: Cast, core: Team) -> None:
    with account_scope(cast.other_account):
        assert team_infos(cast.other_account) == []
        assert create_team(account=cast.other_account, actor=cast.other_actor, name="Core").name == "Core"
