"""Files of any columns in a folder: mapped by the newest of them, and read by every sync from then on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connectors import connectors
from finops.connections.connectors.folder import FolderConfig, FolderConnector
from finops.connections.models import CostConnection, CostSync
from finops.costs.focus.normalise import FocusFile
from finops.costs.services import sample_file, save_column_mapping
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.factories.imports import cost_by, total
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.costs.mapping.mapped_files import BILL, document
from tests.pages import get_page, text_of

JUNE = BILL.replace("2026-05", "2026-06")


class AllowedFolder(FolderConnector):
    """Its folder is allowed in a child too, which has not the settings of a test."""

    def newest_file(self, config: FolderConfig, folder: Path) -> FocusFile:
        django_settings.CONNECTION_FOLDERS = [config.folder]
        return super().newest_file(config, folder)


@pytest.fixture
def folder(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(connectors(), "folder", AllowedFolder())
    root = tmp_path / "cost"
    root.mkdir()
    settings.CONNECTION_FOLDERS = [str(root)]
    return root


@pytest.fixture(autouse=True)
def scope(cast: Cast) -> Iterator[None]:
    with account_scope(cast.account):
        yield


def connect(cast: Cast, folder: Path, pattern: str = "*") -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Hetzner",
        connector="folder",
        values={"folder": str(folder), "pattern": pattern},
    )


@pytest.mark.parametrize("pattern", ["*", "{year}-{month}.csv"])
def test_a_folder_of_any_columns_is_synced_once_they_are_mapped(
    cast: Cast, folder: Path, pattern: str
) -> None:
    (folder / "2026-05.csv").write_text(BILL)
    (folder / "2026-06.csv").write_text(JUNE)
    connection = connect(cast, folder, pattern)
    failed = sync_now(connection)
    assert (failed.status, "is not a FOCUS file" in failed.error) == ("failed", True)
    assert "Map its columns on the source's page" in failed.error
    save_column_mapping(source=connection.cost_source, document=document(), actor=cast.actor)
    assert actions(sync_now(connection)) == {"2026-05": "imported", "2026-06": "imported"}
    assert total(cast.account) == Decimal("3.50")
    assert set(actions(sync_now(connection)).values()) == {"unchanged"}


def test_another_mapping_reads_every_month_again(cast: Cast, folder: Path) -> None:
    (folder / "2026-05.csv").write_text(BILL)
    connection = connect(cast, folder)
    save_column_mapping(source=connection.cost_source, document=document(), actor=cast.actor)
    sync_now(connection)
    cents = document(amounts={"BilledCost": {"column": "Amount", "factor": "0.01"}})
    save_column_mapping(source=connection.cost_source, document=cents, actor=cast.actor)
    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert total(cast.account) == Decimal("0.0175")


def test_a_synced_file_without_a_mapped_column_fails_and_what_was_there_counts(
    cast: Cast, folder: Path
) -> None:
    (folder / "2026-05.csv").write_text(BILL)
    connection = connect(cast, folder, "{year}-{month}.csv")
    save_column_mapping(source=connection.cost_source, document=document(), actor=cast.actor)
    sync_now(connection)
    (folder / "2026-05.csv").write_text(BILL.replace("Amount", "Betrag"))
    failed = sync_now(connection)
    assert "2026-05.csv has no column 'Amount', required by the source's column mapping" in failed.error
    assert cost_by(cast.account, "service")["Server"][0] == Decimal("1.50")


def test_the_newest_file_is_fetched_to_map_its_columns_and_saving_starts_a_sync(
    cast: Cast, folder: Path
) -> None:
    (folder / "2026-05.csv").write_text(BILL)
    connection = connect(cast, folder)
    sync_now(connection)
    url = f"/a/acme/connections/{connection.source_id}/"
    client = signed_in(cast.member)
    assert "Map columns" in get_page(client, url)
    assert "Fetch the newest file" in get_page(client, f"{url}mapping/")
    client.post(f"{url}mapping/newest/")
    page = client.get(f"{url}mapping/")
    assert "2026-05.csv" in text_of(page)
    form = page.context["form"]
    values = {name: form[name].value() or "" for name in form.fields} | {"BillingCurrency-value": "EUR"}
    del values["skip_without_date"]
    saved = client.post(f"{url}mapping/", values, follow=True)
    assert "Column mapping saved. A sync reads the months again." in text_of(saved)
    assert CostSync.objects.filter(status="queued").count() == 1


def test_a_connector_with_columns_of_its_own_has_no_mapping(cast: Cast, folder: Path) -> None:
    connection = connect(cast, folder)
    connection.connector = "anthropic_costs"
    connection.save()
    with pytest.raises(UserError, match="have fixed columns and need no column mapping"):
        services.fetch_sample(connection=connection)
    assert sample_file(connection.cost_source) is None
    page = get_page(signed_in(cast.member), f"/a/acme/connections/{connection.source_id}/")
    assert "Map columns" not in page


def test_a_folder_without_files_says_so(cast: Cast, folder: Path) -> None:
    connection = connect(cast, folder)
    with pytest.raises(UserError, match="matches"):
        services.fetch_sample(connection=connection)
