"""Helpers that read parts of a large import: whoever reads a part, dies or is late, the import is the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.costs import services, tasks
from finops.costs.models import CostImport, CostSource
from finops.costs.services import claims, import_parts, part_attempts
from finops.lake.storage.storage import storage
from finops.lib import child_process, clock
from tests.cast import Cast
from tests.factories.imports import import_bill, total
from tests.finops.costs.part_bills import BILLS, independent_sum, lines, live, plan_of, queue_paths, write
from tests.finops.costs.test_imports_processes import worker
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def each_file_is_a_part(settings: Any) -> None:
    settings.IMPORT_PART_BYTES = 1
    settings.LAKE_ANSWERS_BYTES = 0


@pytest.fixture
def running(cast: Cast, source: CostSource, tmp_path: Path) -> Iterator[CostImport]:
    """An import that is planned in three parts and whose own process does nothing."""
    job = queue_paths(cast, source, write(tmp_path / "running", BILLS))
    with ExitStack() as stack:
        job = stack.enter_context(claims.claim_import(job.pk)) or job
        import_parts.plan(job)
        yield job


def finish(job: CostImport) -> CostImport:
    """What happens when whoever ran it has died: the next one takes over."""
    assert services.run_import(job.pk)
    job.refresh_from_db()
    return job


def test_helpers_read_parts_in_child_processes_and_each_part_is_read_once(
    running: CostImport, cast: Cast
) -> None:
    assert import_parts.due_parts() == [(cast.account.pk, running.pk, 3)]
    for remaining in (2, 1, 0, 0):
        tasks.run_import_part(cast.account.pk, running.pk)
        assert len(plan_of(running).open_parts) == remaining
    paths = {segment.path for part in plan_of(running).parts for segment in part.new_segments}
    assert total(cast.account) is None

    job = finish(running)
    assert (job.status, job.rows, job.parts) == ("done", 6, None)
    assert {each.path for each in live(cast.account)} == paths
    assert import_parts.due_parts() == []


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


def test_a_bad_row_that_a_helper_meets_fails_the_import_with_its_place(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    job = queue_paths(cast, source, write(tmp_path, [[{"BilledCost": "two"}], BILLS[1]]))
    with claims.claim_import(job.pk) as claimed:
        assert claimed is not None
        import_parts.plan(claimed)
        assert part_attempts.help_import(job.pk)
        assert not part_attempts.help_import(job.pk)
    job = finish(job)
    assert job.status == "failed"
    assert "part-0.csv, row 2, column BilledCost: 'two' is not a number" in job.error
    assert list(storage().files(f"{cast.account.pk}/cost")) == []


def test_a_part_of_a_canceled_import_is_not_begun_and_its_files_go(running: CostImport, cast: Cast) -> None:
    assert part_attempts.help_import(running.pk)
    claims.ask_to_cancel(running)
    assert not part_attempts.help_import(running.pk)
    assert import_parts.due_parts() == []
    job = finish(running)
    assert (job.status, job.parts, live(cast.account)) == ("canceled", None, [])


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


def test_parts_are_read_again_where_files_mappings_or_time_have_changed(
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


def test_an_import_whose_process_is_killed_is_continued_by_the_next_worker(
    cast: Cast, source: CostSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMPORT_PART_BYTES", "1")
    before = import_bill(cast, source, *write(tmp_path / "old", [[{"BilledCost": "5"}]]))
    job = queue_paths(cast, source, write(tmp_path / "new", BILLS))
    with import_parts.part_lock(job.pk, 2), worker(job):
        wait_until(lambda: open_parts(job) == [2], "two parts were not read")
    assert total(cast.account) == 5
    done = {segment.path for part in plan_of(job).parts for segment in part.new_segments}
    wait_until(lambda: services.run_import(job.pk), "the dead worker's import was not free")
    job.refresh_from_db()
    assert (before.rows, job.status, job.attempts, job.rows) == (1, "done", 2, 6)
    assert done < {each.path for each in live(cast.account)}
    assert total(cast.account) == independent_sum(write(tmp_path / "new", BILLS))


def open_parts(job: CostImport) -> list[int] | None:
    plan = import_parts.stored_plan(job.pk)
    return plan.open_parts if plan else None


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
