from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.completeness import (
    SourceDays,
    documented_settle_days,
    learnt_settle_days,
    partial_days,
)
from finops.costs.models import SourceCompleteness
from finops.costs.queries.sources import Sources, load_sources
from tests.cast import Cast
from tests.finops.costs.billed import Bills, at, days, line, usage

TODAY = date(2026, 11, 21)
NEWEST = date(2026, 11, 20)
BEGIN = date(2026, 7, 1)


def ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def known(account: Account, today: date = TODAY) -> Sources:
    with account_scope(account), at(today):
        return load_sources(account)


def of(sources: Sources, name: str) -> SourceDays:
    return next(
        sources.coverage.days_of[source] for source, each in sources.health.items() if each.name == name
    )


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Iterator[Bills]:
    with account_scope(cast.account):
        yield Bills(cast, tmp_path)


def weekly(base: int) -> Callable[[date], Decimal]:
    return lambda day: Decimal(base) * (Decimal("0.7") if day.weekday() > 4 else 1)


def filled(base: int, shares: dict[date, str]) -> Callable[[date], Decimal]:
    return lambda day: weekly(base)(day) * Decimal(shares.get(day, "1"))


LATE = {NEWEST: "0.10", NEWEST - timedelta(days=1): "0.55"}
THREE = {"Compute": 5000, "Storage": 2000, "Database": 1500}


def three_services(shares: dict[date, str]) -> dict[str, Callable[[date], Decimal]]:
    return {name: filled(base, shares) for name, base in THREE.items()}


# What a source's days say


@pytest.mark.parametrize(
    ("provider", "found"),
    [
        ("AWS", 3),
        ("Amazon Web Services", 3),
        ("Microsoft Azure", 3),
        ("Google Cloud", 2),
        ("Oracle", 2),
        ("Stripe", 2),
    ],
)
def test_a_provider_settles_as_it_documents(provider: str, found: int) -> None:
    assert documented_settle_days(provider) == found


def test_a_settle_time_is_learnt_of_days_that_grew_until_then() -> None:
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


def test_a_day_that_lacks_a_large_service_is_partial_until_it_was_seen_twice() -> None:
    costs = by_service({"Compute": {NEWEST: 0.0}})

    assert partial_days(costs, NEWEST) == {NEWEST}
    assert not partial_days(costs, NEWEST, grown={NEWEST: [3500.0, 3500.0]})


def test_a_service_that_falls_alone_is_a_change_and_not_partial() -> None:
    assert not partial_days(by_service({"Storage": {NEWEST: 0.0}}), NEWEST)
    assert not partial_days(by_service({"Compute": {NEWEST: 0.3}}), NEWEST)


def test_what_is_lower_for_longer_than_a_bill_takes_is_another_level() -> None:
    low = dict.fromkeys(days(NEWEST - timedelta(days=10), NEWEST), 0.2)

    assert not partial_days(by_service(dict.fromkeys(THREE, low)), NEWEST)


# What imports say


def test_the_newest_days_are_left_out_until_the_provider_says_they_are_there(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, NEWEST), on=TODAY)

    sources = known(bills.account)

    assert sources.coverage.complete_through == ago(3)
    assert (of(sources, "AWS").settle_days, of(sources, "AWS").settle_from) == (3, "documented")
    assert sources.health[next(iter(sources.health))].reason == (
        "It has cost lines up to 2026-11-20, complete through 2026-11-18."
    )


def test_a_partial_day_is_found_though_the_account_says_that_days_settle_at_once(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)
    bills.source("AWS", settle_days=1)

    sources = known(bills.account)

    assert of(sources, "AWS").partial == set(LATE)
    assert sources.coverage.complete_through == NEWEST - timedelta(days=2)
    (health,) = sources.health.values()
    assert health.status == "partial"
    assert "2026-11-19 to 2026-11-20" in health.reason


