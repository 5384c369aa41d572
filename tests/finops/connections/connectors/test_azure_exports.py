"""Azure exports from a real Blob server, through whole syncs: what arrives is what the newest run names, to the cent."""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import AccessError, Fetch, MonthConflict, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.azure_exports import AzureExportsConfig
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.azurite import AzureContainer, AzureExport
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now
from tests.world.imports import cost_by, total

pytestmark = pytest.mark.django_db

FOCUS = Path("tests/data/focus/synthetic/focus_1_2_cost_and_usage_azure.csv.gz")
PAIR = Path("tests/data/native/azure")
MAY, JUNE = "20260501-20260531", "20260601-20260630"
CONNECTOR = connector_of("azure_exports")
GUID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def export(container: AzureContainer) -> AzureExport:
    return AzureExport(container)


@pytest.fixture
def connection(cast: Cast, container: AzureContainer) -> Iterator[CostConnection]:
    """Of Acme to `exports` in the container, by a SAS, in scope; its first sync waits."""
    row = connect(cast, container)
    with account_scope(cast.account):
        yield row


def connect(cast: Cast, container: AzureContainer, **values: object) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Azure",
        connector="azure_exports",
        values={"access": "sas_url", "sas_url": container.sas_url(), "path": "exports", **values},
    )


def config(container: AzureContainer, **values: Any) -> AzureExportsConfig:
    return AzureExportsConfig(access="sas_url", sas_url=container.sas_url(), path="exports", **values)


def fetch_may(chosen: AzureExportsConfig, folder: Path, **options: Any) -> list[bytes]:
    month = next(each for each in CONNECTOR.months(chosen) if each.month == date(2026, 5, 1))
    return [each.path.read_bytes() for each in CONNECTOR.fetch(chosen, month, Fetch(folder, **options))]


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


def test_of_two_runs_of_a_month_the_newest_counts(
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
        assert "no run of an export amortized" in sync_now(row).error

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

    with pytest.raises(SourceError, match="2 exports: focus, other") as raised:
        CONNECTOR.months(config(container))
    assert raised.value.field == "export"
    assert fetch_may(config(container, export="other"), tmp_path) == [b"other"]


def test_a_manifest_whose_files_come_later_is_a_conflict(export: AzureExport, tmp_path: Path) -> None:
    export.put_manifest(MAY, [f"{export.folder(MAY, '1')}/part_0.csv"])

    with pytest.raises(MonthConflict, match="not there yet"):
        fetch_may(config(export.container), tmp_path)


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("secrets/1.csv", "outside of"),
        (f"exports/{MAY}/focus/00000000-0000-0000-0000-000000000002/1.csv", "not of this run"),
        ("exports/../secrets/1.csv", "no key"),
        ("https://another.blob.core.windows.net/other/1.csv", "another bucket"),
    ],
)
def test_a_manifest_that_names_a_foreign_blob_is_refused_by_its_name(
    export: AzureExport, tmp_path: Path, named: str, text: str
) -> None:
    export.container.put("secrets/1.csv")
    export.container.put(f"exports/{MAY}/focus/00000000-0000-0000-0000-000000000002/1.csv")
    export.put_manifest(MAY, [named])

    with pytest.raises(SourceError, match=text) as raised:
        fetch_may(config(export.container), tmp_path)
    assert named.rpartition("/")[2] in raised.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]", b'{"blobs": 3}', b"\xff\xfe", b'{"files": []}'])
def test_a_manifest_that_is_none_says_so(export: AzureExport, tmp_path: Path, manifest: bytes) -> None:
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


# Permissions


def test_a_container_that_is_missing_says_so(container: AzureContainer) -> None:
    container.name = "gone"

    with pytest.raises(SourceError, match="no container gone") as raised:
        CONNECTOR.months(config(container))
    assert raised.value.field == "container"


def test_a_permission_that_is_missing_names_the_role(export: AzureExport) -> None:
    export.deliver(MAY, {"part_0.csv": b"x"})
    chosen = AzureExportsConfig(
        access="sas_url", sas_url=export.container.sas_url(permissions="l"), path="exports"
    )

    failed = CONNECTOR.check(chosen)[-1]

    assert failed.title.startswith(f"Read {MAY}/focus/")
    assert "role Storage Blob Data Reader" in failed.fix
    assert "Read and List" in failed.fix


def test_a_sas_that_has_expired_says_so_and_shows_nothing_of_it(export: AzureExport) -> None:
    sas_url = export.container.sas_url(expiry="2020-01-01T00:00:00Z")
    chosen = AzureExportsConfig(access="sas_url", sas_url=sas_url)

    with pytest.raises(AccessError, match="The SAS ended on 2020-01-01") as raised:
        CONNECTOR.months(chosen)
    assert "sig=" not in raised.value.message
    assert sas_url not in repr(chosen)


def test_a_permission_that_is_taken_away_fails_the_sync_and_keeps_the_month(
    cast: Cast, container: AzureContainer, export: AzureExport
) -> None:
    container.allow("rl")
    row = connect(cast, container, sas_url=container.sas_url("policy"))
    with account_scope(cast.account):
        export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "1")})
        assert sync_now(row).error == ""
        container.allow("l")
        export.deliver(MAY, {"part_0.csv": month_rows("2026-05", "2")}, "2", time="202605110102")

        sync = sync_now(row)

        assert (sync.status, actions(sync)) == ("failed", {"2026-05": "failed"})
        assert "role Storage Blob Data Reader" in sync.error
        assert total(cast.account) == Decimal(1)
        container.allow("rl")
        assert sync_now(row).error == ""
        assert total(cast.account) == Decimal(2)


