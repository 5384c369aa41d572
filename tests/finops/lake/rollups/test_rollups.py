"""Rollups: a query of sums has the same result over them, and other queries do not use them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pytest
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.lake import queries
from finops.lake.engine import engine
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollup_scheduler, rollups
from finops.lake.rollups.rollups import METER_COLUMNS, RESOURCE_COLUMNS, Level
from finops.lake.schema import Kind
from finops.lake.storage import garbage_collection
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, run_query, store, total
from tests.finops.lake.usage.test_usage_interleaved import another_thread

pytestmark = pytest.mark.django_db

ALWAYS = (Level(RESOURCE_COLUMNS, share=10), Level(RESOURCE_COLUMNS | METER_COLUMNS, share=10))
"""Worth it whatever comes of it."""

BY_SERVICE = billed_by("service")


@pytest.fixture(autouse=True)
def _no_result_cache() -> Iterator[None]:
    """Each question is asked of the files."""
    with override_settings(LAKE_ANSWERS_BYTES=0):
        yield


def summarise(account: Account, levels: Sequence[Level] = ALWAYS) -> list[LakeRollup]:
    """What there is afterwards, the finest first."""
    rollup_scheduler.roll_up_account(account, levels=levels, least_rows=1)
    return list(LakeRollup.objects.unscoped().filter(account=account).order_by("segment__month", "pk"))


def equal_lines(count: int, /, **columns: Any) -> list[dict[str, Any]]:
    return [line(JANUARY, "0.01", resource_id=f"vm-{number}", **columns) for number in range(count)]


def read(account: Account, *columns: str) -> list[tuple[str, str] | None]:
    """The rollup that a question about these columns reads of each segment."""
    files = queries.segment_files(account, Kind.COST, *EVER, list(columns), allow_rollups=True)
    return [file.rollup for file in files]


def file_of(rollup: LakeRollup) -> Path:
    return Path(storage().local(rollup.path, rollup.checksum))


# The same answers

amounts = st.none() | st.sampled_from(
    [Decimal(text) for text in ("0", "1", "-1", "0.000000000000000001", "-0.000000000000000003")]
    + [Decimal("999999999999999.000000000000000007"), Decimal("-12.5")]
)
lines = st.fixed_dictionaries(
    {
        "charge_date": st.dates(JANUARY, date(2026, 2, 3)),
        "service": st.sampled_from(["S3", "EC2", None]),
        "sku_id": st.sampled_from(["a", "b", None]),
        "resource_id": st.sampled_from(["r1", "r2", None]),
        "charge_category": st.sampled_from(["Usage", "Adjustment", None]),
        "currency": st.sampled_from(["USD", "EUR"]),
        "tag:env": st.sampled_from(["prod", "dev", None]),
        **dict.fromkeys(("billed_cost", "effective_cost", "list_cost", "consumed_quantity"), amounts),
    }
)


def sums_of(column: str) -> Callable[[Any], Any]:
    def build(cost: Any) -> Any:
        amount = cost[column]
        sign = ibis.cases((amount < 0, "-"), (amount > 0, "+"), (amount == 0, "0"), else_="null")
        selected = cost.select("currency", "tag:env", sign=sign, day=cost.charge_date, amount=amount)
        grouped = selected.group_by(["currency", "tag:env", "sign"])
        return grouped.agg(total=selected.amount.sum(), first=selected.day.min(), last=selected.day.max())

    return build


def by_sku(cost: Any) -> Any:
    usage = cost.filter(cost.charge_category == "Usage")
    return usage.group_by("sku_id", "charge_date").agg(
        total=usage.effective_cost.sum(), list=usage.list_cost.sum(), most=usage.service.max()
    )


BUILDS: dict[str, Callable[[Any], Any]] = {
    "service": BY_SERVICE,
    "signs of billed cost": sums_of("billed_cost"),
    "signs of list cost": sums_of("list_cost"),
    "signs of quantity": sums_of("consumed_quantity"),
    "SKU and day": by_sku,
    "resource": billed_by("resource_id"),
}


def answers(account: Account, *, allow_rollups: bool) -> dict[str, list[str]]:
    return {
        name: sorted(map(str, run_query(account, build, tag_keys=["env"], allow_rollups=allow_rollups)))
        for name, build in BUILDS.items()
    }


@settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(lines, min_size=1, max_size=40))
def test_sums_over_summaries_are_those_of_the_lines_to_the_last_digit(
    cast: Cast, rows: list[dict[str, Any]]
) -> None:
    for month in (JANUARY, FEBRUARY):
        of_month = [
            {**row, "billing_period": month} for row in rows if row["charge_date"].month == month.month
        ]
        store(cast.account, of_month, month=month)
    expected = answers(cast.account, allow_rollups=False)

    summarise(cast.account)

    assert all(read(cast.account, "service", "billed_cost"))
    assert answers(cast.account, allow_rollups=True) == expected


# Which file is read


def test_the_smallest_rollup_that_has_the_columns_is_read(cast: Cast) -> None:
    store(
        cast.account,
        [*equal_lines(40, sku_id="a", service="EC2"), *equal_lines(40, sku_id="b", service="EC2")],
    )

    fine, coarse = summarise(cast.account)

    assert (fine.rows, coarse.rows) == (2, 1)
    assert read(cast.account, "service", "billed_cost") == [(coarse.path, coarse.checksum)]
    assert read(cast.account, "sku_id", "billed_cost") == [(fine.path, fine.checksum)]
    assert read(cast.account, "resource_id", "billed_cost") == [None]
    assert queries.segment_files(cast.account, Kind.COST, *EVER, ["service"])[0].rollup is None


def test_a_question_that_counts_lines_reads_the_lines(cast: Cast) -> None:
    store(cast.account, equal_lines(7, service="EC2"))
    summarise(cast.account)

    assert run_query(cast.account, lambda cost: cost.agg(lines=cost.count())) == [{"lines": 7}]


def test_a_column_missing_in_a_month_prevents_no_rollup(cast: Cast) -> None:
    store(cast.account, equal_lines(9, tags={"env": "prod"}))
    store(cast.account, [line(FEBRUARY, 1) for _ in range(9)], month=FEBRUARY)
    summarise(cast.account)

    rows = run_query(cast.account, billed_by("tag:env"), tag_keys=["env"], allow_rollups=True)

    assert all(read(cast.account, "tag:env", "billed_cost"))
    assert {row["key"]: row["total"] for row in rows} == {"prod": Decimal("0.09"), None: Decimal(9)}


def test_another_accounts_summaries_are_never_read(cast: Cast) -> None:
    store(cast.account, equal_lines(9, service="EC2"))
    store(cast.other_account, [line(JANUARY, 5, service="Other") for _ in range(9)])
    summarise(cast.account)
    summarise(cast.other_account)

    assert total_over(cast.other_account) == {"Other": Decimal(45)}
    assert total_over(cast.account) == {"EC2": Decimal("0.09")}


def total_over(account: Account) -> dict[str, Decimal]:
    return {row["key"]: row["total"] for row in run_query(account, BY_SERVICE, allow_rollups=True)}


# What is written


def test_a_tag_that_tells_every_line_apart_is_left_out(cast: Cast) -> None:
    rows = [
        line(JANUARY, 1, service="EC2", tags={"Name": f"vm-{number}", "env": "prod"}) for number in range(500)
    ]
    store(cast.account, rows)

    (fine,) = summarise(cast.account, [Level(RESOURCE_COLUMNS, share=0.33)])

    assert fine.rows == 1
    assert "tag:^name" in fine.without
    assert "tag:env" not in fine.without


def test_lines_that_are_all_different_get_no_rollup_and_are_not_tried_again(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service=f"Service {number}") for number in range(200)])

    assert summarise(cast.account, [Level(RESOURCE_COLUMNS, share=0.33)]) == []
    assert LakeSegment.objects.unscoped().get().summarised_at is not None
    assert rollup_scheduler.roll_up_account(cast.account, least_rows=1) == 0


def test_where_the_finer_is_not_worth_it_the_coarser_may_be(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2", sku_id=f"sku-{number}") for number in range(200)])

    (coarse,) = summarise(
        cast.account,
        [Level(RESOURCE_COLUMNS, share=0.33), Level(RESOURCE_COLUMNS | METER_COLUMNS, share=0.33)],
    )

    assert coarse.rows == 1
    assert total_over(cast.account) == {"EC2": Decimal(200)}


def test_small_segments_are_not_due(cast: Cast) -> None:
    store(cast.account, equal_lines(3))

    assert rollup_scheduler.due_accounts() == {}
    assert rollup_scheduler.roll_up_account(cast.account) == 0


def test_due_is_what_is_large_live_and_not_looked_at(cast: Cast) -> None:
    store(cast.account, equal_lines(3))
    LakeSegment.objects.unscoped().update(rows=rollup_scheduler.LEAST_ROWS)
    assert rollup_scheduler.due_accounts() == {cast.account.pk: 1}

    LakeSegment.objects.unscoped().update(summarised_at=clock.now())
    assert rollup_scheduler.due_accounts() == {}


def test_an_account_of_many_months_is_due_for_as_many_workers_as_can_share_it_up_to_eight(cast: Cast) -> None:
    for month in range(1, 13):
        store(cast.account, [line(date(2025, month, 1), 1)], month=date(2025, month, 1))
    LakeSegment.objects.unscoped().update(rows=rollup_scheduler.LEAST_ROWS)

    assert rollup_scheduler.due_accounts() == {cast.account.pk: 8}


@pytest.mark.django_db(transaction=True)
def test_two_workers_roll_up_different_segments_of_an_account_and_none_twice(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for month in (JANUARY, FEBRUARY):
        store(cast.account, [line(month, "0.01", resource_id=f"vm-{n}") for n in range(9)], month=month)
    write, first = rollups.write_rollups, threading.get_ident()
    checked: list[int] = []

    with another_thread() as elsewhere:

        def meanwhile(
            account: Account, segment: LakeSegment, levels: Sequence[Level]
        ) -> list[rollups.NewRollup]:
            if threading.get_ident() == first and not checked:
                checked.append(
                    elsewhere(
                        lambda: rollup_scheduler.roll_up_account(cast.account, levels=ALWAYS, least_rows=1)
                    )
                )
            return write(account, segment, levels)

        monkeypatch.setattr(rollups, "write_rollups", meanwhile)
        checked.append(rollup_scheduler.roll_up_account(cast.account, levels=ALWAYS, least_rows=1))
    assert checked == [1, 1]
    assert LakeRollup.objects.unscoped().count() == 4
    assert total_over(cast.account) == {None: Decimal("0.18")}


def test_rollups_that_a_worker_of_an_earlier_version_wrote_meanwhile_stay_and_ours_leave_no_file(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cast.account, equal_lines(9))
    before = {file.path for file in storage().files()}
    write = rollups.write_rollups

    def rewrite_first(
        account: Account, segment: LakeSegment, levels: Sequence[Level]
    ) -> list[rollups.NewRollup]:
        LakeSegment.objects.unscoped().update(summarised_at=clock.now())
        return write(account, segment, levels)

    monkeypatch.setattr(rollups, "write_rollups", rewrite_first)
    assert summarise(cast.account) == []
    assert {file.path for file in storage().files()} == before


# What changes and what breaks


def test_a_restated_month_is_read_again_at_once(cast: Cast) -> None:
    store(cast.account, equal_lines(9, service="EC2"))
    summarise(cast.account)

    store(cast.account, [line(JANUARY, 7, service="EC2")])

    assert total_over(cast.account) == {"EC2": Decimal(7)}
    assert read(cast.account, "service") == [None]


def test_a_rollup_goes_with_its_segment_and_stays_as_long(cast: Cast) -> None:
    store(cast.account, equal_lines(9))
    files = [file_of(rollup) for rollup in summarise(cast.account)]
    store(cast.account, [line(JANUARY, 2)])

    with clock.frozen(datetime.now(UTC) + timedelta(days=13)):
        garbage_collection.sweep()
    assert [file.exists() for file in files] == [True, True]

    with clock.frozen(datetime.now(UTC) + timedelta(days=15)):
        garbage_collection.sweep()
    assert [file.exists() for file in files] == [False, False]
    assert not LakeRollup.objects.unscoped().exists()
    assert total(cast.account) == 2


def test_a_named_rollup_is_no_orphan(cast: Cast) -> None:
    store(cast.account, equal_lines(9))
    files = [file_of(rollup) for rollup in summarise(cast.account)]

    with clock.frozen(datetime.now(UTC) + timedelta(days=3)):
        garbage_collection.sweep()
    assert [file.exists() for file in files] == [True, True]


def test_without_its_rollup_file_a_query_reads_the_lines(cast: Cast) -> None:
    store(cast.account, equal_lines(9, service="EC2"))
    for rollup in summarise(cast.account):
        storage().delete(rollup.path)

    assert total_over(cast.account) == {"EC2": Decimal("0.09")}


def test_a_segment_that_cannot_be_read_stops_no_other(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    store(cast.account, equal_lines(9))
    store(cast.account, [line(FEBRUARY, 1) for _ in range(9)], month=FEBRUARY)
    broken = LakeSegment.objects.unscoped().get(month=FEBRUARY)
    storage().delete(broken.path)

    assert {rollup.segment.month for rollup in summarise(cast.account)} == {JANUARY}
    assert f"segment {broken.pk} could not be summarised" in caplog.text
    assert LakeSegment.objects.unscoped().get(pk=broken.pk).summarised_at is None


def test_an_answer_over_lines_is_kept_for_the_rollup_of_them(cast: Cast) -> None:
    with override_settings(LAKE_ANSWERS_BYTES=2**20):
        store(cast.account, equal_lines(9, service="EC2"))
        _first, before = (
            engine.run(cast.account, Kind.COST, *EVER, BY_SERVICE, allow_rollups=True) for _ in range(2)
        )
        summarise(cast.account)

        assert engine.run(cast.account, Kind.COST, *EVER, BY_SERVICE, allow_rollups=True) is before
