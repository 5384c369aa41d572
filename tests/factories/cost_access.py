"""Two accounts with equal settings: one with all lines and a limited reader, one that never had the lines outside of
the limit.

Everything outside of the limit has SECRET in its text, and amounts that end in .77.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date, timedelta

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services import add_member
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.cost_access.creations import limit_key
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from tests.cast import Cast
from tests.factories.cost_access_settings import add_settings, add_stored_secrets
from tests.factories.costs import Line, add_source, cost
from tests.factories.days import days

SECRET = "zzsecret"
FIRST, LAST = date(2026, 1, 1), date(2026, 3, 18)
LIMIT = "Core readers"


@dataclasses.dataclass(frozen=True)
class Pair:
    """The account with all lines and the one with only those inside; a person who reads both, and a key for each."""

    whole: Account
    inside: Account
    reader: User
    limited_key: str
    inside_key: str
    limit: CostAccessLimit


def lines_inside() -> list[Line]:
    return [
        cost(
            day,
            f"{10 + day.day % 3}.10",
            service="Compute" if day.day % 2 else "Storage",
            provider="AWS",
            region="eu-central-1",
            account_id="111",
            account_name="Core production",
            resource_id=f"i-{day.day % 4}",
            usage_type="BoxUsage",
            tags={"team": "core", "env": "prod"},
        )
        for day in days(FIRST, LAST)
    ]


def lines_outside() -> list[Line]:
    """Return lines that also have other days, services, currencies, tag keys and sources."""
    start = FIRST - timedelta(days=40)
    return [
        cost(
            day,
            "1000.77",
            service="Compute" if day.day % 2 else f"{SECRET} service",
            provider="AWS" if day.day % 5 else f"{SECRET} cloud",
            region=f"{SECRET}-1",
            account_id=f"{SECRET}-222",
            account_name=f"{SECRET} account",
            resource_id="i-1" if day.day % 2 else f"{SECRET}-i",
            currency="USD" if day.day % 3 else "EUR",
            tags={"team": SECRET, f"{SECRET}-key": "x"} if day.day % 7 else {},
        )
        for day in days(start, LAST + timedelta(days=1))
    ]


def make_pair(cast: Cast, filters: Sequence[CostFilter] = ()) -> Pair:
    whole, inside = cast.account, cast.other_account
    Account.objects.filter(pk=inside.pk).update(name=whole.name)
    inside.name = whole.name
    _fill(whole, cast.owner, bill=[*lines_inside(), *lines_outside()], other=lines_outside())
    _fill(inside, cast.stranger, bill=lines_inside(), other=[])
    admin = Actor.of_user(cast.owner)
    cost_filters = list(filters) or [CostFilter(dimension="team", values=["Core"])]
    limit = create_limit(account=whole, actor=admin, name=LIMIT, alternatives=[cost_filters])
    reader = cast.viewer
    limit_member(membership=Membership.objects.get(account=whole, user=reader), limit=limit, actor=admin)
    add_member(account=inside, user=reader, role=Role.VIEWER, actor=Actor.of_user(cast.stranger))
    key, limited = mint_mcp_key(account=whole, actor=admin, name="limited", scope="read_write")
    limit_key(key=key, limit=limit, actor=admin)
    _, plain = mint_mcp_key(account=inside, actor=admin, name="limited", scope="read_write")
    return Pair(whole, inside, reader, limited, plain, limit)


def _fill(account: Account, owner: User, *, bill: Sequence[Line], other: Sequence[Line]) -> None:
    actor = Actor.of_user(owner)
    with account_scope(account):
        add_source(account, bill, name="Bill")
        if other:
            add_source(account, other, name=f"{SECRET} source")
        set_team_key(account=account, actor=actor, dimension="tag:team")
        team = create_team(account=account, actor=actor, name="Core")
        own_value(team=team, actor=actor, value="core")
        add_settings(account, team)
        if other:
            add_stored_secrets(account, SECRET)