def test_the_account_says_when_a_source_settles(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, NEWEST), on=TODAY)
    bills.source("AWS", settle_days=1)
    assert known(bills.account).coverage.complete_through == NEWEST

    bills.source("AWS", settle_days=5)

    assert known(bills.account).coverage.complete_through == ago(5)
    assert of(known(bills.account), "AWS").settle_from == "account"


def test_a_settle_time_is_learnt_of_imports_day_by_day(bills: Bills) -> None:
    """Days that are all there after two days, of a provider that says three."""
    for back in range(14, -1, -1):
        on = ago(back)
        newest = on - timedelta(days=1)
        lines = usage(three_services({newest: "0.4"}), date(2026, 11, 1), newest)
        bills.bring("AWS", lines, on=on)

    sources = known(bills.account)

    assert (of(sources, "AWS").settle_days, of(sources, "AWS").settle_from) == (2, "learnt")
    assert sources.coverage.complete_through == ago(2)


def test_a_purchase_dated_ahead_does_not_make_a_stale_source_look_current(bills: Bills) -> None:
    ahead = line(TODAY + timedelta(days=7), 900, ChargeCategory="Purchase", ChargeFrequency="One-Time")
    bills.bring("AWS", [*usage(three_services({}), BEGIN, date(2026, 11, 10)), ahead], on=TODAY)

    sources = known(bills.account)

    assert sources.coverage.complete_through == date(2026, 11, 10)
    assert not sources.coverage.has_data(date(2026, 11, 11), TODAY)
    (health,) = sources.health.values()
    assert (health.status, health.last_day) == ("stale", date(2026, 11, 10))
    assert "up to 2026-11-28, are none" in health.reason


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
def test_what_is_no_daily_usage_does_not_advance_a_source(bills: Bills, late: dict[str, str]) -> None:
    through = date(2026, 11, 12)
    bills.bring("AWS", [*usage(three_services({}), BEGIN, through), late], on=TODAY)

    assert known(bills.account).coverage.complete_through == through


def test_a_source_that_is_invoiced_by_the_month_covers_the_month(bills: Bills) -> None:
    lines = [
        line(date(2026, month, 1), 700, "Seats", until=date(2026, month, 28), ChargeFrequency="Recurring")
        for month in (9, 10, 11)
    ]
    bills.bring("SaaS", lines, on=date(2026, 11, 2))

    sources = known(bills.account)

    assert of(sources, "SaaS").by_the_month
    assert sources.coverage.complete_through == NEWEST
    assert sources.coverage.days_with_data(sources.coverage.covered[-1]) >= 20
    assert {each.status for each in sources.health.values()} == {"healthy"}


def test_a_file_that_comes_long_after_its_month_is_complete(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, date(2026, 9, 30)), on=TODAY)

    assert known(bills.account).coverage.complete_through == date(2026, 9, 30)


def test_a_restated_older_month_says_nothing_of_the_newest_days(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services({}), BEGIN, date(2026, 11, 10)), on=date(2026, 11, 11))
    bills.bring("AWS", usage(three_services({}), date(2026, 9, 1), date(2026, 9, 30)), on=TODAY)

    assert known(bills.account).coverage.complete_through == date(2026, 11, 8)


def test_what_an_import_left_to_read_is_read_by_the_task(bills: Bills) -> None:
    bills.bring("AWS", usage(three_services(LATE), BEGIN, NEWEST), on=TODAY)
    SourceCompleteness.objects.all().delete()  # as of lines that were imported before this was kept
    assert known(bills.account).coverage.complete_through == NEWEST

    with at(TODAY):
        services.refresh_if_due()

    assert known(bills.account).coverage.complete_through == ago(3)


def test_two_currencies_are_each_looked_at_alone(bills: Bills) -> None:
    lines = usage(three_services({}), BEGIN, NEWEST)
    lines += usage(three_services(LATE), BEGIN, NEWEST, BillingCurrency="EUR")
    bills.bring("AWS", lines, on=TODAY)
    bills.source("AWS", settle_days=0)

    assert of(known(bills.account), "AWS").partial == set(LATE)
