"""A large import in parts: the same as in one piece to the last digit, and all or nothing."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from finops.costs import services
from finops.costs.focus import bill_parts
from finops.costs.models import CostImport, CostSource
from finops.costs.services import import_parts, part_attempts
from finops.lake.models import LakeSegment
from finops.lake.storage.storage import storage
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import import_bill, total
from tests.finops.costs.native import azure_export
from tests.finops.costs.part_bills import (
    BILLS,
    JUNE,
    MAY,
    Bill,
    import_in_one_piece,
    independent_sum,
    lines,
    live,
    report_of,
    write,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def each_file_is_a_part(settings: Any) -> None:
    settings.IMPORT_PART_BYTES = 1
    settings.LAKE_ANSWERS_BYTES = 0


def test_parts_are_the_bill_in_one_piece_to_the_last_digit(
    cast: Cast, source: CostSource, tmp_path: Path, settings: Any
) -> None:
    paths = write(tmp_path, BILLS)
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert [each.rows for each in live(cast.account)].count(2) == 2
    assert len(live(cast.account)) == 4
    assert total(cast.account) == independent_sum(paths)


amounts = st.decimals(-(10**14), 10**14, places=18).map(str) | st.sampled_from(["0", "-0.1", "1e-18"])
rows = st.fixed_dictionaries(
    {
        "BilledCost": amounts,
        "EffectiveCost": amounts,
        "BillingCurrency": st.sampled_from(["USD", "EUR"]),
        "ServiceName": st.sampled_from(["S3", "EC2"]),
        "BillingPeriodStart": st.sampled_from([MAY, MAY, MAY, JUNE]),
        "Tags": st.sampled_from(["", '{"env": "prod"}', '{"team": "a", "env": "dev"}', "{"]),
    }
)


@hypothesis_settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(rows, min_size=1, max_size=5), min_size=2, max_size=5))
def test_any_bills_are_the_same_in_parts(
    cast: Cast, source: CostSource, tmp_path: Path, settings: Any, bills: list[Bill]
) -> None:
    # Of two files with the same content one is refused, in parts too.
    for place, bill in enumerate(bills):
        bill[0]["ChargeDescription"] = f"file {place}"
    paths = write(tmp_path / "bills", bills)
    whole = import_in_one_piece(cast, paths, settings)
    again = services.create_cost_source(
        account=cast.account, name=f"In parts {uuid.uuid4()}", actor=cast.actor
    )
    job = import_bill(cast, again, *paths)
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert total(cast.account) == independent_sum(paths)
    LakeSegment.objects.unscoped().update(retired_at=clock.now())
    CostImport.objects.unscoped().all().delete()


def test_a_month_in_parts_is_replaced_as_a_whole_and_compared_as_a_whole(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_bill(cast, source, *write(tmp_path / "first", BILLS))
    restated = [[{**row, "ServiceName": "Restated"} for row in bill] for bill in BILLS]
    job = import_bill(cast, source, *write(tmp_path / "second", restated))
    assert {(each["rows_before"], each["rows_after"]) for each in job.report["changes"]} == {
        (4, 4),
        (1, 1),
    }
    assert job.report.get("reviews", []) == []
    assert len(lines(cast.account)) == 6


def test_small_imports_one_file_and_files_of_several_formats_are_read_in_one_piece(
    cast: Cast, source: CostSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    plans: list[object] = []
    plan = import_parts.plan

    def record_plan(job: CostImport) -> import_parts.PartPlan | None:
        plans.append(plan(job))
        return plan(job)

    monkeypatch.setattr(import_parts, "plan", record_plan)
    paths = write(tmp_path, BILLS)
    settings.IMPORT_PART_BYTES = sum(path.stat().st_size for path in paths)
    import_bill(cast, source, *paths)
    settings.IMPORT_PART_BYTES = 1
    import_bill(cast, source, paths[0])
    mixed = tmp_path / "mixed.csv"
    mixed.write_bytes(azure_export.export({}))
    import_bill(cast, source, paths[1], mixed)
    assert plans == [None, None, None]


@pytest.mark.parametrize("max_keys", [1, 2], ids=["of one part", "of all parts"])
def test_an_import_of_more_tag_keys_than_are_kept_is_read_in_one_piece(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    max_keys: int,
) -> None:
    monkeypatch.setattr("finops.costs.focus.tags.MAX_KEYS", max_keys)
    monkeypatch.setattr(bill_parts, "MAX_KEYS", max_keys)
    paths = write(tmp_path, BILLS)
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)
    assert report_of(job) == report_of(whole)
    assert job.report["tag_keys_dropped"] != []
    assert lines(cast.account) == lines(cast.other_account)
    assert len(live(cast.account)) == 2
    assert {file.path for file in storage().files(f"{cast.account.pk}/cost")} == {
        each.path for each in live(cast.account)
    }


def test_a_bad_row_in_any_part_leaves_everything_as_it_was(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_bill(cast, source, *write(tmp_path / "before", BILLS))
    before = lines(cast.account)
    bad = [*BILLS[:2], [{"BilledCost": "two"}]]
    with pytest.raises(UserError, match=r"part-2\.csv, row 2, column BilledCost: 'two' is not a number"):
        import_bill(cast, source, *write(tmp_path / "bad", bad))
    assert lines(cast.account) == before
    assert {file.path for file in storage().files(f"{cast.account.pk}/cost")} == {
        each.path for each in live(cast.account)
    }


def test_two_files_of_the_same_content_in_different_parts_are_refused(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"part-0\.csv and part-1\.csv have the same content"):
        import_bill(cast, source, *write(tmp_path, [BILLS[0], BILLS[0]]))
    assert live(cast.account) == []


def test_a_segment_that_lost_rows_on_its_way_to_the_storage_is_never_committed(
    cast: Cast, source: CostSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_attempts, "totals_of", lambda account, segments: {})
    with pytest.raises(import_parts.PartsDiffer):
        import_bill(cast, source, *write(tmp_path, BILLS))
    assert (CostImport.objects.get().status, live(cast.account)) == ("failed", [])
    assert list(storage().files(f"{cast.account.pk}/cost")) == []


@given(st.lists(st.integers(0, 50), max_size=200), st.integers(1, 100))
def test_a_split_has_each_file_once_in_order_and_no_more_parts_than_the_most(
    sizes: list[int], part_bytes: int
) -> None:
    runs = import_parts.split(sizes, part_bytes)
    assert [place for first, until in runs for place in range(first, until)] == list(range(len(sizes)))
    assert len(runs) <= import_parts.MAX_PARTS + 1
    assert all(sum(sizes[first:until]) >= part_bytes for first, until in runs[:-1])
