"""Assign many members at once to the teams that identity provider groups map to."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.allocation.models import Team, TeamMember


@transaction.atomic
def place_in_teams(
    account: Account, teams: Mapping[Membership, set[int]], mapped: set[int], actor: Actor
) -> None:
    """Put each member of the account into these teams and remove her from the other teams of `mapped`. Ids without a
    team are ignored. The number of queries does not depend on the number of members."""
    with account_scope(account):
        living = {
            team.pk: team for team in Team.objects.select_for_update().filter(pk__in=mapped).order_by("pk")
        }
        rows = list(TeamMember.objects.filter(membership__in=list(teams), team__in=living))
        present = {(row.membership_id, row.team_id) for row in rows}
        people = {membership.pk: membership for membership in teams}
        left = [row for row in rows if row.team_id not in teams[people[row.membership_id]]]
        new = [
            TeamMember(account=account, team=living[team_id], membership=membership)
            for membership, team_ids in teams.items()
            for team_id in sorted(team_ids & living.keys())
            if (membership.pk, team_id) not in present
        ]
        TeamMember.objects.filter(pk__in=[row.pk for row in left]).delete()
        # Somebody may have added the member by hand meanwhile.
        TeamMember.objects.bulk_create(new, batch_size=2_000, ignore_conflicts=True)
    for verb, changed in (("add", new), ("remove", left)):
        audit.record_each(
            account=account,
            actor=actor,
            action=f"team_member.{verb}",
            targets=[
                (living[row.team_id].name, {"person": people[row.membership_id].user.email})
                for row in changed
            ],
        )
