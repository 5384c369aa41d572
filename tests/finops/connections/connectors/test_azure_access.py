"""How Azure exports are signed in to, what their check says, and what a permission that is missing does."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections.connector import AccessError, SourceError
from finops.connections.connectors.azure_exports import AzureExportsConfig
from tests.cast import Cast
from tests.factories.imports import total
from tests.finops.connections.azurite import AzureContainer, AzureExport
from tests.finops.connections.connectors.azure_steps import CONNECTOR, GUID, MAY, config, connect, fetch_may
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now

pytestmark = pytest.mark.django_db


def test_a_container_that_is_missing_says_so(container: AzureContainer) -> None:
    container.name = "gone"

    with pytest.raises(SourceError, match="container gone does not exist") as error:
        CONNECTOR.months(config(container))
    assert error.value.field == "container"


def test_a_permission_that_is_missing_names_the_role(export: AzureExport) -> None:
    export.deliver(MAY, {"part_0.csv": b"x"})
    export_config = AzureExportsConfig(
        access="sas_url", sas_url=export.container.sas_url(permissions="l"), path="exports"
    )

    failed = CONNECTOR.check(export_config)[-1]

    assert failed.title.startswith(f"Read {MAY}/focus/")
    assert "role Storage Blob Data Reader" in failed.fix
    assert "Read and List" in failed.fix


def test_a_sas_that_has_expired_says_so_and_shows_nothing_of_it(export: AzureExport) -> None:
    sas_url = export.container.sas_url(expiry="2020-01-01T00:00:00Z")
    export_config = AzureExportsConfig(access="sas_url", sas_url=sas_url)

    with pytest.raises(AccessError, match="The SAS expired on 2020-01-01") as error:
        CONNECTOR.months(export_config)
    assert "sig=" not in error.value.message
    assert sas_url not in repr(export_config)


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
    export_config = config(export.container)
    assert [each.is_ok for each in CONNECTOR.check(export_config)] == [True, True, False]
    export.deliver(MAY, {"part_0.csv": b"x"})

    findings = CONNECTOR.check(export_config)

    assert [each.title for each in findings][1:] == [
        f"List azure://{export.container.name}/exports",
        "Find the export's runs",
        f"Read {export.folder(MAY, '1').removeprefix('exports/')}/manifest.json",
        "Detect the type of the export",
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

    with pytest.raises(SourceError, match="no finished run of an export"):
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

    with pytest.raises(AccessError, match=r"has expired.*Certificates & secrets") as access_error:
        CONNECTOR.months(principal(entra))
    assert "s3cret" not in access_error.value.message


def test_an_app_without_the_role_gets_the_name_of_the_role(entra: ReplayServer) -> None:
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json({"access_token": "t"})
    entra.routes["/exports"] = lambda _request: Reply(
        403, headers={"x-ms-error-code": "AuthorizationPermissionMismatch"}
    )

    with pytest.raises(AccessError, match=f"The app {GUID} may not .* role Storage Blob Data Reader"):
        CONNECTOR.months(principal(entra))


def test_the_identity_of_the_server_is_lent_only_where_its_operator_says_so(settings: Settings) -> None:
    export_config = AzureExportsConfig(account="acmebilling", container="exports", access="server_identity")

    with pytest.raises(AccessError, match="CONNECTION_AMBIENT_IDENTITY"):
        CONNECTOR.months(export_config)


def test_the_token_of_the_server_goes_to_no_endpoint_but_azures(settings: Settings) -> None:
    settings.CONNECTION_AMBIENT_IDENTITY = True
    for endpoint in (
        "https://example.com",
        "http://a.blob.core.windows.net",
        "https://a.blob.core.windows.net.example.com",
    ):
        export_config = AzureExportsConfig(container="exports", access="server_identity", endpoint=endpoint)
        with pytest.raises(SourceError, match="must be an Azure endpoint"):
            CONNECTOR.months(export_config)


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
    with pytest.raises(AccessError, match="full SAS URL") as error:
        CONNECTOR.months(AzureExportsConfig(access="sas_url", sas_url=url))
    assert error.value.field == "sas_url"


def test_a_listing_with_entities_is_refused_unread(entra: ReplayServer) -> None:
    entra.routes[f"/{GUID}/oauth2/v2.0/token"] = lambda _request: Reply.of_json({"access_token": "t"})
    entra.routes["/exports"] = lambda _request: Reply(body=b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")

    with pytest.raises(SourceError, match="document type"):
        CONNECTOR.months(principal(entra))
