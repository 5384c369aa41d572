"""Writes on teams: the team key, teams, members and owned values. The caller checks permissions."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import RestrictedError

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership
from accounts.scoping import account_scope, existing
from finops.allocation.models import SharedCostSplit, Team, TeamKey, TeamMember, TeamValue
from finops.allocation.team_dimension import NO_TEAM
from finops.costs import dependants
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries import cost_view
from finops.lib.errors import UserError, in_use_error
from finops.lib.sentences import truncate

MAX_TEAMS = 200
MAX_VALUES = 5_000
"""The maximum of values: each is a string in every query by team."""


@transaction.atomic
def set_team_key(*, account: Account, actor: Actor, dimension: str) -> TeamKey:
    """Set the dimension of cost whose values teams own, such as `tag:team`, `cost_tag:cost-centre` or `account`.

    Answers by team use the new key from the next one on. Owned values stay: they are strings, and a value that the
    new key does not have costs nothing. Raises UserError with the nearest names for an unknown dimension, for a tag
    key that no cost line has, and for a cost tag whose rules use the team.
    """
    with account_scope(account):
        resolved = _dimension(account, dimension.strip())
        key = TeamKey.objects.select_for_update().first() or TeamKey(account=account)
        before, key.dimension = key.dimension, resolved.name
        key.full_clean(exclude=["account"])
        key.save()
        registry.resolve(_context(account), "team", field="dimension")
    _record(account, actor, "team_key.set", resolved.name, {"from": before, "to": resolved.name})
    return key


def _context(account: Account) -> DimensionContext:
    return DimensionContext(account, cost_view(account).product_key)


def _dimension(account: Account, name: str) -> Dimension:
    if not name:
        raise UserError("Choose a tag or dimension.", field="dimension")
    context = _context(account)
    if name.casefold() == "team":
        raise UserError("dimension: team cannot be the team key.", field="dimension")
    return registry.resolve_in_data(context, name, field="dimension", plans_ahead=True)


@transaction.atomic
def create_team(*, account: Account, actor: Actor, name: str, description: str = "") -> Team:
    """Create an empty team. Raises ValidationError for a name that is taken, UserError above 200 teams."""
    with account_scope(account):
        if Team.objects.count() >= MAX_TEAMS:
            raise UserError(f"The maximum is {MAX_TEAMS} teams per account. Delete one first.")
        team = Team(account=account, name=_name(name), description=description.strip())
        team.full_clean()
        team.save(force_insert=True)
    _record(account, actor, "team.create", team.name, {"description": team.description})
    return team


def _name(name: str) -> str:
    if name.strip().casefold() == NO_TEAM:
        raise UserError(f"name: {NO_TEAM} is reserved for cost without a team.", field="name")
    return name.strip()


@transaction.atomic
def change_team(*, team: Team, actor: Actor, name: str, description: str) -> Team:
    """Change a team's name and description. Splits of the team follow; filters stored elsewhere do not."""
    account = team.account
    with account_scope(account):
        team = existing(Team.objects.select_for_update(), team, "team")
        before = {"name": team.name, "description": team.description}
        team.name, team.description = _name(name), description.strip()
        team.full_clean()
        team.save()
        _rename_in_splits(before["name"], team.name)
    after = {"name": team.name, "description": team.description}
    _record(account, actor, "team.change", team.name, {"from": before, "to": after})
    return team


def _rename_in_splits(before: str, after: str) -> None:
    if before == after:
        return
    for split in _splits_of(before):
        if _is_same_name(split.source_value, before):
            split.source_value = after
        split.targets = [
            {**target, "value": after} if _is_same_name(target["value"], before) else target
            for target in split.targets
        ]
        split.save(update_fields=["source_value", "targets"])


def _splits_of(team: str) -> list[SharedCostSplit]:
    """Return the splits of the dimension team whose source or target is this team."""
    splits = SharedCostSplit.objects.select_for_update().filter(dimension="team")
    return [
        split
        for split in splits
        if any(
            _is_same_name(value, team)
            for value in (split.source_value, *(each["value"] for each in split.targets))
        )
    ]


def _is_same_name(value: str, name: str) -> bool:
    return value.casefold() == name.casefold()


@transaction.atomic
def delete_team(*, team: Team, actor: Actor) -> None:
    """Delete a team; its values lose their owner. Raises UserError that names budgets and splits of the team."""
    account = team.account
    with account_scope(account):
        team = existing(Team.objects.select_for_update(), team, "team")
        values = list(team.values.values_list("value", flat=True))
        if splits := _splits_of(team.name):
            raise _in_use(team, "split", [split.name for split in splits])
        dependents = dependants.audit_detail(team)
        try:
            team.delete()
        except RestrictedError as error:
            blockers = sorted(error.restricted_objects, key=str)
            raise _in_use(
                team, str(blockers[0]._meta.verbose_name), [str(each) for each in blockers]
            ) from error
    _record(account, actor, "team.delete", team.name, {"values": values[:100], **dependents})


def _in_use(team: Team, noun: str, names: list[str]) -> UserError:
    return in_use_error(f"Team {truncate(team.name, 60)!r}", noun, names)


@transaction.atomic
def add_team_member(*, team: Team, actor: Actor, membership: Membership) -> TeamMember:
    """Add a member of the account to a team. Raises UserError for other people, ValidationError for a duplicate."""
    account = team.account
    with account_scope(account):
        if membership.account_id != account.pk:
            raise UserError("Only members of the account can be in its teams.", field="membership")
        member = TeamMember(
            account=account,
            team=existing(Team.objects.select_for_update(), team, "team"),
            membership=membership,
        )
        member.full_clean()
        member.save(force_insert=True)
    _record(account, actor, "team_member.add", team.name, {"person": membership.user.email})
    return member


@transaction.atomic
def remove_team_member(*, member: TeamMember, actor: Actor) -> None:
    """Remove a person from a team; the membership of the account stays."""
    account, team, person = member.account, member.team, member.membership.user
    with account_scope(account):
        member.delete()
    _record(account, actor, "team_member.remove", team.name, {"person": person.email})


@transaction.atomic
def own_value(*, team: Team, actor: Actor, value: str) -> TeamValue:
    """Assign a value of the team key to a team: its cost becomes the team's, also for past days.

    Raises UserError that names the current owner, and above 5,000 values; ValidationError for an empty value and one
    of more than 255 characters.
    """
    account = team.account
    with account_scope(account):
        team = existing(Team.objects.select_for_update(), team, "team")
        owner = TeamValue.objects.filter(value__iexact=value).select_related("team").first()
        if owner is not None:
            raise UserError(
                (
                    f"value: {truncate(value, 60)!r} already belongs to team "
                    f"{truncate(owner.team.name, 60)!r}. Remove it there first."
                ),
                field="value",
                value=value,
            )
        if TeamValue.objects.count() >= MAX_VALUES:
            raise UserError(
                f"Teams can own at most {MAX_VALUES:,} values. Combine values with a cost tag first."
            )
        owned = TeamValue(account=account, team=team, value=value)
        owned.full_clean()
        owned.save(force_insert=True)
    _record(account, actor, "team_value.own", team.name, {"value": value})
    return owned


@transaction.atomic
def release_value(*, owned: TeamValue, actor: Actor) -> None:
    """Remove a value from its team."""
    account, team = owned.account, owned.team
    with account_scope(account):
        owned.delete()
    _record(account, actor, "team_value.release", team.name, {"value": owned.value})


def _record(account: Account, actor: Actor, action: str, target: str, detail: dict[str, Any]) -> None:
    audit.record(account=account, actor=actor, action=action, target=target, detail=detail)
