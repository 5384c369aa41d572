from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.services.splits import SplitDraft, create_split
from finops.costs import services
from finops.costs.answers import SpendAnswer
from finops.costs.completeness import (
    SourceDays,
    documented_settle_days,
    learnt_settle_days,
    partial_days,
)
from finops.costs.models import SourceCompleteness
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import SpendQuery
from tests.cast import Cast
from tests.factories.bills import Bills, line, usage
from tests.factories.days import at, days

TODAY = date(2026, 11, 21)
NEWEST = date(2026, 11, 20)
BEGIN = date(2026, 7, 1)


def ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def load_at(account: Account, today: date = TODAY) -> Sources:
    with account_scope(account), at(today):
        return load_sources(account)


def coverage_of(sources: Sources, name: str) -> SourceDays:
    return next(
        sources.coverage.days_of[source] for source, each in sources.health.items() if each.name == name
    )


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Iterator[Bills]:
    with account_scope(cast.account):
        yield Bills(cast, tmp_path)


def weekly(base: int) -> Callable[[date], Decimal]:
    return lambda day: Decimal(base) * (Decimal("0.7") if day.weekday() > 4 else 1)


def daily_amounts(base: int, shares: dict[date, str]) -> Callable[[date], Decimal]:
    return lambda day: weekly(base)(day) * Decimal(shares.get(day, "1"))


LATE = {NEWEST: "0.10", NEWEST - timedelta(days=1): "0.55"}
THREE = {"Compute": 5000, "Storage": 2000, "Database": 1500}


def three_services(shares: dict[date, str]) -> dict[str, Callable[[date], Decimal]]:
    return {name: daily_amounts(base, shares) for name, base in THREE.items()}


# What a source's days say


@pytest.mark.parametrize(
    ("provider", "settle_days"),
    [
        ("AWS", 3),
        ("Amazon Web Services", 3),
        ("Microsoft Azure", 3),
        ("Google Cloud", 2),
        ("Oracle", 2),
        ("Stripe", 2),
    ],
)
def test_a_provider_settles_as_it_documents(provider: str, settle_days: int) -> None:
    assert documented_settle_days(provider) == settle_days


def test_a_settle_time_is_learned_of_days_that_grew_until_then() -> None:
    grew = [{1: 10.0, 2: 55.0, 3: 90.0, 4: 99.0, 8: 100.0} for _ in range(9)]

    assert learnt_settle_days(grew) == 4
    assert learnt_settle_days([*grew, {1: 10.0, 2: 55.0, 3: 90.0, 4: 91.0, 8: 100.0}]) == 4
    assert learnt_settle_days([{1: 100.0, 8: 100.0}] * 9) == 1
    assert learnt_settle_days([{1: 100.0, 8: 80.0}] * 9) == 8  # it shrank: nine tenths were credited later


def test_few_days_or_days_seen_once_teach_no_settle_time() -> None:
    assert learnt_settle_days([{1: 10.0, 8: 100.0}] * 4) is None
    assert learnt_settle_days([{40: 100.0}] * 60) is None
    assert learnt_settle_days([{1: 10.0, 3: 100.0}] * 60) is None  # none of them was seen when it was old


def by_service(shares: dict[str, dict[date, float]]) -> dict[str, dict[date, float]]:
    return {
        name: {
            day: float(weekly(base)(day)) * shares.get(name, {}).get(day, 1.0)
            for day in days(BEGIN, NEWEST)
            if shares.get(name, {}).get(day, 1.0)
        }
        for name, base in THREE.items()
    }


def test_a_day_of_which_all_services_are_far_below_is_partial() -> None:
    low = {NEWEST: 0.10, NEWEST - timedelta(days=1): 0.55}

    assert partial_days(by_service(dict.fromkeys(THREE, low)), NEWEST) == set(low)
    assert not partial_days(by_service({}), NEWEST)


def test_a_day_without_a_large_service_is_partial_until_it_was_seen_twice() -> None:
    costs = by_service({"Compute": {NEWEST: 0.0}})

    assert partial_days(costs, NEWEST) == {NEWEST}
    assert not partial_days(costs, NEWEST, grown={NEWEST: [3500.0, 3500.0]})


def test_a_service_that_falls_alone_is_a_change_and_not_partial() -> None:
    assert not partial_days(by_service({"Storage": {NEWEST: 0.0}}), NEWEST)
    assert not partial_days(by_service({"Compute": {NEWEST: 0.3}}), NEWEST)


def test_cost_that_is_lower_for_longer_than_a_bills_delay_is_a_new_level() -> None:
    low = dict.fromkeys(days(NEWEST - timedelta(days=10), NEWEST), 0.2)

    assert not partial_days(by_service(dict.fromkeys(THREE, low)), NEWEST)


# What imports say


def test_the_newest_days_are_left_out_until_the_provider_says_they_are_there(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, NEWEST), on=TODAY)

    sources = load_at(bills.account)

    assert sources.coverage.complete_through == ago(3)
    assert (coverage_of(sources, "AWS").settle_days, coverage_of(sources, "AWS").settle_from) == (
        3,
        "documented",
    )
    assert sources.health[next(iter(sources.health))].reason == (
        "Cost lines up to 2026-11-20, complete through 2026-11-18."
    )


