"""Azure exports from a real Blob server, through whole syncs: what arrives is what the newest run names, to the cent."""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.connections.connector import MonthConflict, SourceError
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.azurite import AzureContainer, AzureExport
from tests.finops.connections.connectors.azure_steps import (
    CONNECTOR,
    GUID,
    JUNE,
    MAY,
    config,
    connect,
    fetch_may,
)
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now

pytestmark = pytest.mark.django_db

FOCUS = Path("tests/data/focus/synthetic/focus_1_2_cost_and_usage_azure.csv.gz")
PAIR = Path("tests/data/native/azure")


@pytest.fixture
def connection(cast: Cast, container: AzureContainer) -> Iterator[CostConnection]:
    """Of Acme to `exports` in the container, by a SAS, in scope; its first sync waits."""
    row = connect(cast, container)
    with account_scope(cast.account):
        yield row


def billed_by_service(data: bytes) -> dict[str | None, Decimal]:
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(gzip.decompress(data).decode())):
        sums[row["ServiceName"]] += Decimal(row["BilledCost"])
    return dict(sums)


def test_a_focus_export_arrives_to_the_cent_and_is_not_read_twice(
    cast: Cast, connection: CostConnection, export: AzureExport
) -> None:
    data = FOCUS.read_bytes()
    export.deliver(MAY, {"part_0_0001.csv.gz": data})

    sync = sync_now(connection)

    assert (sync.status, sync.error, actions(sync)) == ("done", "", {"2026-05": "imported"})
    stored = {name: sums[0] for name, sums in cost_by(cast.account, "service").items()}
    assert stored == billed_by_service(data)
    assert actions(sync_now(connection)) == {"2026-05": "unchanged"}


def test_the_newest_of_two_runs_of_a_month_counts(
    cast: Cast, connection: CostConnection, export: AzureExport
) -> None:
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1")}, "9", time="202605100102")
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "2"), "part_1.csv": month_rows("2026-05", "0.5")},
                   "1", time="202605110102")  # fmt: skip
    export.deliver(JUNE, {"part_0.csv": month_rows("2026-06", "7")}, "2")

    sync = sync_now(connection)

    assert actions(sync) == {"2026-06": "imported", "2026-05": "imported"}
    assert total(cast.account) == Decimal("9.5")


def test_a_report_that_was_overwritten_replaces_its_month(
    cast: Cast, connection: CostConnection, export: AzureExport
) -> None:
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1", "2", "3")}, "1")
    sync_now(connection)
    for name in ("manifest.json", "part_0.csv"):
        export.container.delete(f"{export.folder(MAY, '1')}/{name}")
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1.5")}, "2")

    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert total(cast.account) == Decimal("1.5")


def test_only_a_run_with_a_manifest_counts(
    cast: Cast, connection: CostConnection, export: AzureExport
) -> None:
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1")}, "1", time="202605100102")
    export.container.put(f"{export.folder(MAY, '2', '202605110102')}/part_0.csv", b"half")
    export.container.put(f"{export.folder(JUNE, '3')}/part_0.csv", b"half")

    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert total(cast.account) == Decimal(1)


def test_an_empty_month_is_emptied(cast: Cast, connection: CostConnection, export: AzureExport) -> None:
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1")}, "1", time="202605100102")
    sync_now(connection)
    export.put_manifest(MAY, [], "2", time="202605110102")

    assert actions(sync_now(connection)) == {"2026-05": "emptied"}
    assert not total(cast.account)


def test_a_pair_of_actual_and_amortized_cost_is_one_bill(cast: Cast, container: AzureContainer) -> None:
    files = {kind: (PAIR / f"EA_{kind}_Small.csv").read_bytes() for kind in ("ActualCost", "AmortizedCost")}
    row = connect(cast, container, export="actual", amortized_export="amortized")
    with account_scope(cast.account):
        AzureExport(container, "actual", "ActualCost").deliver(
            "20230901-20230930", {"part_0.csv": files["ActualCost"]}
        )
        assert "no finished run of export amortized" in sync_now(row).error

        AzureExport(container, "amortized", "AmortizedCost").deliver(
            "20230901-20230930", {"part_0.csv": files["AmortizedCost"]}, "2"
        )
        sync = sync_now(row)

        assert (sync.error, actions(sync)) == ("", {"2023-09": "imported"})
        billed, effective = cost_by(cast.account, None)[None]
    assert (billed, effective) == (_cost(files["ActualCost"], committed=None), _pair_effective(files))


def _cost(data: bytes, *, committed: bool | None) -> Decimal:
    """Of the lines of reservations and savings plans, of the others, or of all."""
    return sum(
        (
            Decimal(row["Cost"])
            for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
            if committed in (None, row["PricingModel"] in ("Reservation", "SavingsPlan"))
        ),
        Decimal(0),
    )


