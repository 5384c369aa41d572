"""The pages of savings: the list, one recommendation, and what people say of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import Account, AuditEntry, User
from finops.costs.models import CostSource
from finops.insights.models import SavingsDismissal
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import Recommendation, SavingsQuery
from tests.cast import Cast
from tests.factories.costs import add_source, store_lines
from tests.finops.insights.savings.bills import FIRST, LAST, commitment_lines, daily, old, volume
from tests.pages import csv_rows, get_page

ClientFor = Callable[[User], Client]
LIST = "/a/acme/savings/"


@pytest.fixture
def source(acme: Account) -> CostSource:
    return add_source(acme, [*volume("10", account_name="lab"), *old("10")])


@pytest.fixture
def gp2(acme: Account, source: CostSource) -> Recommendation:
    """Ten USD a day of gp2: 60 of 300 USD a month to save."""
    (row,) = list_savings(acme, SavingsQuery(rule="volume_type")).recommendations
    return row


def page(row: Recommendation) -> str:
    return f"{LIST}{row.id}/"


def test_the_list_shows_totals_and_each_saving(
    cast: Cast, gp2: Recommendation, client_for: ClientFor
) -> None:
    html = client_for(cast.viewer).get(LIST).content.decode()

    assert page(gp2) in html
    assert "Open (2)" in html
    assert "72.00" in html
    assert "Move &#x27;gp2&#x27; to &#x27;gp3&#x27;" in html


def test_rule_and_service_narrow_the_list(cast: Cast, gp2: Recommendation, client_for: ClientFor) -> None:
    client = client_for(cast.viewer)

    assert page(gp2) in client.get(f"{LIST}?rule=volume_type").content.decode()
    assert page(gp2) not in client.get(f"{LIST}?rule=previous_generation").content.decode()
    assert "No recommendations match" in client.get(f"{LIST}?service=Nothing").content.decode()


def test_the_csv_has_exact_amounts_with_their_currency(
    cast: Cast, gp2: Recommendation, client_for: ClientFor
) -> None:
    answer = client_for(cast.viewer).get(f"{LIST}?format=csv&rule=volume_type")

    (row,) = csv_rows(answer)
    assert (row["Id"], row["Currency"], row["Effort"]) == (gp2.id, "USD", "low")
    assert Decimal(row["Monthly savings"]) == 60


def test_without_bills_the_page_says_what_to_do(cast: Cast, client_for: ClientFor) -> None:
    assert (
        "Connect a cost source to check the last 30 days of your bills for savings."
        in client_for(cast.viewer).get(LIST).content.decode()
    )


def test_bills_that_prove_nothing_are_said_so(cast: Cast, acme: Account, client_for: ClientFor) -> None:
    add_source(acme, daily("1", pricing_category="Dynamic"))

    assert "No savings found" in client_for(cast.viewer).get(LIST).content.decode()


def test_a_saving_has_formula_and_evidence_and_a_viewer_no_buttons(
    cast: Cast, gp2: Recommendation, client_for: ClientFor
) -> None:
    html = client_for(cast.viewer).get(page(gp2)).content.decode()

    assert "0.08 ÷ 0.10 USD" in html
    assert "vol-1" in html
    assert "Only members can mark it as done or dismiss it." in html
    assert "/dismiss/" not in html


def test_a_member_dismisses_with_a_reason_and_it_counts_no_more(
    cast: Cast, acme: Account, gp2: Recommendation, client_for: ClientFor
) -> None:
    answer = client_for(cast.member).post(f"{page(gp2)}dismiss/", {"reason": "Leaves soon"}, follow=True)

    row = SavingsDismissal.objects.get()
    assert answer.status_code == 200
    assert (row.key, row.reason, row.marked_by) == (gp2.id, "Leaves soon", cast.member)
    assert AuditEntry.objects.filter(action="saving.dismiss").exists()
    assert [total.monthly_saving for total in list_savings(acme, SavingsQuery()).totals] == [12]
    (dismissed,) = list_savings(acme, SavingsQuery(status="dismissed")).recommendations
    assert dismissed.monthly_saving == 60
    assert "Leaves soon" in client_for(cast.viewer).get(page(gp2)).content.decode()


def test_dismissing_needs_a_reason(cast: Cast, gp2: Recommendation, client_for: ClientFor) -> None:
    answer = client_for(cast.member).post(f"{page(gp2)}dismiss/", {"reason": " "})

    assert answer.status_code == 422
    assert "Enter the reason for dismissing." in answer.content.decode()
    assert not SavingsDismissal.objects.exists()


def test_a_dismissed_saving_can_be_reopened(
    cast: Cast, acme: Account, gp2: Recommendation, client_for: ClientFor
) -> None:
    client = client_for(cast.member)
    client.post(f"{page(gp2)}dismiss/", {"reason": "No"})

    client.post(f"{page(gp2)}reopen/")

    assert not SavingsDismissal.objects.exists()
    assert AuditEntry.objects.filter(action="saving.reopen").exists()
    assert gp2.id in [row.id for row in list_savings(acme, SavingsQuery()).recommendations]


@pytest.mark.parametrize("action", ["dismiss", "acted", "reopen"])
def test_a_viewer_changes_nothing(
    cast: Cast, gp2: Recommendation, client_for: ClientFor, action: str
) -> None:
    answer = client_for(cast.viewer).post(f"{page(gp2)}{action}/", {"reason": "x", "acted_on": "2026-02-20"})

    assert answer.status_code == 403
    assert not SavingsDismissal.objects.exists()


def test_a_day_in_the_future_is_refused(cast: Cast, gp2: Recommendation, client_for: ClientFor) -> None:
    answer = client_for(cast.member).post(f"{page(gp2)}acted/", {"acted_on": "2026-03-02"})

    assert answer.status_code == 422
    assert "up to today (2026-03-01)" in answer.content.decode()


def test_an_invalid_id_is_not_found(cast: Cast, gp2: Recommendation, client_for: ClientFor) -> None:
    client = client_for(cast.member)

    assert client.get(f"{LIST}sav_none/").status_code == 404
    assert client.post(f"{LIST}sav_none/dismiss/", {"reason": "x"}).status_code == 404
    assert client.post(f"{LIST}sav_none/reopen/").status_code == 404


def test_a_realized_saving_is_unknown_while_the_bills_are_too_new(
    cast: Cast, acme: Account, gp2: Recommendation, client_for: ClientFor
) -> None:
    html = (
        client_for(cast.member)
        .post(f"{page(gp2)}acted/", {"acted_on": "2026-02-20"}, follow=True)
        .content.decode()
    )

    (row,) = list_savings(acme, SavingsQuery(status="acted")).recommendations
    assert row.realised is not None
    assert row.realised.saved is None
    assert "through 2026-03-06" in row.realised.reason
    assert "Too recent" in html


def test_a_realized_saving_is_the_lower_cost_of_the_next_bills(
    cast: Cast, acme: Account, source: CostSource, gp2: Recommendation, client_for: ClientFor
) -> None:
    """Gone from gp2 to gp3 on 10 February: 8 a day instead of 10."""
    acted = date(2026, 2, 10)
    client_for(cast.member).post(f"{page(gp2)}acted/", {"acted_on": str(acted), "note": "gp3 now"})
    before = volume("10")[0]
    lines = [
        {**before, "charge_date": day, "billed_cost": cost, "effective_cost": cost, "usage_type": kind}
        for day, cost, kind in (
            (
                day,
                Decimal(10 if day < acted else 8),
                "EBS:VolumeUsage.gp2" if day < acted else "EBS:VolumeUsage.gp3",
            )
            for day in (FIRST - timedelta(days=30) + timedelta(days=at) for at in range(60))
        )
    ]
    store_lines(acme, source, lines)

    answer = list_savings(acme, SavingsQuery(status="acted"))

    (row,) = answer.recommendations
    assert row.realised is not None
    assert [row.realised.before, row.realised.after, row.realised.saved] == [300, 240, 60]
    assert [each.saved for each in answer.realised] == [60]
    assert lines[-1]["charge_date"] == LAST
    html = client_for(cast.viewer).get(f"{LIST}?status=acted").content.decode()
    assert "Realized monthly savings" in html


def test_less_unused_commitment_is_waste_avoided_and_no_saving(
    cast: Cast, acme: Account, client_for: ClientFor
) -> None:
    """Half of it is used from 10 February on: 15 a month less is wasted, and nothing costs less."""
    first, acted = FIRST - timedelta(days=30), date(2026, 2, 10)
    unused = [
        {**line, "effective_cost": Decimal(1) if line["charge_date"] < acted else Decimal("0.5")}
        for line in commitment_lines("1", "Unused", first, LAST)
    ]
    add_source(acme, [*commitment_lines("9", "Used", first, LAST), *unused])
    (row,) = list_savings(acme, SavingsQuery(rule="unused_commitment")).recommendations
    client = client_for(cast.member)
    detail = client.post(f"{page(row)}acted/", {"acted_on": str(acted)}, follow=True).content.decode()

    answer = list_savings(acme, SavingsQuery(status="acted"))
    (row,) = answer.recommendations
    assert row.realised is not None
    for outcome in (row.realised, *answer.realised):
        assert [outcome.before, outcome.after, outcome.saved, outcome.waste_avoided] == [30, 15, None, 15]
    assert (
        "Billed unused commitment for 30 days before and after. It is paid for either way, so "
        "less waste is not a saving."
    ) in row.realised.reason
    assert answer.summary.startswith(
        "1 recommendation acted on: 15.00 USD less commitment waste a month, which is not a saving."
    )
    for html in (detail, client.get(f"{LIST}?status=acted").content.decode()):
        assert "Monthly waste avoided" in html
        assert "Realized monthly savings" not in html
    exported = b"".join(client.get(f"{LIST}?status=acted&format=csv")).decode()
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [each["Realized monthly savings"] for each in rows] == [""]
    assert [Decimal(each["Monthly waste avoided"]) for each in rows] == [15]


def test_the_tile_of_the_overview_compares_with_the_cost_of_the_same_days(
    cast: Cast, gp2: Recommendation, client_for: ClientFor
) -> None:
    """72 of 600 USD of the 30 days."""
    client = client_for(cast.viewer)

    assert f'hx-get="{LIST}potential/"' in client.get("/a/acme/").content.decode()
    text = get_page(client, f"{LIST}potential/")

    assert "Potential monthly savings $72.00 12% of cost 2 recommendations Amortized cost," in text


def test_the_tile_names_waste_and_does_not_count_it(cast: Cast, acme: Account, client_for: ClientFor) -> None:
    add_source(acme, [*commitment_lines("9", "Used"), *commitment_lines("1", "Unused")])

    text = get_page(client_for(cast.viewer), f"{LIST}potential/")

    assert "Not included: $30.00 of unused commitments" in text


def test_the_tile_without_bills_has_no_amount(cast: Cast, client_for: ClientFor) -> None:
    text = get_page(client_for(cast.viewer), f"{LIST}potential/")

    assert "Potential monthly savings — No open recommendation" in text