def test_a_partial_day_is_found_though_the_account_says_that_days_settle_at_once(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)
    bills.source("AWS", settle_days=1)

    sources = load_at(bills.account)

    assert coverage_of(sources, "AWS").partial == set(LATE)
    assert sources.coverage.complete_through == NEWEST - timedelta(days=2)
    (health,) = sources.health.values()
    assert health.status == "partial"
    assert "2026-11-19 to 2026-11-20" in health.reason


def test_the_account_says_when_a_source_settles(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, NEWEST), on=TODAY)
    bills.source("AWS", settle_days=1)
    assert load_at(bills.account).coverage.complete_through == NEWEST

    bills.source("AWS", settle_days=5)

    assert load_at(bills.account).coverage.complete_through == ago(5)
    assert coverage_of(load_at(bills.account), "AWS").settle_from == "account"


def test_a_settle_time_is_learned_of_imports_day_by_day(bills: Bills) -> None:
    """Days that are all there after two days, of a provider that says three."""
    for back in range(14, -1, -1):
        on = ago(back)
        newest = on - timedelta(days=1)
        lines = usage(three_services({newest: "0.4"}), date(2026, 11, 1), newest)
        bills.bring("AWS", lines, on=on)

    sources = load_at(bills.account)

    assert (coverage_of(sources, "AWS").settle_days, coverage_of(sources, "AWS").settle_from) == (2, "learnt")
    assert sources.coverage.complete_through == ago(2)


def test_a_purchase_dated_ahead_does_not_make_a_stale_source_look_current(bills: Bills) -> None:
    ahead = line(TODAY + timedelta(days=7), 900, ChargeCategory="Purchase", ChargeFrequency="One-Time")
    bills.bring("AWS", [*usage(three_services({}), BEGIN, date(2026, 11, 10)), ahead], on=TODAY)

    sources = load_at(bills.account)

    assert sources.coverage.complete_through == date(2026, 11, 10)
    assert not sources.coverage.has_data(date(2026, 11, 11), TODAY)
    (health,) = sources.health.values()
    assert (health.status, health.last_day) == ("stale", date(2026, 11, 10))
    assert "lines dated later, up to 2026-11-28, are not usage" in health.reason


@pytest.mark.parametrize(
    "late",
    [
        line(NEWEST, 300, "Support", until=date(2026, 11, 30), ChargeFrequency="Recurring"),
        line(NEWEST, 300, "Support", ChargeCategory="Tax"),
        line(NEWEST, 300, "Setup", ChargeCategory="Purchase", ChargeFrequency="One-Time"),
        line(NEWEST, -300, "Promotion", ChargeCategory="Credit"),
    ],
    ids=["month-long support", "tax", "one-time fee", "credit"],
)
def test_charges_other_than_daily_usage_do_not_advance_a_source(bills: Bills, late: dict[str, str]) -> None:
    through = date(2026, 11, 12)
    bills.bring("AWS", [*usage(three_services({}), BEGIN, through), late], on=TODAY)

    assert load_at(bills.account).coverage.complete_through == through


def test_a_source_that_is_invoiced_by_the_month_covers_the_month(bills: Bills) -> None:
    lines = [
        line(date(2026, month, 1), 700, "Seats", until=date(2026, month, 28), ChargeFrequency="Recurring")
        for month in (9, 10, 11)
    ]
    bills.bring("SaaS", lines, on=date(2026, 11, 2))

    sources = load_at(bills.account)

    assert coverage_of(sources, "SaaS").is_billed_monthly
    assert sources.coverage.complete_through == NEWEST
    assert sources.coverage.days_with_data(sources.coverage.covered[-1]) >= 20
    assert {each.status for each in sources.health.values()} == {"healthy"}


def test_a_file_that_comes_long_after_its_month_is_complete(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, date(2026, 9, 30)), on=TODAY)

    assert load_at(bills.account).coverage.complete_through == date(2026, 9, 30)


def test_a_restated_older_month_says_nothing_of_the_newest_days(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, date(2026, 11, 10)), on=date(2026, 11, 11))
    bills.bring("AWS", usage(three_services({}), date(2026, 9, 1), date(2026, 9, 30)), on=TODAY)

    assert load_at(bills.account).coverage.complete_through == date(2026, 11, 8)


def test_files_that_an_import_left_unread_are_read_by_the_task(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)
    SourceCompleteness.objects.all().delete()  # as of lines that were imported before this was kept
    assert load_at(bills.account).coverage.complete_through == NEWEST

    with at(TODAY):
        services.refresh_if_due()

    assert load_at(bills.account).coverage.complete_through == ago(3)


def test_two_currencies_are_each_evaluated_separately(bills: Bills) -> None:
    lines = usage(three_services({}), BEGIN, NEWEST)
    lines += usage(three_services(LATE), BEGIN, NEWEST, BillingCurrency="EUR")
    bills.bring("AWS", lines, on=TODAY)
    bills.source("AWS", settle_days=0)

    assert coverage_of(load_at(bills.account), "AWS").partial == set(LATE)


