"""A team's page has its budgets and the boards of its cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import Team, TeamKey, TeamValue
from finops.budgets.models import Budget
from finops.dashboards.models import Dashboard
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost


@pytest.fixture
def team(cast: Cast) -> Team:
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    with account_scope(cast.account):
        add_source(
            cast.account,
            [cost(yesterday - timedelta(days=back), 3, tags={"team": "p"}) for back in range(40)],
        )
        TeamKey.objects.create(account=cast.account, dimension="tag:team")
        row = Team.objects.create(account=cast.account, name="Payments & co")
        TeamValue.objects.create(account=cast.account, team=row, value="p")
    return row


def page_of(cast: Cast, team: Team) -> str:
    answer = signed_in(cast.viewer).get(f"/a/acme/teams/{team.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def a_budget(account: Account, team: Team | None, name: str) -> None:
    with account_scope(account):
        Budget.objects.create(
            account=account,
            name=name,
            amount=Decimal(1),
            currency="USD",
            scope="team" if team else "account",
            team=team,
        )


def test_a_teams_page_says_where_its_budgets_stand(cast: Cast, team: Team) -> None:
    a_budget(cast.account, team, "Of the team")
    a_budget(cast.account, None, "Of everybody")

    page = page_of(cast, team)

    assert "Of the team" in page
    assert "Of everybody" not in page
    assert 'of <span class="amount">$1.00' in page


def test_without_a_budget_the_page_says_what_one_would_do(cast: Cast, team: Team) -> None:
    assert "No budget for this team. Create one with the scope “One team”." in page_of(cast, team)


def test_shared_boards_open_with_the_team_as_filter(cast: Cast, team: Team) -> None:
    with account_scope(cast.account):
        Dashboard.objects.create(account=cast.account, name="Weekly")
        Dashboard.objects.create(account=cast.account, name="Only mine", owner=cast.owner)

    page = page_of(cast, team)

    assert "Weekly" in page
    assert "f0=team&amp;f0op=in&amp;f0v=Payments+%26+co" in page
    assert "Only mine" not in page
