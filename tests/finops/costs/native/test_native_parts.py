"""A large import of native files in parts: the same as in one piece to the last digit, whichever part has which line."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.costs.native.aws import cur_negations
from finops.costs.services import claims, import_parts, part_attempts
from finops.lake.models import LakeSegment
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import import_bill, total
from tests.finops.costs.native import cur_files
from tests.finops.costs.native.azure_export import PURCHASE, REFUND, UNUSED, USED, export, of
from tests.finops.costs.native.cur_files import PLAN, Line, as_csv, as_legacy_csv, as_parquet, line, usage
from tests.finops.costs.native.test_google import bill as google_bill
from tests.finops.costs.part_bills import import_in_one_piece, lines, live, plan_of, queue_paths, report_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def each_file_is_a_part(settings: Any) -> None:
    settings.IMPORT_PART_BYTES = 1
    settings.LAKE_ANSWERS_BYTES = 0


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[import_parts.PartPlan | None]:
    """The plan of each import that begins, None for one in one piece."""
    plans: list[import_parts.PartPlan | None] = []
    plan = import_parts.plan

    def record(job: CostImport) -> import_parts.PartPlan | None:
        plans.append(plan(job))
        return plans[-1]

    monkeypatch.setattr(import_parts, "plan", record)
    return plans


def write(folder: Path, files: Sequence[bytes], suffix: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"report-{number:05}{suffix}" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    return paths


def dealt(report: Sequence[Line], files: int) -> list[list[Line]]:
    """The lines of a report as its files have them: negations in another file than the usage that they cancel."""
    return [list(report[number::files]) for number in range(files)]


def unblended_cost(report: Sequence[Line]) -> Decimal:
    return sum((each["line_item_unblended_cost"] for each in report), Decimal(0))


@pytest.mark.parametrize(
    ("encode", "suffix"), [(as_csv, ".csv"), (as_legacy_csv, ".csv"), (as_parquet, ".snappy.parquet")]
)
def test_a_report_in_parts_is_the_report_in_one_piece(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    plans: list[import_parts.PartPlan | None],
    encode: Any,
    suffix: str,
) -> None:
    report = [
        *cur_files.month(120),
        line("SavingsPlanNegation", "-0.25", savings_plan_savings_plan_a_r_n=PLAN),
    ]
    paths = write(tmp_path / "report", [encode(each) for each in dealt(report, 4)], suffix)
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)

    assert [len(plan.parts) if plan else 0 for plan in plans] == [0, 4]
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert total(cast.account) == unblended_cost(report)
    assert "differ from the usage they cancel: -0.25 USD" in str(job.report["files"][-1]["notes"])
    assert "differ" not in str([file.get("notes") for file in job.report["files"][:-1]])


COSTS = st.decimals(min_value=Decimal(-100), max_value=Decimal(100), places=4)
KINDS = ["Usage", "SavingsPlanCoveredUsage", "SavingsPlanNegation"]


@hypothesis_settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(KINDS),
                COSTS,
                st.sampled_from(["210000000001", "210000000002"]),
                st.sampled_from([5, 6]),
            ),
            min_size=1,
            max_size=5,
        ),
        min_size=3,
        max_size=5,
    )
)
def test_any_reports_are_the_same_in_parts(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    files: list[list[tuple[str, Decimal, str, int]]],
) -> None:
    reports = [
        [
            line(
                kind,
                cost,
                start=datetime(2026, month, 3, tzinfo=UTC),
                line_item_usage_account_id=account,
                savings_plan_savings_plan_effective_cost=Decimal("0.5"),
                savings_plan_savings_plan_a_r_n=PLAN,
                line_item_line_item_description=f"file {number}",  # two files with one content are refused
            )
            for kind, cost, account, month in file
        ]
        for number, file in enumerate(files)
    ]
    paths = write(tmp_path / "reports", [as_parquet(report, exact=True) for report in reports], ".parquet")
    whole = import_in_one_piece(cast, paths, settings)
    again = services.create_cost_source(
        account=cast.account, name=f"In parts {uuid.uuid4()}", actor=cast.actor
    )
    job = import_bill(cast, again, *paths)

    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    LakeSegment.objects.unscoped().update(retired_at=clock.now())
    CostImport.objects.unscoped().all().delete()


def test_a_report_with_more_groups_than_a_summary_has_is_read_in_one_piece(
    cast: Cast, source: CostSource, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cur_negations, "MAX_SUMMARY_GROUPS", 2)
    report = cur_files.month(120)
    paths = write(tmp_path / "report", [as_csv(each) for each in dealt(report, 3)], ".csv")
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)

    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert [segment.path for segment in live(cast.account) if segment.month.month == 5] != []
    assert len(live(cast.account)) == len(live(cast.other_account))


def test_exports_of_google_are_read_in_parts(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    plans: list[import_parts.PartPlan | None],
) -> None:
    files = [
        google_bill({"cost": f"{number}.5"}, {"service.description": "Cloud SQL"}) for number in range(3)
    ]
    paths = write(tmp_path / "google", files, ".csv")
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)

    assert [len(plan.parts) if plan else 0 for plan in plans] == [0, 3]
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert total(cast.account) == Decimal("0.5") + Decimal("1.5") + Decimal("2.5") + 3 * Decimal("10.5")


PAIR = {
    "actual-0.csv": export(of(PURCHASE, "100"), of(USED, "0"), {}),
    "amortized-0.csv": export(of(USED, "2.5"), of(UNUSED, "0.75")),
    "actual-1.csv": export(of(REFUND, "-20"), of({}, "0.4", SubscriptionId="ed570627"), of(USED, "0.125")),
    "amortized-1.csv": export({}, of({}, "0.5", SubscriptionId="ed570627")),
}


@pytest.mark.parametrize("order", [1, -1])
def test_azure_exports_of_actual_and_amortized_cost_are_read_in_parts(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    plans: list[import_parts.PartPlan | None],
    order: int,
) -> None:
    paths = [tmp_path / name for name in PAIR][::order]
    for path in paths:
        path.write_bytes(PAIR[path.name])
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)

    assert [len(plan.parts) if plan else 0 for plan in plans] == [0, 4]
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)
    assert "The exports differ in 2023-09" in str(job.report["files"][-1]["notes"])
    assert "was left out: 0.125 USD" in str(job.report["files"][-1]["notes"])


def test_files_of_one_azure_export_are_read_in_parts_and_none_waits(
    cast: Cast,
    source: CostSource,
    tmp_path: Path,
    settings: Any,
    plans: list[import_parts.PartPlan | None],
) -> None:
    files = [export(of(USED, "2.5"), {"MeterName": f"file {number}"}) for number in range(3)]
    paths = write(tmp_path / "amortized", files, ".csv")
    whole = import_in_one_piece(cast, paths, settings)
    job = import_bill(cast, source, *paths)

    assert [plan and (len(plan.parts), plan.last_waits) for plan in plans] == [None, (3, False)]
    assert report_of(job) == report_of(whole)
    assert lines(cast.account) == lines(cast.other_account)


def test_exports_of_azure_for_other_months_are_refused_in_parts(
    cast: Cast, source: CostSource, tmp_path: Path, plans: list[import_parts.PartPlan | None]
) -> None:
    paths = [tmp_path / name for name in PAIR]
    for path in paths:
        path.write_bytes(PAIR[path.name])
    paths[0].write_bytes(export(of(PURCHASE, "100", Date="10/01/2023", BillingPeriodStartDate="10/01/2023")))
    with pytest.raises(
        UserError, match="the actual cost has lines of 2023-09, 2023-10, the amortized cost of 2023-09"
    ):
        import_bill(cast, source, *paths)
    assert live(cast.account) == []


def test_reports_beside_focus_files_are_read_in_one_piece(
    cast: Cast, source: CostSource, tmp_path: Path, plans: list[import_parts.PartPlan | None]
) -> None:
    files = [as_csv([usage("1")]), as_csv([usage("2")]), google_bill()]
    import_bill(cast, source, *write(tmp_path / "mixed", files, ".csv"))
    assert plans == [None]


@pytest.mark.django_db(transaction=True)
def test_the_last_part_of_a_report_waits_for_all_others(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    report = cur_files.month(60)
    paths = write(tmp_path / "report", [as_csv(each) for each in dealt(report, 3)], ".csv")
    job = queue_paths(cast, source, paths)
    with claims.claim_import(job.pk) as claimed:
        assert claimed is not None
        import_parts.plan(claimed)
        open_parts = [plan_of(job).open_parts]
        while part_attempts.help_import(job.pk):
            open_parts.append(plan_of(job).open_parts)
    assert open_parts == [[0, 1], [1], [2], []]
    assert services.run_import(job.pk)
    assert total(cast.account) == unblended_cost(report)


@pytest.mark.parametrize("encode", [as_csv, as_parquet])
def test_a_report_without_a_line_that_counts_replaces_nothing(
    cast: Cast, source: CostSource, tmp_path: Path, encode: Any
) -> None:
    report = [line("SavingsPlanNegation", cost) for cost in ("1", "-1")]
    job = import_bill(cast, source, *write(tmp_path / "report", [encode(report)], ".file"))
    assert (job.status, job.rows, live(cast.account)) == ("done", 0, [])
