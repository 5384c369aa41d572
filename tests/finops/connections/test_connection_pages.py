"""The pages of synced sources: the list, one source, its syncs, and one sync."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from finops.costs.services import create_cost_source
from finops.lib import clock
from finops.lib.formats.numbers import filesize
from tests.cast import Cast, signed_in
from tests.finops.connections.bill_box import (
    BillBox,
    bill_box,
    closed_box,
    connect,
    restate_may,
    sync_now,
)
from tests.finops.costs.focus_reader import as_csv
from tests.pages import csv_rows, get_page, text_of

__all__ = ["bill_box"]

pytestmark = pytest.mark.usefixtures("bill_box")

LIST = "/a/acme/connections/"


def page_of(connection: CostConnection) -> str:
    return f"{LIST}{connection.source_id}/"


def running(cast: Cast, sync: CostSync, **values: object) -> CostSync:
    """The same sync as it is while a worker runs it."""
    now = clock.now()
    fields = {"status": "running", "started_at": now - timedelta(seconds=60), "heartbeat_at": now, **values}
    with account_scope(cast.account):
        CostSync.objects.filter(pk=sync.pk).update(**fields)
        return CostSync.objects.get(pk=sync.pk)


def sync_of(cast: Cast, connection: CostConnection) -> CostSync:
    with account_scope(cast.account):
        return CostSync.objects.filter(connection=connection)[0]


def page_of_sync(client: Client, sync: CostSync) -> str:
    return get_page(client, f"{LIST}syncs/{sync.pk}/")


def test_the_list_says_of_each_source_how_it_stands_and_when_it_is_synced_next(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    connection = connect(cast)

    queued = get_page(client, LIST)
    sync_now(cast, connection)
    with account_scope(cast.account):
        CostConnection.objects.update(next_sync_at=clock.now() + timedelta(minutes=40, seconds=30))
    finished_page = get_page(client, LIST)
    with closed_box():
        sync_now(cast, connection)
    failing = get_page(client, LIST)
    services.pause_connection(connection=connection, actor=cast.actor)
    paused = get_page(client, LIST)

    assert "Boxes of Acme Bill box Syncing" in queued
    assert "In progress" in queued
    assert "in 40 minutes" in finished_page
    assert "Boxes of Acme Bill box Failing" in failing
    assert "The box refused the key. Grant box:Read to it." in failing
    assert "Boxes of Acme Bill box Paused" in paused
    assert "Add connection" not in finished_page


def test_a_source_that_no_worker_syncs_is_late(cast: Cast) -> None:
    connection = connect(cast)
    sync_now(cast, connection)
    with account_scope(cast.account):
        CostConnection.objects.update(next_sync_at=clock.now() - timedelta(hours=2))

    assert "Late" in get_page(signed_in(cast.viewer), LIST)


def test_the_list_is_exported(cast: Cast) -> None:
    connection = connect(cast)
    with closed_box():
        sync_now(cast, connection)

    (row,) = csv_rows(signed_in(cast.viewer).get(LIST, {"format": "csv"}))

    assert (row["Source"], row["Kind"], row["Status"]) == ("Boxes of Acme", "Bill box", "failing")
    assert row["Last error"].startswith("The box refused the key.")


def test_a_source_shows_its_connection_and_its_months(cast: Cast) -> None:
    connection = connect(cast)
    sync_now(cast, connection)

    member, viewer = (get_page(signed_in(user), page_of(connection)) for user in (cast.member, cast.viewer))

    assert "Bill box" in viewer
    assert "Schedule Every hour" in viewer
    assert "Start month All available months" in viewer
    assert "Credentials Stored, changed just now" in viewer
    assert viewer.index("Jun just now 1") < viewer.index("May just now 1")
    for word in ("Sync now", "Pause", "Delete source"):
        assert word in member
        assert word not in viewer
    settings_link = f'href="{page_of(connection)}edit/"'
    assert settings_link in signed_in(cast.member).get(page_of(connection)).content.decode()
    assert settings_link not in signed_in(cast.viewer).get(page_of(connection)).content.decode()


def test_a_folder_is_listed_as_the_provider_of_its_bills(cast: Cast, tmp_path: Path, settings: Any) -> None:
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    bill = as_csv({"ProviderName": "Microsoft"}, {"ProviderName": "Microsoft", "ServiceName": "Storage"})
    (tmp_path / "2026-05.csv").write_bytes(bill)
    with account_scope(cast.account):
        connection = services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name="Subscriptions",
            connector="folder",
            values={"folder": str(tmp_path), "pattern": "{year}-{month}.csv"},
        )
    client = signed_in(cast.viewer)

    before = get_page(client, LIST)
    sync_now(cast, connection)

    assert "Subscriptions Folder on this server" in before
    assert "Subscriptions Microsoft" in get_page(client, LIST)
    page = get_page(client, page_of(connection))
    assert "Folder on this server Healthy" in page
    assert "Provider Microsoft" in page
    assert "FOCUS files" not in page


def test_a_folder_without_data_yet_is_listed_as_the_provider_that_was_entered(
    cast: Cast, tmp_path: Path, settings: Any
) -> None:
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    (tmp_path / "2026-05.csv").write_bytes(as_csv({"ProviderName": "OCI"}))
    with account_scope(cast.account):
        connection = services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name="Tenancy",
            connector="folder",
            values={"folder": str(tmp_path), "pattern": "{year}-{month}.csv", "provider": "Oracle"},
        )
    assert "Tenancy Oracle" in get_page(signed_in(cast.viewer), LIST)

    sync_now(cast, connection)
    assert "Tenancy OCI" in get_page(signed_in(cast.viewer), LIST)

    services.change_connection(
        connection=connection,
        actor=cast.actor,
        values={"folder": str(tmp_path), "pattern": "{year}-{month}.csv", "provider": "Oracle Cloud"},
        interval_minutes=connection.interval_minutes,
        first_month=None,
    )
    sync = sync_now(cast, connection)
    assert [period["action"] for period in sync.periods] == ["unchanged"]


def test_a_failing_source_that_never_had_data_says_its_error_once(cast: Cast) -> None:
    connection = connect(cast)
    with closed_box():
        sync_now(cast, connection)

    source, health = (
        get_page(signed_in(cast.viewer), page) for page in (page_of(connection), f"{LIST}health/")
    )

    assert source.count("The box refused the key.") == 1
    assert source.count("Failing ") == 2  # the badge, and since when
    assert health.count("Syncs have failed since") == 1
    assert health.count("The box refused the key.") == 1
    assert "Existing data is kept" not in source + health
    assert "Next sync on " in health


def test_a_failed_month_says_how_much_of_it_was_read(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BillBox, "bills", {date(2026, 5, 1): as_csv({"BilledCost": "pending"}).decode()})
    connection = connect(cast)

    sync = sync_now(cast, connection)

    (period,) = sync.periods
    assert period["bytes"] == sync.bytes_done > 0
    assert period["error"].endswith(
        "'pending' is not a number. Correct the value and try again; the file was not imported."
    )
    page = page_of_sync(signed_in(cast.viewer), sync)
    assert f"Read {filesize(sync.bytes_done)}" in page
    assert "Duration Under 1 second" in page


def test_a_member_starts_pauses_and_resumes_syncs(cast: Cast) -> None:
    connection = connect(cast)
    sync_now(cast, connection)
    client, url = signed_in(cast.member), page_of(connection)

    started = client.post(f"{url}sync/", follow=True)
    again = client.post(f"{url}sync/", follow=True)
    paused = client.post(f"{url}pause/", follow=True)
    resumed = client.post(f"{url}resume/", follow=True)

    assert "Waiting for a worker" in text_of(started)
    assert "A sync of this source is queued or running already." in text_of(again)
    assert "Syncs paused." in text_of(paused)
    assert "Resume" in text_of(paused)
    assert "Syncs resumed." in text_of(resumed)


def test_a_sync_lists_what_it_did_with_each_month(cast: Cast) -> None:
    connection, client = connect(cast), signed_in(cast.viewer)

    first = page_of_sync(client, sync_now(cast, connection))
    unchanged = page_of_sync(client, sync_now(cast, connection))
    restate_may()
    restated = page_of_sync(client, sync_now(cast, connection))

    assert "Done 2 months imported" in first
    assert "Months listed 2 Unchanged 0 Imported 2 Failed 0 Rows 2" in first
    assert "Jun Imported 1 1" in first
    assert "Done No change" in unchanged
    assert "May Unchanged" in unchanged
    assert "Done 1 month imported" in restated
    assert "May Imported" in restated
    assert "Jun Unchanged" in restated
    page = client.get(f"{LIST}syncs/{sync_of(cast, connection).pk}/").content.decode()
    assert "every 1s" not in page


def test_a_sync_that_failed_says_why_and_leads_to_the_settings(cast: Cast) -> None:
    connection = connect(cast)
    with closed_box():
        sync = sync_now(cast, connection)

    member, viewer = (page_of_sync(signed_in(user), sync) for user in (cast.member, cast.viewer))

    assert "Failed Nothing was imported" in viewer
    assert "The box refused the key. Grant box:Read to it." in viewer
    assert "Connection settings" in member
    assert "Connection settings" not in viewer


def test_a_running_sync_shows_its_progress_every_second(cast: Cast) -> None:
    connection = connect(cast)
    sync = running(
        cast,
        sync_of(cast, connection),
        stage="fetching 2026-06",
        bytes_total=4_000_000,
        bytes_done=1_000_000,
        months_listed=4,
        months_imported=1,
    )

    html = (
        signed_in(cast.viewer).get(f"{LIST}syncs/{sync.pk}/", headers={"HX-Request": "true"}).content.decode()
    )

    assert "<html" not in html
    assert 'hx-trigger="every 1s"' in html
    assert 'value="25"' in html
    text = page_of_sync(signed_in(cast.viewer), sync)
    assert "Fetching 2026-06" in text
    assert "25% of 4.0 MB. 1 of 4 months imported. About 3 minutes left." in text


def test_a_remaining_time_is_not_made_up(cast: Cast) -> None:
    connection, client = connect(cast), signed_in(cast.viewer)
    sync = sync_of(cast, connection)
    start = clock.now() - timedelta(seconds=2)

    queued = page_of_sync(client, sync)
    listing = page_of_sync(client, running(cast, sync, stage="listing"))
    early = page_of_sync(
        client, running(cast, sync, stage="x", bytes_total=10, bytes_done=5, started_at=start)
    )
    unknown = page_of_sync(client, running(cast, sync, stage="x", bytes_total=0, bytes_done=0))
    silent = clock.now() - timedelta(minutes=5)
    stale_page = page_of_sync(client, running(cast, sync, bytes_total=10, bytes_done=5, heartbeat_at=silent))

    assert "Waiting for a worker" in queued
    assert "Listing months." in listing
    assert "Estimating the remaining time." in early
    assert "Remaining time unknown: the source reports no file sizes." in unknown
    assert "No progress for 5 minutes. Another worker takes over." in stale_page
    for page in (queued, listing, early, unknown, stale_page):
        assert "left." not in page


def test_a_member_cancels_a_sync(cast: Cast) -> None:
    connection = connect(cast)
    waiting = sync_of(cast, connection)
    client = signed_in(cast.member)

    canceled = client.post(f"{LIST}syncs/{waiting.pk}/cancel/", follow=True)
    too_late = client.post(f"{LIST}syncs/{waiting.pk}/cancel/", follow=True)
    with account_scope(cast.account):
        sync = services.queue_sync(connection=connection, actor=cast.actor)
    running(cast, sync)
    canceling = client.post(f"{LIST}syncs/{sync.pk}/cancel/", follow=True)

    assert "Canceled Nothing was imported" in text_of(canceled)
    assert "can no longer be canceled" in text_of(too_late)
    assert "Canceling" in text_of(canceling)
    assert "Cancel sync" not in text_of(canceling)


def test_the_syncs_of_a_source_are_listed_and_exported(cast: Cast) -> None:
    connection = connect(cast)
    sync_now(cast, connection)
    with closed_box():
        sync_now(cast, connection)
    client, url = signed_in(cast.viewer), f"{page_of(connection)}syncs/"

    page = get_page(client, url)
    failed = get_page(client, url, state="failed")
    rows = csv_rows(client.get(url, {"format": "csv"}))

    assert page.index("Manual Failed") < page.index("Manual Done")
    assert "Manual Done" not in failed
    assert [row["Status"] for row in rows] == ["failed", "done"]
    assert rows[1]["Imported"] == "2"


def test_a_source_of_uploads_has_no_syncs(cast: Cast) -> None:
    source = create_cost_source(account=cast.account, name="By hand", actor=cast.actor)
    client = signed_in(cast.member)

    assert client.get(f"{LIST}{source.pk}/syncs/").status_code == 404
    assert "By hand Upload" in get_page(client, LIST)
    assert "Sync now" not in get_page(client, f"{LIST}{source.pk}/")


def test_a_box_that_has_no_month_yet_is_no_failure(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BillBox, "bills", {})
    connection = connect(cast)

    page = page_of_sync(signed_in(cast.viewer), sync_now(cast, connection))

    assert "Done No data yet" in page
    assert "The source has no billing months." in page