def _pair_effective(files: dict[str, bytes]) -> Decimal:
    return _cost(files["ActualCost"], committed=False) + _cost(files["AmortizedCost"], committed=True)


def test_the_name_of_the_export_may_stand_before_the_dates(container: AzureContainer, tmp_path: Path) -> None:
    folder = f"exports/focus/{MAY}/202605110102/{GUID}"
    container.put(f"{folder}/part_0.csv", b"x")
    container.put(
        f"{folder}/manifest.json",
        f'{{"exportConfig": {{"type": "FocusCost"}}, "blobs": [{{"blobName": "{folder}/part_0.csv"}}]}}'.encode(),
    )

    assert fetch_may(config(container, export="focus"), tmp_path) == [b"x"]


def test_two_exports_below_one_directory_need_a_name(container: AzureContainer, tmp_path: Path) -> None:
    for number, name in enumerate(("focus", "other")):
        AzureExport(container, name).deliver(MAY, {"part_0.csv": name.encode()}, str(number))

    with pytest.raises(SourceError, match="2 exports: focus, other") as error:
        CONNECTOR.months(config(container))
    assert error.value.field == "export"
    assert fetch_may(config(container, export="other"), tmp_path) == [b"other"]


def test_a_manifest_whose_files_come_later_is_a_conflict(export: AzureExport, tmp_path: Path) -> None:
    export.put_manifest(MAY, [f"{export.folder(MAY, '1')}/part_0.csv"])

    with pytest.raises(MonthConflict, match="does not exist yet"):
        fetch_may(config(export.container), tmp_path)


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("secrets/1.csv", "outside of"),
        (f"exports/{MAY}/focus/00000000-0000-0000-0000-000000000002/1.csv", "not of this run"),
        ("exports/../secrets/1.csv", "not a valid key"),
        ("https://another.blob.core.windows.net/other/1.csv", "another bucket"),
    ],
)
def test_a_manifest_that_names_a_foreign_blob_is_refused_by_its_name(
    export: AzureExport, tmp_path: Path, named: str, text: str
) -> None:
    export.container.put("secrets/1.csv")
    export.container.put(f"exports/{MAY}/focus/00000000-0000-0000-0000-000000000002/1.csv")
    export.put_manifest(MAY, [named])

    with pytest.raises(SourceError, match=text) as error:
        fetch_may(config(export.container), tmp_path)
    assert named.rpartition("/")[2] in error.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]", b'{"blobs": 3}', b"\xff\xfe", b'{"files": []}'])
def test_an_invalid_manifest_says_so(export: AzureExport, tmp_path: Path, manifest: bytes) -> None:
    export.container.put(export.put_manifest(MAY, []), manifest)

    with pytest.raises(SourceError, match=r"manifest\.json cannot be read as a manifest"):
        fetch_may(config(export.container), tmp_path)


def test_a_run_that_comes_while_one_is_read_is_read_instead(
    cast: Cast, connection: CostConnection, export: AzureExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1")}, "1", time="202605100102")
    fetch = type(CONNECTOR).fetch

    def fetch_late(self: Any, *arguments: Any) -> Any:
        files = fetch(self, *arguments)
        export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "2")}, "2", time="202605110102")
        monkeypatch.undo()
        return files

    monkeypatch.setattr(type(CONNECTOR), "fetch", fetch_late)

    assert sync_now(connection).status == "done"
    assert total(cast.account) == Decimal(2)


def test_a_blob_that_is_replaced_between_two_is_a_conflict(export: AzureExport, tmp_path: Path) -> None:
    export.deliver(MAY, {"part_0.csv": b"one", "part_1.csv": b"two"})

    with pytest.raises(MonthConflict):
        fetch_may(
            config(export.container),
            tmp_path,
            progress=lambda _bytes: export.container.put(f"{export.folder(MAY, '1')}/part_1.csv", b"new"),
        )


def test_a_large_blob_is_read_in_ranges(
    export: AzureExport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.connections.transports.rest_bucket.CHUNK_BYTES", 1_000)
    monkeypatch.setattr("finops.connections.transports.azure_blob.PAGE", 2)
    data = bytes(range(256)) * 10
    export.deliver(MAY, {"part_0.csv": data, "part 1 ü.csv": b"", "part_2.csv": b"x" * 1_000})

    steps: list[int] = []
    files = fetch_may(config(export.container), tmp_path, progress=steps.append)

    assert files == [data, b"", b"x" * 1_000]
    assert [each for each in steps if each] == [1_000, 1_000, 560, 1_000]
