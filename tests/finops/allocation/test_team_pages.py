"""Teams as people see them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation import team_panels
from finops.allocation.models import Team, TeamKey, TeamMember, TeamValue
from finops.lib.registry import Registry
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.pages import csv_rows, get_page, text_of

PAGE = "/a/acme/teams/"


@pytest.fixture
def payer(cast: Cast) -> Account:
    """Sixty days: payments 6 a day, half of it in S3, search 2, and 1 EUR without a value."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    days = [yesterday - timedelta(days=back) for back in range(60)]
    lines = [cost(day, 3, service=name, tags={"team": "payments"}) for day in days for name in ("S3", "EC2")]
    lines += [cost(day, 2, tags={"team": "search"}) for day in days]
    with account_scope(cast.account):
        add_source(cast.account, [*lines, *(cost(day, 1, currency="EUR") for day in days)])
        TeamKey.objects.create(account=cast.account, dimension="tag:team")
        team = Team.objects.create(account=cast.account, name="Payments", description="Checkout")
        TeamValue.objects.create(account=cast.account, team=team, value="Payments")
    return cast.account


def only_team(account: Account) -> Team:
    return Team.objects.unscoped().get(account=account)


def read(client: Client, url: str, **query: Any) -> str:
    return get_page(client, f"{url}?{urlencode(query)}")


def test_the_list_has_teams_their_cost_and_what_nobody_owns(cast: Cast, payer: Account) -> None:
    page = read(signed_in(cast.viewer), PAGE)

    assert re.search(r"Payments Checkout .*75% — 1 ", page)
    assert re.search(r"search \$60\.00", page)
    assert re.search(r"\(untagged\) €30\.00", page)
    assert "Assign" not in page


def test_one_click_gives_a_value_to_a_team(cast: Cast, payer: Account) -> None:
    client, team = signed_in(cast.member), only_team(payer)
    assert 'aria-label="Team for search"' in client.get(PAGE).content.decode()

    text = text_of(client.post(f"{PAGE}assign/", {"team": team.pk, "value": "search"}, follow=True))

    assert "Cost of “search” now belongs to Payments, including past cost." in text
    assert re.search(r"Payments Checkout .*100% — 2 ", text)
    again = text_of(
        client.post(f"{PAGE}assign/", {"team": team.pk, "value": "SEARCH", "next": "team"}, follow=True)
    )
    assert "already belongs to team 'Payments'" in again
    assert client.post(f"{PAGE}assign/", {"team": "x", "value": "rest"}).status_code == 404


def test_a_team_has_its_cost_services_people_and_values(cast: Cast, payer: Account) -> None:
    team = only_team(payer)
    page = read(signed_in(cast.member), f"{PAGE}{team.pk}/")

    assert re.search(r"EC2 \$\S+ 50%", page)
    assert "Payments $180.00" in page
    assert "No members yet." in page
    assert "13 months" in page
    assert "search $60.00" in read(signed_in(cast.member), f"{PAGE}{team.pk}/", find="EAR")
    assert "No unassigned values match “nope”." in read(
        signed_in(cast.member), f"{PAGE}{team.pk}/", find="nope"
    )


def test_people_and_values_come_and_go(cast: Cast, payer: Account) -> None:
    client, team = signed_in(cast.member), only_team(payer)
    url = f"{PAGE}{team.pk}/"

    text = text_of(client.post(f"{url}members/", {"email": "VIEWER@example.com"}, follow=True))
    assert "Added Viewer to Payments." in text
    refusal = text_of(client.post(f"{url}members/", {"email": "stranger@example.com"}, follow=True))
    assert "No member has the email" in refusal

    client.post(f"{PAGE}members/{TeamMember.objects.unscoped().get().pk}/remove/")
    client.post(f"{PAGE}values/{TeamValue.objects.unscoped().get().pk}/release/")
    assert not TeamMember.objects.unscoped().exists()
    assert not TeamValue.objects.unscoped().exists()


def test_a_team_is_made_renamed_and_deleted(cast: Cast, payer: Account) -> None:
    client = signed_in(cast.member)

    assert "Team Edge created." in text_of(client.post(f"{PAGE}new/", {"name": "Edge"}, follow=True))
    team = Team.objects.unscoped().get(name="Edge")
    assert client.post(f"{PAGE}new/", {"name": "edge"}).status_code == 422
    renamed = text_of(client.post(f"{PAGE}{team.pk}/edit/", {"name": "Rim"}, follow=True))
    assert "Edge renamed to Rim." in renamed
    assert "Rim deleted." in text_of(client.post(f"{PAGE}{team.pk}/delete/", follow=True))


def test_the_team_key_is_chosen_by_members(cast: Cast, payer: Account) -> None:
    client = signed_in(cast.member)

    assert "Team key set to account." in text_of(
        client.post(f"{PAGE}key/", {"dimension": "account"}, follow=True)
    )
    assert client.post(f"{PAGE}key/", {"dimension": "tag:nope"}).status_code == 422
    assert signed_in(cast.viewer).post(f"{PAGE}key/", {"dimension": "account"}).status_code == 403
    assert "Only members can change this." in read(signed_in(cast.viewer), f"{PAGE}key/")


def test_lists_sort_search_and_export_each_currency(cast: Cast, payer: Account) -> None:
    client, team = signed_in(cast.viewer), only_team(payer)

    answer = client.get(f"{PAGE}?format=csv&sort=team")
    rows = csv_rows(answer)
    assert [row["Team"] for row in rows] == ["(no team)", "Payments"]
    assert float(rows[0]["This month, EUR"]) * 6 == float(rows[1]["This month, USD"])
    assert "No teams match “zzz”." in read(client, PAGE, q="zzz")
    values = client.get(f"{PAGE}{team.pk}/?format=csv")
    lines = b"".join(values.streaming_content).decode()  # type: ignore[attr-defined]
    assert "Payments,,180" in lines


def test_an_account_without_key_or_team_sees_what_to_do(cast: Cast) -> None:
    page = read(signed_in(cast.owner), PAGE)

    assert "Set a team key" in page
    assert "No teams yet" in page


def test_higher_rooms_show_panels_on_a_team(
    cast: Cast, payer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    panels_by_name: Registry[Any] = Registry("team panel")
    monkeypatch.setattr(team_panels, "team_panels", panels_by_name)

    @panels_by_name.register("nothing")
    def _nothing(account: Account, team: Team) -> None:
        return None

    @panels_by_name.register("words")
    def _words(account: Account, team: Team) -> team_panels.TeamPanel:
        return team_panels.TeamPanel("_warnings.html", {"warnings": [team.name]})

    with account_scope(payer):
        panels = team_panels.panels_of(payer, only_team(payer))
    assert [panel.context for panel in panels] == [{"warnings": ["Payments"]}]
    with pytest.raises(ValueError, match="registered twice"):
        panels_by_name.register("words")(_words)
    assert signed_in(cast.viewer).get(f"{PAGE}{only_team(payer).pk}/").status_code == 200


def test_many_teams_are_pages_and_one_csv(cast: Cast) -> None:
    with account_scope(cast.account):
        Team.objects.bulk_create(Team(account=cast.account, name=f"Team {number:03}") for number in range(60))
    client = signed_in(cast.viewer)

    first, second = read(client, PAGE), read(client, PAGE, page=2)

    assert "Team 049" in first
    assert "Team 050" not in first
    assert "Team 050" in second
    assert "Team 049" not in second
    assert "Team 059" in read(client, PAGE, q="059")
    assert len(csv_rows(client.get(PAGE, {"format": "csv"}))) == 60
