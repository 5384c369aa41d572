"""Uploads into a source that syncs fill: refused with instructions, shown in Data health, and replaced by the next
sync."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from finops.connections import services
from finops.connections.models import CostConnection
from finops.connections.queries import months_to_read_again
from finops.costs.models import CostImport
from finops.insights.connection_health import ConnectionHealth
from finops.insights.data_health import data_health
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.factories.imports import cost_by, import_bill
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now, write_month
from tests.pages import text_of

pytestmark = pytest.mark.django_db

UPLOAD = "/a/acme/connections/upload/"


def billed_by_month(cast: Cast) -> dict[str | None, Decimal]:
    return {month: sums[0] for month, sums in cost_by(cast.account, "billing_period").items()}


def send(member: Client, source_id: int, **fields: str) -> HttpResponse:
    file = SimpleUploadedFile("focus.csv", month_rows("2026-05", "9"))
    response: HttpResponse = member.post(UPLOAD, {"source": source_id, "uploads": file, **fields})  # type: ignore[assignment]
    return response


def health(cast: Cast) -> ConnectionHealth:
    return next(each for each in data_health(cast.account).connections if each.name == "Bills")


def upload_over(cast: Cast, connection: CostConnection, folder: Path, month: str, *costs: str) -> None:
    path = folder / "upload.csv"
    path.write_bytes(month_rows(month, *costs))
    assert import_bill_as_upload(cast, connection, path).status == "done"


def import_bill_as_upload(cast: Cast, connection: CostConnection, path: Path) -> CostImport:
    job = import_bill(cast, connection.cost_source, path)
    CostImport.objects.filter(pk=job.pk).update(origin=CostImport.Origin.UPLOAD)
    return job


def is_sure_hidden(response: Any) -> bool:
    """Whether the choice to upload all the same is out of sight until a source with syncs is chosen."""
    element = response.content.decode().partition('id="upload-sure"')[2].partition(">")[0]
    assert element
    return bool(element.rstrip().endswith("hidden"))


def test_an_upload_into_a_synced_source_is_refused_with_instructions(
    cast: Cast, connection: CostConnection, member: Client
) -> None:
    response = send(member, connection.cost_source.pk)

    page = text_of(response, status=422)
    assert "Syncs import the cost of 'Bills'. The next one replaces uploaded months" in page
    assert "Upload into a new source, pause its syncs first, or check “Upload anyway”" in page
    assert not is_sure_hidden(response)
    assert not CostImport.objects.exists()


def test_a_confirmed_upload_is_accepted(cast: Cast, connection: CostConnection, member: Client) -> None:
    assert send(member, connection.cost_source.pk, is_sure="on").status_code == 302
    assert CostImport.objects.get().source_id == connection.cost_source.pk


def test_paused_syncs_send_no_requests(cast: Cast, connection: CostConnection, member: Client) -> None:
    services.pause_connection(connection=connection, actor=cast.actor)
    assert "Upload anyway" not in text_of(member.get(UPLOAD))
    assert send(member, connection.cost_source.pk).status_code == 302


def test_a_source_of_uploads_is_none_of_it(cast: Cast, connection: CostConnection, member: Client) -> None:
    other = add_source(cast.account, [], name="Files")
    assert is_sure_hidden(member.get(UPLOAD))
    assert send(member, other.pk).status_code == 302


def test_a_month_that_an_upload_changed_is_read_again(
    cast: Cast, connection: CostConnection, export: Path, tmp_path: Path
) -> None:
    write_month(export, "2026-04", "7")
    write_month(export, "2026-05", "10", "11")
    sync_now(connection)
    upload_over(cast, connection, tmp_path, "2026-05", "10", "11.5")
    assert billed_by_month(cast) == {"2026-04": Decimal(7), "2026-05": Decimal("21.5")}

    sync = sync_now(connection)

    assert actions(sync) == {"2026-05": "imported", "2026-04": "unchanged"}
    assert billed_by_month(cast) == {"2026-04": Decimal(7), "2026-05": Decimal(21)}
    assert actions(sync_now(connection)) == {"2026-05": "unchanged", "2026-04": "unchanged"}


def test_a_month_that_only_an_upload_brought_stays(
    cast: Cast, connection: CostConnection, export: Path, tmp_path: Path
) -> None:
    write_month(export, "2026-05", "10")
    sync_now(connection)
    upload_over(cast, connection, tmp_path, "2025-12", "3")

    assert actions(sync_now(connection)) == {"2026-05": "unchanged"}
    assert billed_by_month(cast) == {"2025-12": Decimal(3), "2026-05": Decimal(10)}
    assert "upload" not in health(cast).reason


def test_data_health_says_which_months_an_upload_changed_until_a_sync_has_read_them(
    cast: Cast, connection: CostConnection, export: Path, tmp_path: Path
) -> None:
    write_month(export, "2026-05", "10")
    sync_now(connection)
    upload_over(cast, connection, tmp_path, "2026-05", "12")

    expected = "2026-05 was changed by an upload. The next sync replaces it unless syncs are paused."
    assert expected in health(cast).reason

    sync_now(connection)
    assert "upload" not in health(cast).reason


def test_months_to_read_again_take_two_queries(
    cast: Cast, connection: CostConnection, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(2):
        assert months_to_read_again([connection]) == {}
