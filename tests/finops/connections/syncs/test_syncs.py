"""Syncs: what is read, skipped, replaced and emptied, and what a failure leaves."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from finops.connections import services
from finops.connections.connector import SourceUnavailable
from finops.connections.models import CostConnection, CostSync, SyncPeriod
from finops.costs.models import CostImport
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.syncs.month_folders import MonthFolders
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now, write_month

pytestmark = pytest.mark.django_db


def billed_by_month(cast: Cast) -> dict[str | None, Decimal]:
    return {month: sums[0] for month, sums in cost_by(cast.account, "billing_period").items()}


def test_the_first_sync_imports_every_month_the_newest_first(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-04", "1", "2.5")
    write_month(export, "2026-05", "10")
    write_month(export, "2026-05", "0.25", name="part-2.csv")

    sync = sync_now(connection)

    assert sync.status == "done"
    assert billed_by_month(cast) == {"2026-04": Decimal("3.5"), "2026-05": Decimal("10.25")}
    assert list(actions(sync).items()) == [("2026-05", "imported"), ("2026-04", "imported")]
    assert (sync.months_listed, sync.months_imported, sync.rows) == (2, 2, 4)
    assert sync.bytes_done == sync.bytes_total > 0
    jobs = CostImport.objects.order_by("pk")
    assert [(job.months, job.origin) for job in jobs] == [(["2026-05"], "sync"), (["2026-04"], "sync")]


def test_an_unchanged_source_costs_one_listing(
    connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-04", "1")
    write_month(export, "2026-05", "1")
    sync_now(connection)
    month_folders.calls.clear()

    sync = sync_now(connection)

    assert dict(month_folders.calls) == {"months": 1}
    assert actions(sync) == {"2026-05": "unchanged", "2026-04": "unchanged"}
    assert (sync.status, sync.months_unchanged, CostImport.objects.count()) == ("done", 2, 2)


def test_a_restated_month_with_fewer_lines_is_replaced_whole_and_others_stay(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "1", "2", "3")
    sync_now(connection)
    write_month(export, "2026-05", "1.5")

    sync = sync_now(connection)

    assert billed_by_month(cast) == {"2026-04": Decimal(7), "2026-05": Decimal("1.5")}
    assert actions(sync) == {"2026-05": "imported", "2026-04": "unchanged"}


@pytest.mark.parametrize("files", ["none", "header only"])
def test_a_month_without_any_line_is_emptied(
    cast: Cast, connection: CostConnection, export: Path, files: str
) -> None:
    write_month(export, "2026-04", "7")
    part = write_month(export, "2026-05", "1")
    sync_now(connection)
    part.unlink()
    if files == "header only":
        header = month_rows("2026-05", "1").splitlines()[0]
        part.write_bytes(header + b"\n")
        part.with_name("part-2.csv").write_bytes(header + b"\n")

    sync = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert actions(sync)["2026-05"] == "emptied"
    assert billed_by_month(cast) == {"2026-04": Decimal(7)}
    job = CostImport.objects.order_by("-pk")[0]
    assert (job.status, job.months, job.rows) == ("done", ["2026-05"], 0)
    assert sync_now(connection).months_unchanged == 2


def test_a_header_only_file_beside_files_with_lines_is_no_error(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-05", "1")
    header = month_rows("2026-05", "1").splitlines()[0]
    for name in ("part-0.csv", "part-2.csv"):
        (export / "2026-05" / name).write_bytes(header + b"\n")

    assert sync_now(connection).status == "done"
    assert total(cast.account) == Decimal(1)


def test_a_month_missing_in_the_listing_stays(cast: Cast, connection: CostConnection, export: Path) -> None:
    part = write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "1")
    sync_now(connection)
    part.unlink()
    part.parent.rmdir()

    sync = sync_now(connection)

    assert actions(sync) == {"2026-05": "unchanged"}
    assert billed_by_month(cast) == {"2026-04": Decimal(7), "2026-05": Decimal(1)}


def test_months_before_the_first_are_not_read(cast: Cast, connection: CostConnection, export: Path) -> None:
    connection.first_month = date(2026, 5, 1)
    connection.save()
    write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "1")

    sync = sync_now(connection)

    assert actions(sync) == {"2026-05": "imported", "2026-04": "out_of_range"}
    assert billed_by_month(cast) == {"2026-05": Decimal(1)}


def test_lines_of_another_listed_month_go_and_come_with_the_file_that_has_them(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-04", "7", "7", "7")
    may = export / "2026-05"
    may.mkdir()
    (may / "late.csv").write_bytes(month_rows("2026-04", "100", "50", "25"))
    (may / "own.csv").write_bytes(month_rows("2026-05", "1"))
    sync = sync_now(connection)
    assert billed_by_month(cast) == {"2026-04": Decimal(196), "2026-05": Decimal(1)}
    assert sync.periods[0]["note"] == "The files have rows of other billing months: 3 of 2026-04."

    write_month(export, "2026-04", "8")
    sync_now(connection)
    assert billed_by_month(cast) == {"2026-04": Decimal(183), "2026-05": Decimal(1)}

    (may / "late.csv").unlink()
    sync_now(connection)
    assert billed_by_month(cast) == {"2026-04": Decimal(8), "2026-05": Decimal(1)}


def test_files_of_another_month_than_listed_are_imported_as_they_say(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    (export / "2026-06").mkdir()
    (export / "2026-06" / "all.csv").write_bytes(month_rows("2026-05", "4"))

    sync = sync_now(connection)

    assert billed_by_month(cast) == {"2026-05": Decimal(4)}
    assert "1 of 2026-05" in sync.periods[0]["note"]


def test_a_failing_month_does_not_stop_the_others(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    (export / "2026-05").mkdir()
    (export / "2026-05" / "broken.csv").write_bytes(b"a,b\n1,2\n")
    write_month(export, "2026-04", "7")

    sync = sync_now(connection)

    assert (sync.status, sync.months_failed, sync.months_imported) == ("failed", 1, 1)
    assert sync.error.startswith("2026-05: broken.csv")
    assert billed_by_month(cast) == {"2026-04": Decimal(7)}
    assert connection.failures == 1
    assert connection.failing_since is not None


def test_a_source_that_cannot_be_listed_says_why_and_is_left_alone_longer_each_time(
    connection: CostConnection, export: Path
) -> None:
    export.rmdir()
    waits = []
    for _ in range(3):
        sync = sync_now(connection)
        waits.append((connection.next_sync_at - clock.now()) / timedelta(hours=1))
    assert sync.status == "failed"
    assert sync.error.endswith("cannot be listed (No such file or directory). Allow reading it.")
    assert [round(wait / 2**number) for number, wait in enumerate(waits)] == [2, 2, 2]

    export.mkdir()
    sync_now(connection)
    assert (connection.failures, connection.failing_since) == (0, None)
    assert connection.next_sync_at - clock.now() < timedelta(hours=1.5)


def test_no_failure_is_waited_for_longer_than_a_day(connection: CostConnection, export: Path) -> None:
    connection.failures, connection.failing_since = 40, clock.now()
    connection.save()
    export.rmdir()
    sync_now(connection)
    assert connection.next_sync_at <= clock.now() + timedelta(days=1)


def test_a_source_that_asks_for_time_is_given_it(
    connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "7")

    def refuse(_month: object) -> None:
        error = SourceUnavailable("The service asks to be left alone for five hours.")
        error.retry_after = 5 * 3600
        raise error

    month_folders.on_fetch = refuse
    sync = sync_now(connection)

    assert (sync.status, month_folders.calls["fetch"]) == ("failed", 1)
    assert connection.next_sync_at >= clock.now() + timedelta(hours=4.9)


def test_a_month_that_changes_while_it_is_read_is_read_again(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")

    def rewrite(_month: object) -> None:
        if month_folders.calls["fetch"] == 1:
            write_month(export, "2026-05", "20", "22")

    month_folders.on_fetch = rewrite
    sync = sync_now(connection)

    assert (sync.status, month_folders.calls["fetch"]) == ("done", 2)
    assert billed_by_month(cast) == {"2026-05": Decimal(42)}
    assert sync_now(connection).months_unchanged == 1


def test_a_month_that_never_stops_changing_fails_and_is_tried_again(
    connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")
    month_folders.on_fetch = lambda _month: write_month(
        export, "2026-05", *["1"] * (2 + month_folders.calls["fetch"])
    )
    sync = sync_now(connection)
    assert (sync.status, month_folders.calls["fetch"]) == ("failed", 3)
    assert "changed during three reads" in sync.error
    assert not SyncPeriod.objects.exists()

    month_folders.on_fetch = lambda _month: None
    assert sync_now(connection).status == "done"


def test_two_unfinished_syncs_of_a_connection_are_refused(connection: CostConnection) -> None:
    with pytest.raises(UserError, match="queued or running already"):
        services.queue_sync(connection=connection, actor=ACTOR)


def test_the_schedule_queues_what_is_due_once_and_leaves_what_is_paused(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    assert services.queue_due_syncs() == 0, "its first sync waits"
    sync_now(connection)
    assert services.queue_due_syncs() == 0
    CostConnection.objects.update(next_sync_at=clock.now())
    services.pause_connection(connection=connection, actor=cast.actor)
    assert services.queue_due_syncs() == 0
    services.resume_connection(connection=connection, actor=cast.actor)
    assert (services.queue_due_syncs(), services.queue_due_syncs()) == (1, 0)
    assert CostSync.objects.order_by("-pk")[0].trigger == "schedule"


def test_a_listing_without_changes_ends_and_new_months_are_left_to_the_sync(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")
    sync = CostSync.objects.get()
    assert services.unfinished_syncs() == [("connections.look", cast.account.pk, sync.pk)]

    assert services.check_for_changes(sync.pk)
    assert services.unfinished_syncs() == [("connections.run_sync", cast.account.pk, sync.pk)]
    assert month_folders.calls["fetch"] == 0
    assert services.run_sync(sync.pk)
    sync.refresh_from_db()
    assert (sync.status, actions(sync)) == ("done", {"2026-05": "imported"})

    again = services.queue_sync(connection=connection, actor=ACTOR)
    month_folders.calls.clear()
    assert not services.check_for_changes(again.pk)
    again.refresh_from_db()
    assert (again.status, dict(month_folders.calls)) == ("done", {"months": 1})
    assert not services.check_for_changes(again.pk), "it is done"


def test_a_sync_that_waits_is_canceled_at_once_and_not_queued_again(
    cast: Cast, connection: CostConnection
) -> None:
    sync = CostSync.objects.get()
    CostConnection.objects.update(next_sync_at=clock.now())
    services.cancel_sync(sync=sync, actor=cast.actor)
    assert services.queue_due_syncs() == 0
    assert not services.run_sync(sync.pk)
    sync.refresh_from_db()
    assert sync.status == "canceled"
    with pytest.raises(UserError, match="is canceled and can no longer be canceled"):
        services.cancel_sync(sync=sync, actor=cast.actor)


def test_a_sync_that_runs_is_canceled_and_what_it_imported_stays(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "1")

    def cancel(month: object) -> None:
        if month_folders.calls["fetch"] == 2:
            services.cancel_sync(sync=CostSync.objects.get(), actor=cast.actor)

    month_folders.on_fetch = cancel
    sync = sync_now(connection)

    assert (sync.status, actions(sync)) == ("canceled", {"2026-05": "imported"})
    assert billed_by_month(cast) == {"2026-05": Decimal(1)}
    assert connection.failures == 0
