"""When beat sends what, by its own schedule file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from finops.beat import app
from finops.worker.liveness import Scheduler

DAILY = "costs.remove_forgotten_uploads"


def test_a_daily_task_is_due_at_the_first_start_and_then_a_day_later(tmp_path: Path) -> None:
    file = str(tmp_path / "schedule")
    with closing(Scheduler(app, schedule_filename=file)) as first:
        assert [name for name, entry in first.schedule.items() if not entry.is_due().is_due] == []
        first.reserve(first.schedule[DAILY])
    with closing(Scheduler(app, schedule_filename=file)) as second:
        is_due, wait = second.schedule[DAILY].is_due()
        assert (is_due, wait > 86_000) == (False, True)