# What answers say


def spend_of(account: Account, query: SpendQuery, today: date = TODAY) -> SpendAnswer:
    with account_scope(account), at(today):
        return query_spend(account, query)


WEEK = SpendQuery(period="last_7_days", compare_to="previous_period")


def test_a_week_whose_newest_days_are_partly_there_compares_the_complete_ones(bills: Bills) -> None:
    """Today it would be 17.9 % less, where nothing has changed."""
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)

    answer = spend_of(bills.account, WEEK)

    (total,) = answer.totals
    assert total.change is not None
    assert total.change.change == 0
    assert total.change.ratio == 0
    assert answer.comparison is not None
    assert answer.comparison.end_date == ago(3)
    late = sum((of_day(day) for of_day in three_services(LATE).values() for day in LATE), Decimal(0))
    assert f"of which {late:,.2f} USD on 2026-11-19 to 2026-11-20 is incomplete" in answer.summary
    assert "Data is complete through 2026-11-18. Later days are incomplete." in answer.warnings


def test_a_stale_source_with_a_purchase_ahead_is_not_a_saving(bills: Bills) -> None:
    """Today it would be "spent 0.00 (100 % less)"."""
    ahead = line(TODAY + timedelta(days=7), 900, ChargeCategory="Purchase", ChargeFrequency="One-Time")
    bills.bring("AWS", [*usage(three_services({}), BEGIN, date(2026, 11, 10)), ahead], on=TODAY)

    answer = spend_of(bills.account, WEEK)

    assert answer.summary == (
        "'Acme' has no cost data from 2026-11-14 to 2026-11-20; no day is complete from 2026-11-14 on."
    )
    assert answer.comparison is None
    assert [warning for warning in answer.warnings if "No complete day in the period to compare." in warning]


def test_sources_of_different_lateness_compare_their_own_days(bills: Bills) -> None:
    def growing_cost(day: date) -> Decimal:
        return Decimal(100 if day < date(2026, 11, 1) else 110)

    bills.bring("AWS", usage({"Compute": growing_cost}, BEGIN, NEWEST), on=TODAY)
    bills.bring("Slow SaaS", usage({"Seats": growing_cost}, BEGIN, date(2026, 11, 15)), on=TODAY)
    bills.source("AWS", settle_days=1)
    bills.source("Slow SaaS", settle_days=1)
    query = SpendQuery(period="month_to_date", compare_to="previous_period", group_by=["source"])

    answer = spend_of(bills.account, query)

    (total,) = answer.totals
    assert total.change is not None
    assert total.change.current_amount == 110 * (20 + 15)
    assert total.change.previous_amount == 100 * (20 + 15)
    changes = {row.group["source"]: row.change for row in answer.rows}
    assert {name: change.ratio for name, change in changes.items() if change} == {
        "AWS": Decimal("0.1"),
        "Slow SaaS": Decimal("0.1"),
    }
    own = "'Slow SaaS' over 2026-11-01 to 2026-11-15"
    assert f"each source is compared over its complete days: {own}" in answer.summary
    assert "Days are complete through 2026-11-20 of 'AWS'; through 2026-11-15 of 'Slow SaaS'" in " ".join(
        answer.warnings
    )


def test_a_source_without_a_complete_day_in_the_period_is_on_neither_side(bills: Bills) -> None:
    bills.bring("AWS", usage({"Compute": weekly(100)}, BEGIN, NEWEST), on=TODAY)
    bills.bring("Stopped", usage({"Seats": weekly(500)}, BEGIN, date(2026, 11, 9)), on=TODAY)
    bills.source("AWS", settle_days=1)

    answer = spend_of(bills.account, WEEK)

    (total,) = answer.totals
    assert total.change is not None
    assert total.change.ratio == 0
    assert "not compared, no complete day in the period: 'Stopped'" in answer.summary
    assert "no complete day of 'Stopped' from 2026-11-14" in answer.summary


def test_splits_move_the_same_days_as_the_bills(bills: Bills) -> None:
    """A proportional split leaves the total's comparison and what is not final as they are."""
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)
    bills.bring("Azure", usage({"Compute": weekly(700)}, BEGIN, NEWEST, ProviderName="Azure"), on=TODAY)
    bills.source("Azure", settle_days=1)
    with account_scope(bills.account):
        create_split(
            account=bills.account,
            draft=SplitDraft(
                name="Storage to all",
                dimension="service",
                source_value="Storage",
                method="proportional",
                targets=(("Compute", ""), ("Database", "")),
                valid_from=date(2026, 1, 1),
            ),
            actor=bills.cast.actor,
        )
    before = SpendQuery(period="last_7_days", compare_to="previous_period", group_by=["service"])

    plain, split = spend_of(bills.account, before), spend_of(bills.account, replace(before, splits="after"))

    assert split.applied_splits
    assert split.totals[0].change == plain.totals[0].change
    assert split.totals[0].amount == plain.totals[0].amount
    assert split.summary.split("; most")[0] == plain.summary.split("; most")[0]
