"""A folder of this server, by whole syncs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import connector_of
from finops.connections.connectors.folder import FolderConfig
from finops.connections.models import CostConnection
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.connectors.bills import as_csv_gz, as_parquet, focus_rows, of_month
from tests.finops.connections.connectors.bills import sums as sums_of_rows
from tests.finops.connections.connectors.lake_sums import sums_in_lake
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.costs.focus_reader import as_csv
from tests.finops.costs.native.truth import opencost

CONNECTOR = connector_of("folder")


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    root = tmp_path / "cost"
    root.mkdir()
    settings.CONNECTION_FOLDERS = [str(root)]
    return root


def connect(cast: Cast, folder: Path, pattern: str) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Folder",
        connector="folder",
        values={"folder": str(folder), "pattern": pattern},
    )


@pytest.fixture
def scope(cast: Cast) -> Iterator[None]:
    with account_scope(cast.account):
        yield


def put(folder: Path, key: str, data: bytes) -> None:
    path = folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.usefixtures("scope")
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("{year}-{month}/*", ["2026-05/a.csv.gz", "2026-05/b.parquet", "2026-06/a.csv.gz"]),
        ("**/*.*", ["x/BILLING_PERIOD=2026-05/a.csv.gz", "BILLING_PERIOD=2026-05/b", "y/a.csv.gz"]),
        ("*", ["first.csv.gz", "second.parquet", "third.csv.gz"]),
    ],
)
def test_months_come_from_the_path_or_from_the_files(
    cast: Cast, folder: Path, pattern: str, names: list[str]
) -> None:
    rows = focus_rows()
    may, more, june = rows[:70], rows[70:100], of_month(rows[:40], "2026-06", "2")
    pattern = pattern if "." not in pattern else "**/*"
    for name, data in zip(names, [as_csv_gz(may), as_parquet(more), as_csv_gz(june)], strict=True):
        put(folder, name, data)
    put(folder, "2026-05/_SUCCESS" if "{" in pattern else "_SUCCESS", b"")
    connection = connect(cast, folder, pattern)

    sync = sync_now(connection)

    assert actions(sync) == {"2026-05": "imported", "2026-06": "imported"}
    assert sums_in_lake(cast.account) == sums_of_rows([*may, *more, *june])
    assert set(actions(sync_now(connection)).values()) == {"unchanged"}


@pytest.mark.usefixtures("scope")
def test_a_file_that_changed_is_read_again_and_one_that_is_gone_takes_its_cost_with_it(
    cast: Cast, folder: Path
) -> None:
    rows = focus_rows()
    put(folder, "2026-05/a.csv.gz", as_csv_gz(rows[:70]))
    put(folder, "2026-05/b.csv.gz", as_csv_gz(rows[70:90]))
    connection = connect(cast, folder, "{year}-{month}/*")
    sync_now(connection)

    (folder / "2026-05/b.csv.gz").unlink()

    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert sums_in_lake(cast.account) == sums_of_rows(rows[:70])


def snapshot(*days: int, month: str = "2026-05") -> bytes:
    """A cost of the day itself on each of these days."""
    rows = [
        {
            "BillingPeriodStart": f"{month}-01T00:00:00Z",
            "ChargePeriodStart": f"{month}-{day:02}T00:00:00Z",
            "BilledCost": str(day),
        }
        for day in days
    ]
    return as_csv(*rows)


@pytest.mark.usefixtures("scope")
def test_daily_files_that_repeat_the_month_are_named_and_with_the_day_in_the_pattern_the_newest_counts(
    cast: Cast, folder: Path
) -> None:
    put(folder, "bill_20260501.csv", snapshot(1))
    put(folder, "bill_20260502.csv", snapshot(1, 2))
    put(folder, "bill_20260503.csv", snapshot(1, 2, 3))
    connection = connect(cast, folder, "bill_{yyyymm}*.csv")
    note = sync_now(connection).periods[0]["note"]
    assert "The files of 2026-05-02 and 2026-05-03 repeat the same days" in note
    assert "Mark the day in the pattern with {day}" in note

    services.change_connection(
        connection=connection,
        actor=cast.actor,
        values={"folder": str(folder), "pattern": "bill_{yyyymm}{day}.csv"},
        interval_minutes=connection.interval_minutes,
        first_month=None,
    )
    sync = sync_now(connection)
    assert sync.periods[0]["note"] == ""
    assert total(cast.account) == Decimal(1 + 2 + 3)

    put(folder, "bill_20260504.csv", snapshot(1, 2, 3, 4))
    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert total(cast.account) == Decimal(1 + 2 + 3 + 4)


@pytest.mark.usefixtures("scope")
@pytest.mark.parametrize("pattern", ["{year}-{month}/*.csv", "**/*.csv"])
def test_daily_files_of_a_day_each_are_added_up_without_a_note(
    cast: Cast, folder: Path, pattern: str
) -> None:
    for day in (1, 2, 3):
        put(folder, f"2026-05/cost-2026-05-0{day}.csv", snapshot(day))
    sync = sync_now(connect(cast, folder, pattern))
    assert sync.periods[0]["note"] == ""
    assert total(cast.account) == Decimal(1 + 2 + 3)


@pytest.mark.usefixtures("scope")
def test_hourly_files_that_repeat_the_month_are_named(cast: Cast, folder: Path) -> None:
    put(folder, "ab1-ovh/2026/05/03/08/focus.csv", snapshot(1, 2, 3))
    put(folder, "ab1-ovh/2026/05/03/09/focus.csv", snapshot(1, 2, 3, 3))
    note = sync_now(connect(cast, folder, "**/*.csv")).periods[0]["note"]
    assert "The files of 2026-05-03 08:00 and 2026-05-03 09:00 repeat the same days" in note
    assert "Mark the day in the pattern with {day}, and the hour with {hour}" in note


@pytest.mark.usefixtures("scope")
@pytest.mark.parametrize("hour", ["hour=", ""])
def test_hourly_files_of_an_hour_each_are_added_up_without_a_note(
    cast: Cast, folder: Path, hour: str
) -> None:
    for number in range(3):
        put(folder, f"date=2026-05-03/{hour}{number:02}/usage.csv", snapshot(*[3] * (number + 1)))
    sync = sync_now(connect(cast, folder, "**/*.csv"))
    assert sync.periods[0]["note"] == ""
    assert total(cast.account) == Decimal(3 + 6 + 9)


@pytest.mark.usefixtures("scope")
def test_a_folder_that_is_not_allowed_any_more_is_not_read(
    cast: Cast, folder: Path, settings: Settings
) -> None:
    put(folder, "2026-05/a.csv.gz", as_csv_gz(focus_rows()[:70]))
    connection = connect(cast, folder, "{year}-{month}/*")
    settings.CONNECTION_FOLDERS = []

    sync = sync_now(connection)

    assert sync.status == "failed"
    assert "CONNECTION_FOLDERS" in sync.error


def test_a_check_says_what_is_missing(folder: Path, settings: Settings) -> None:
    def last_finding(pattern: str, where: Path = folder) -> tuple[str, bool, str]:
        config = FolderConfig(folder=str(where), pattern=pattern)
        finding = CONNECTOR.check(config)[-1]
        return finding.title, finding.is_ok, finding.fix

    assert "{year} together with {month}" in last_finding("{year}/*")[2]
    assert "not in an allowed folder" in last_finding("*", folder.parent)[2]
    assert "No file in" in last_finding("*.csv")[2]
    put(folder, "13/2026.csv", b"x")
    assert "has no valid month" in last_finding("{month}/{year}.csv")[2]
    put(folder, "note.txt", b"no cost at all")
    assert not last_finding("note.txt")[1]
    put(folder, "may.csv.gz", as_csv_gz(focus_rows()[:9]))
    assert last_finding("*.gz") == ("Read a file of 2026-05", True, "")


@pytest.mark.usefixtures("scope")
def test_allocations_of_opencost_arrive_in_the_currency_of_the_connection(cast: Cast, folder: Path) -> None:
    bill = opencost.parquet_bill()
    put(folder, "opencost.parquet", bill.files[0])
    connection = connect(cast, folder, "*")
    sync = sync_now(connection)
    assert sync.status == "failed"
    assert "without a currency" in sync.error
    assert "the currency also in the settings of a connection of files" in sync.error
    assert not CONNECTOR.check(FolderConfig(folder=str(folder), pattern="*"))[-1].is_ok

    in_euro = {"folder": str(folder), "pattern": "*", "default_currency": "EUR"}
    services.change_connection(
        connection=connection, actor=cast.actor, values=in_euro, interval_minutes=60, first_month=None
    )
    assert actions(sync_now(connection))["2026-05"] == "imported"
    for dimension, column in {
        "month": "billing_period",
        "account_id": "account_id",
        "currency": "currency",
    }.items():
        sums = cost_by(cast.account, column)
        assert {key: each for key, each in sums.items() if any(each)} == bill.sums(dimension)
    assert CONNECTOR.check(FolderConfig(folder=str(folder), pattern="*", default_currency="EUR"))[-1].is_ok


@pytest.mark.usefixtures("scope")
def test_a_file_that_names_its_currency_keeps_it(cast: Cast, folder: Path) -> None:
    put(folder, "2026-05/a.csv.gz", as_csv_gz(focus_rows()[:70]))
    connection = connect(cast, folder, "{year}-{month}/*")
    values = {"folder": str(folder), "pattern": "{year}-{month}/*", "default_currency": "JPY"}
    services.change_connection(
        connection=connection, actor=cast.actor, values=values, interval_minutes=60, first_month=None
    )
    sync_now(connection)
    assert "JPY" not in cost_by(cast.account, "currency")


def test_an_invalid_currency_is_refused_at_its_field(cast: Cast, folder: Path) -> None:
    with pytest.raises(UserError) as error:
        services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name="Folder",
            connector="folder",
            values={"folder": str(folder), "pattern": "*", "default_currency": "euros"},
        )
    assert error.value.field == "default_currency"
