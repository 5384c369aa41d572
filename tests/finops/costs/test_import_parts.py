"""A large import in parts: the same as in one piece to the last digit, whoever reads the parts and whoever dies."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services, tasks
from finops.costs.focus import bill_parts
from finops.costs.models import CostImport, CostSource
from finops.costs.services import claims, import_parts, part_attempts
from finops.lake.engine import engine
from finops.lake.engine.compiler import File
from finops.lake.models import LakeSegment
from finops.lake.storage.manifest import SegmentFile
from finops.lake.storage.storage import storage
from finops.lib import child_process, clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.examples import examples
from tests.finops.costs.focus_reader import as_csv
from tests.finops.costs.test_imports_processes import worker
from tests.waiting import wait_until
from tests.world.imports import import_bill, total

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def each_file_is_a_part(settings: Any) -> None:
    settings.IMPORT_PART_BYTES = 1
    settings.LAKE_ANSWERS_BYTES = 0


MAY, JUNE = "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"
Bill = list[dict[str, str]]
BILLS: list[Bill] = [
    [
        {"BilledCost": "0.1", "Tags": '{"env": "prod", "owner": "ana"}', "ServiceName": "S3"},
        {"BilledCost": "1e-18", "EffectiveCost": "3", "Tags": '{"env": "dev"}'},
    ],
    [
        {"BilledCost": "0.2", "SkuMeter": "Hours", "x_Own": "1", "Tags": '{"team": "a"}'},
        {"BilledCost": "-7", "BillingCurrency": "EUR", "ChargeClass": "Correction"},
    ],
    [
        {"BilledCost": "999.000000000000000001", "BillingPeriodStart": JUNE, "ChargePeriodStart": JUNE},
        {"BilledCost": "(2.5)", "Tags": '{"env ": "prod"}'},
    ],
]


def write(folder: Path, bills: Sequence[Bill]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"part-{place}.csv" for place in range(len(bills))]
    for path, bill in zip(paths, bills, strict=True):
        path.write_bytes(as_csv(*bill))
    return paths


def queue_paths(cast: Cast, source: CostSource, paths: Sequence[Path]) -> CostImport:
    """An import of these files that waits for a worker."""
    uploads = [SimpleUploadedFile(path.name, path.read_bytes()) for path in paths]
    return services.queue_import(source=source, uploads=uploads, actor=cast.actor)


def live(account: Account) -> list[LakeSegment]:
    rows = LakeSegment.objects.unscoped().filter(account=account, retired_at=None)
    return list(rows.order_by("month", "path"))


def lines(account: Account) -> list[str]:
    """Every live line with the columns that are not empty, but for its source."""
    files = [SegmentFile(each.path, each.checksum, frozenset(each.columns)) for each in live(account)]

    def statement(local: Sequence[File]) -> str:
        names = ", ".join(f"'{file.path}'" for file in local)
        return f"SELECT * EXCLUDE (source) FROM read_parquet([{names}], union_by_name = true)"

    with engine.read_batches(files, statement, account=account) as reader:
        rows = reader.read_all().to_pylist()
    return sorted(repr(sorted((k, str(v)) for k, v in row.items() if v is not None)) for row in rows)


def other_source(cast: Cast) -> CostSource:
    with account_scope(cast.other_account):
        return CostSource.objects.create(account=cast.other_account, name=f"In one piece {uuid.uuid4()}")


def import_in_one_piece(cast: Cast, paths: Sequence[Path], settings: Any) -> CostImport:
    source = other_source(cast)
    settings.IMPORT_PART_BYTES = 1 << 40
    with account_scope(cast.other_account):
        job = services.import_files(
            account=cast.other_account, source=source, paths=paths, actor=cast.other_actor
        )
    settings.IMPORT_PART_BYTES = 1
    return job


def report_of(job: CostImport) -> dict[str, Any]:
    job.refresh_from_db()
    assert job.parts is None
    return {**job.report, "hashes": job.content_hashes, "rows": job.rows, "months_of_job": job.months}


def independent_sum(paths: Sequence[Path]) -> Decimal:
    cells = [row["BilledCost"] for path in paths for row in csv.DictReader(io.StringIO(path.read_text()))]
    return sum((Decimal(cell.replace("(", "-").replace(")", "")) for cell in cells), Decimal(0))


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


def test_small_imports_native_files_and_one_file_are_read_in_one_piece(
    cast: Cast, source: CostSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    plans: list[object] = []
    plan = import_parts.plan

    def watched(job: CostImport) -> import_parts.PartPlan | None:
        plans.append(plan(job))
        return plan(job)

    monkeypatch.setattr(import_parts, "plan", watched)
    paths = write(tmp_path, BILLS)
    settings.IMPORT_PART_BYTES = sum(path.stat().st_size for path in paths)
    import_bill(cast, source, *paths)
    settings.IMPORT_PART_BYTES = 1
    import_bill(cast, source, paths[0])
    cur = "lineItem/LineItemType,lineItem/UnblendedCost,lineItem/UsageStartDate,bill/BillingPeriodStartDate,lineItem/CurrencyCode,lineItem/ProductCode\n"
    for name in ("a", "b"):
        (tmp_path / name).write_text(
            f"{cur}Usage,{len(plans)},2026-05-02T00:00:00Z,2026-05-01T00:00:00Z,USD,Amazon{name}\n"
        )
    import_bill(cast, source, tmp_path / "a", tmp_path / "b")
    assert plans == [None, None, None]


def test_an_import_of_more_tag_keys_than_are_kept_is_read_in_one_piece(
    cast: Cast, source: CostSource, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.costs.focus.tags.MAX_KEYS", 2)
    monkeypatch.setattr(bill_parts, "MAX_KEYS", 2)
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


# Helpers


@pytest.fixture
def running(cast: Cast, source: CostSource, tmp_path: Path) -> Iterator[CostImport]:
    """An import that is planned in three parts and whose own process does nothing."""
    job = queue_paths(cast, source, write(tmp_path / "running", BILLS))
    with ExitStack() as stack:
        job = stack.enter_context(claims.claim(job.pk)) or job
        import_parts.plan(job)
        yield job


def plan_of(job: CostImport) -> import_parts.PartPlan:
    plan = import_parts.stored_plan(job.pk)
    assert plan is not None
    return plan


def finish(job: CostImport) -> CostImport:
    """What happens when whoever ran it has died: the next one takes over."""
    assert services.run_import(job.pk)
    job.refresh_from_db()
    return job


@pytest.mark.django_db(transaction=True)
def test_helpers_read_parts_in_children_and_nobody_reads_them_again(running: CostImport, cast: Cast) -> None:
    assert import_parts.due_parts() == [(cast.account.pk, running.pk, 3)]
    for left in (2, 1, 0, 0):
        tasks.run_import_part(cast.account.pk, running.pk)
        assert len(plan_of(running).open_parts) == left
    written = {segment.path for part in plan_of(running).parts for segment in part.written}
    assert total(cast.account) is None

    job = finish(running)
    assert (job.status, job.rows, job.parts) == ("done", 6, None)
    assert {each.path for each in live(cast.account)} == written
    assert import_parts.due_parts() == []


@pytest.mark.django_db(transaction=True)
def test_a_part_that_another_process_reads_is_left_to_it(running: CostImport, cast: Cast) -> None:
    with import_parts.part_lock(running.pk, 0):
        # The lock is this thread's, which may take it again; another process may not.
        plan = plan_of(running)
        child = child_process.run(f"{__name__}.help_in_child", running.pk, name="helper")
    assert child.code == 0
    assert [part.is_done for part in plan_of(running).parts] == [False, True, False]
    assert [part.attempts for part in plan.parts] == [0, 0, 0]


def help_in_child(import_id: int) -> None:
    """In a child, which has no children: reads the part that it would have given to one."""
    part_attempts._read_in_child = part_attempts.read_part_in_child
    assert part_attempts.help_import(import_id)


@pytest.mark.django_db(transaction=True)
def test_a_part_whose_reader_dies_three_times_fails_the_import(
    running: CostImport, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = child_process.run
    monkeypatch.setattr(
        child_process,
        "run",
        lambda path, *_, **options: run("tests.finops.costs.test_import_children.die", **options),
    )
    for _ in range(3):
        assert part_attempts.help_import(running.pk)
        for number in (1, 2):
            store_attempts(running, number)
    assert not part_attempts.help_import(running.pk)
    monkeypatch.undo()
    assert "interrupted three times while reading part 1 of 3" in plan_of(running).error
    job = finish(running)
    assert (job.status, job.error) == (
        "failed",
        "The import was interrupted three times while reading part 1 of 3. Nothing was changed.",
    )


def store_attempts(job: CostImport, number: int) -> None:
    """As if a part were read elsewhere, so that helpers come to the first one."""

    def change(plan: import_parts.PartPlan) -> None:
        plan.parts[number].attempts = 0

    import_parts.change_plan(job.pk, plan_of(job).key, change)


@pytest.mark.django_db(transaction=True)
def test_a_bad_row_that_a_helper_meets_fails_the_import_with_its_place(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    job = queue_paths(cast, source, write(tmp_path, [[{"BilledCost": "two"}], BILLS[1]]))
    with claims.claim(job.pk) as claimed:
        assert claimed is not None
        import_parts.plan(claimed)
        assert part_attempts.help_import(job.pk)
        assert not part_attempts.help_import(job.pk)
    job = finish(job)
    assert job.status == "failed"
    assert "part-0.csv, row 2, column BilledCost: 'two' is not a number" in job.error
    assert list(storage().files(f"{cast.account.pk}/cost")) == []


@pytest.mark.django_db(transaction=True)
def test_a_part_of_a_canceled_import_is_not_begun_and_its_files_go(running: CostImport, cast: Cast) -> None:
    assert part_attempts.help_import(running.pk)
    claims.ask_to_cancel(running)
    assert not part_attempts.help_import(running.pk)
    assert import_parts.due_parts() == []
    job = finish(running)
    assert (job.status, job.parts, live(cast.account)) == ("canceled", None, [])


@pytest.mark.django_db(transaction=True)
def test_a_part_that_is_done_after_the_import_ended_leaves_no_file(running: CostImport, cast: Cast) -> None:
    plan = plan_of(running)
    part = import_parts.begin_part(running.pk, plan.key, 0)
    assert part is not None
    with account_scope(cast.account):
        import_parts.close(running)
        folder = Path(running.files[0]["path"]).parent
        with pytest.raises(claims.ClaimLost):
            part_attempts.read_part(
                running, plan, 0, part, folder, part_attempts._HelpersProgress(running.pk)
            )
    assert list(storage().files(f"{cast.account.pk}/cost")) == []


@pytest.mark.django_db(transaction=True)
def test_parts_are_read_anew_where_files_mappings_or_time_have_changed(
    running: CostImport, cast: Cast
) -> None:
    assert part_attempts.help_import(running.pk)
    with account_scope(cast.account):
        again = import_parts.plan(running)
        assert again is not None
        assert len(again.open_parts) == 2
        with clock.frozen(clock.now() + timedelta(hours=7)):
            late = import_parts.plan(running)
        assert late is not None
        assert len(late.open_parts) == 3


@pytest.mark.django_db(transaction=True)
def test_beat_asks_for_help_with_what_runs(
    running: CostImport, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[tuple[Any, ...]] = []
    monkeypatch.setattr(import_parts, "publish", lambda *message, **_: messages.append(message))
    monkeypatch.setattr(tasks.run_cost_import, "apply_async", lambda *args, **_: None)
    tasks.run_due_imports()
    assert messages == [("costs.import_part", cast.account.pk, running.pk)] * 3
    tasks.run_import_part(cast.other_account.pk, running.pk)
    assert len(plan_of(running).open_parts) == 3


@pytest.mark.django_db(transaction=True)
def test_whoever_runs_an_import_is_killed_and_the_next_reads_what_was_not_done(
    cast: Cast, source: CostSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMPORT_PART_BYTES", "1")
    before = import_bill(cast, source, *write(tmp_path / "old", [[{"BilledCost": "5"}]]))
    job = queue_paths(cast, source, write(tmp_path / "new", BILLS))
    with import_parts.part_lock(job.pk, 2), worker(job):
        wait_until(lambda: open_parts(job) == [2], "two parts were not read")
    assert total(cast.account) == 5
    done = {segment.path for part in plan_of(job).parts for segment in part.written}
    wait_until(lambda: services.run_import(job.pk), "the dead worker's import was not free")
    job.refresh_from_db()
    assert (before.rows, job.status, job.attempts, job.rows) == (1, "done", 2, 6)
    assert done < {each.path for each in live(cast.account)}
    assert total(cast.account) == independent_sum(write(tmp_path / "new", BILLS))


def open_parts(job: CostImport) -> list[int] | None:
    plan = import_parts.stored_plan(job.pk)
    return plan.open_parts if plan else None


@pytest.mark.django_db(transaction=True)
def test_a_killed_reader_of_a_part_is_replaced_by_whoever_runs_the_import(
    running: CostImport, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = child_process.run
    monkeypatch.setattr(
        child_process,
        "run",
        lambda path, *_, **options: run("tests.finops.costs.test_import_children.die", **options),
    )
    assert part_attempts.help_import(running.pk)
    monkeypatch.undo()
    assert [part.attempts for part in plan_of(running).parts] == [1, 0, 0]
    assert (finish(running).status, len(lines(cast.account))) == ("done", 6)
