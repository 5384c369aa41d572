"""A small account with what prompts complete from: two sources, teams, budgets, a cost tag, tags, two currencies."""

from __future__ import annotations

from datetime import UTC, date, datetime

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.costs.models import CostSource
from tests.finops.budgets import world
from tests.finops.costs.rows import add_source, cost

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)  # a Friday
FIRST, LAST = date(2026, 1, 12), date(2026, 3, 18)
OLD = date(2025, 11, 5)


def fill(account: Account) -> None:
    """Cost from 12 January to 18 March of the source Clouds, and one day of November of the source Archive."""
    with account_scope(account):
        clouds = [
            cost(
                day,
                10 + day.day,
                service="Amazon EC2" if day.day % 2 else "BigQuery",
                provider="AWS" if day.day % 2 else "Google Cloud",
                region="eu-central-1" if day.day % 3 else "us-east-1",
                currency="USD" if day.day % 2 else "EUR",
                tags={"squad": "core" if day.day % 2 else "growth", "env": "prod"},
            )
            for day in world.days(FIRST, LAST)
        ]
        source = add_source(account, clouds, name="Clouds")
        add_source(account, [cost(OLD, 5, provider="AWS", service="Amazon S3")], name="Archive")
        _own(account)
        _watch(account, source)


def _own(account: Account) -> None:
    set_team_key(account=account, actor=world.ACTOR, dimension="tag:squad")
    for name, value in (("Core platform", "core"), ("Growth", "growth")):
        team = create_team(account=account, actor=world.ACTOR, name=name)
        own_value(team=team, actor=world.ACTOR, value=value)
    CostTag.objects.create(account=account, key="product line")


def _watch(account: Account, source: CostSource) -> None:
    world.make(account, "Everything", 500)
    world.make(account, "Growth of the year", 9_000, period="yearly", scope=world.of_team("Growth"))
    world.make(account, "The clouds", 900, scope=world.of_source(source.pk))
