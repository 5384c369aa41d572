"""Rows of allocation."""

from __future__ import annotations

import secrets

from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, SharedCostSplit, Team, TeamMember, TeamValue


def cost_tag(account: Account) -> int:
    with account_scope(account):
        return CostTag.objects.create(account=account, key=f"walk {secrets.token_hex(4)}").pk


def team(account: Account) -> int:
    with account_scope(account):
        return Team.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def team_member(account: Account) -> int:
    with account_scope(account):
        membership = Membership.objects.filter(account=account).order_by("pk")[0]
        return TeamMember.objects.create(account=account, team_id=team(account), membership=membership).pk


def team_value(account: Account) -> int:
    with account_scope(account):
        return TeamValue.objects.create(
            account=account, team_id=team(account), value=f"walk {secrets.token_hex(4)}"
        ).pk


def split(account: Account) -> int:
    with account_scope(account):
        return SharedCostSplit.objects.create(
            account=account,
            name=f"walk {secrets.token_hex(4)}",
            dimension="service",
            source_value="walk",
            method="even",
            targets=[{"value": "other", "percent": None}],
        ).pk
