from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
from pytest_django import DjangoDbBlocker

from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.costs.models import CostSource
from finops.demo.loader import load
from finops.lib import clock
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.budgets import create_budget, source_scope, team_scope
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON, days
from tests.factories.module_scope import module_account
from tests.mcpserver.mcp_client import McpClient, mint

DEMO_NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
DEMO_MONTHS = 2
FIRST, LAST = date(2026, 1, 12), date(2026, 3, 18)


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The demo company; what it hands out, with keys by scope."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("demo"), DEMO_NOW):
        yield load(lambda _line: None, months=DEMO_MONTHS).handout


@pytest.fixture(scope="module")
def small(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    """The cast, whose account has what prompts complete from: two sources, teams, budgets, a cost tag, two currencies."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("small"), NOON):
        cast = make_cast()
        _fill(cast.account)
        yield cast


@pytest.fixture
def cast(small: Cast, db: None) -> Cast:
    return small


@pytest.fixture
def mcp_client(cast: Cast) -> Iterator[McpClient]:
    with clock.frozen(NOON):
        yield McpClient(mint(cast))


@pytest.fixture
def empty(cast: Cast) -> Iterator[McpClient]:
    """A client of an account that has nothing."""
    key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="stranger")[1]
    with clock.frozen(NOON):
        yield McpClient(key)


def _fill(account: Account) -> None:
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
            for day in days(FIRST, LAST)
        ]
        source = add_source(account, clouds, name="Clouds")
        add_source(account, [cost(date(2025, 11, 5), 5, provider="AWS", service="Amazon S3")], name="Archive")
        _own(account)
        _watch(account, source)


def _own(account: Account) -> None:
    set_team_key(account=account, actor=ACTOR, dimension="tag:squad")
    for name, value in (("Core platform", "core"), ("Growth", "growth")):
        team = create_team(account=account, actor=ACTOR, name=name)
        own_value(team=team, actor=ACTOR, value=value)
    CostTag.objects.create(account=account, key="product line")


def _watch(account: Account, source: CostSource) -> None:
    create_budget(account, "Everything", 500)
    create_budget(account, "Growth of the year", 9_000, period="yearly", scope=team_scope("Growth"))
    create_budget(account, "The clouds", 900, scope=source_scope(source.pk))