def test_the_check_tries_each_step_in_turn(export: AzureExport) -> None:
    chosen = config(export.container)
    assert [each.is_ok for each in CONNECTOR.check(chosen)] == [True, True, False]
    export.deliver(MAY, {"part_0.csv": b"x"})

    findings = CONNECTOR.check(chosen)

    assert [each.title for each in findings][1:] == [
        f"List azure://{export.container.name}/exports",
        "Find the export's runs",
        f"Read {export.folder(MAY, '1').removeprefix('exports/')}/manifest.json",
        "Know the type of the export",
        "Find the files of 2026-05",
    ]
    assert all(each.is_ok for each in findings)


@pytest.mark.parametrize("kind", ["PriceSheet", "", "ReservationRecommendations"])
def test_an_export_that_is_no_cost_is_refused_by_its_type(
    container: AzureContainer, tmp_path: Path, kind: str
) -> None:
    AzureExport(container, kind=kind).deliver(MAY, {"part_0.csv": b"x"})

    with pytest.raises(SourceError, match=f"of the type {kind or 'unknown'}"):
        fetch_may(config(container), tmp_path)


# Signing in


@pytest.fixture
def entra(replay: ReplayServer, settings: Settings) -> ReplayServer:
    settings.CONNECTOR_BASE_URLS = {"azure_login": replay.url}
    return replay


def principal(server: ReplayServer, **values: Any) -> AzureExportsConfig:
    return AzureExportsConfig(
        **{
            "account": "acmebilling",
            "container": "exports",
            "tenant_id": GUID,
            "client_id": GUID,
            "client_secret": "s3cret value",
            "endpoint": server.url,
            **values,
        }
    )


def test_a_service_principal_signs_in_once_and_lists_with_its_token(entra: ReplayServer) -> None:
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json(
        {"access_token": "token-1", "expires_in": 3_600}
    )
    page = b"\xef\xbb\xbf<?xml version='1.0'?><EnumerationResults><Blobs/><NextMarker>%s</NextMarker></EnumerationResults>"
    entra.routes["/exports"] = lambda request: Reply(
        body=page % (b"" if request.param("marker") else b"more")
    )

    with pytest.raises(SourceError, match="no run of an export"):
        CONNECTOR.months(principal(entra))

    assert entra.paths() == [f"/{GUID}/oauth2/v2.0/token", "/exports", "/exports"]
    assert entra.requests[0].body.decode() == (
        f"grant_type=client_credentials&client_id={GUID}&client_secret=s3cret+value"
        "&scope=https%3A%2F%2Fstorage.azure.com%2F.default"
    )
    assert [each.headers["authorization"] for each in entra.requests[1:]] == ["Bearer token-1"] * 2


def test_a_secret_that_has_expired_says_where_to_make_another(entra: ReplayServer) -> None:
    error = {
        "error": "invalid_client",
        "error_description": "AADSTS7000222: The secret s3cret value is expired.",
    }
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json(error, 401)

    with pytest.raises(AccessError, match=r"has expired.*Certificates & secrets") as raised:
        CONNECTOR.months(principal(entra))
    assert "s3cret" not in raised.value.message


def test_an_app_without_the_role_is_told_its_name(entra: ReplayServer) -> None:
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json({"access_token": "t"})
    entra.routes["/exports"] = lambda _request: Reply(
        403, headers={"x-ms-error-code": "AuthorizationPermissionMismatch"}
    )

    with pytest.raises(AccessError, match=f"The app {GUID} may not .* role Storage Blob Data Reader"):
        CONNECTOR.months(principal(entra))


def test_the_identity_of_the_server_is_lent_only_where_its_operator_says_so(settings: Settings) -> None:
    chosen = AzureExportsConfig(account="acmebilling", container="exports", access="server_identity")

    with pytest.raises(AccessError, match="CONNECTION_AMBIENT_IDENTITY"):
        CONNECTOR.months(chosen)


def test_the_token_of_the_server_goes_to_no_endpoint_but_azures(settings: Settings) -> None:
    settings.CONNECTION_AMBIENT_IDENTITY = True
    for endpoint in (
        "https://example.com",
        "http://a.blob.core.windows.net",
        "https://a.blob.core.windows.net.example.com",
    ):
        chosen = AzureExportsConfig(container="exports", access="server_identity", endpoint=endpoint)
        with pytest.raises(SourceError, match="one of Azure's own"):
            CONNECTOR.months(chosen)


@pytest.mark.parametrize("values", [
    {"access": "sas_url", "sas_url": "http://127.0.0.1:10000/a/c?sig=x"},
    {"access": "sas_url", "sas_url": "https://169.254.169.254/c?sig=x"},
    {"access": "service_principal", "endpoint": "http://10.0.0.1"},
])  # fmt: skip
def test_an_address_in_a_private_network_is_refused(
    entra: ReplayServer, settings: Settings, values: Any
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"] if "endpoint" in values else []
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json({"access_token": "t"})

    findings = CONNECTOR.check(principal(entra, **values))

    assert "private or reserved network" in findings[-1].fix
    assert [each for each in entra.requests if "blob" in each.path] == []


@pytest.mark.parametrize(
    "url", ["", "https://a.blob.core.windows.net/c", "https://a.blob.core.windows.net?sig=x", "c?sig=x"]
)
def test_half_a_sas_url_is_refused(url: str) -> None:
    with pytest.raises(AccessError, match="whole SAS URL") as raised:
        CONNECTOR.months(AzureExportsConfig(access="sas_url", sas_url=url))
    assert raised.value.field == "sas_url"


def test_a_listing_with_entities_is_refused_unread(entra: ReplayServer) -> None:
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json({"access_token": "t"})
    entra.routes["/exports"] = lambda _request: Reply(body=b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")

    with pytest.raises(SourceError, match="document type"):
        CONNECTOR.months(principal(entra))
