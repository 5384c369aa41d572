"""Connections: made, changed and paused; secrets are sealed and never come out."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.configs import new_external_id
from finops.connections.connector import AccessError
from finops.connections.models import CostConnection, CostSync, SyncPeriod
from finops.connections.queries import connections_overview
from finops.connections.schedule import next_sync
from finops.costs.models import CostSource
from finops.costs.services import delete_cost_source
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.finops.connections.syncs.month_folders import NAME, MonthFolders
from tests.finops.connections.syncs.sync_steps import sync_now, write_month

pytestmark = pytest.mark.django_db
SECRET = "hunter2 and more"


def change(connection: CostConnection, cast: Cast, **values: object) -> CostConnection:
    return services.change_connection(
        connection=connection,
        actor=cast.actor,
        values={"folder": connection.config["folder"], **values},
        interval_minutes=60,
        first_month=None,
    )


def test_a_new_connection_has_a_source_and_its_first_sync_waits(
    cast: Cast, connection: CostConnection
) -> None:
    assert CostSource.objects.get().name == "Bills"
    sync = CostSync.objects.get()
    assert (sync.status, sync.trigger, sync.actor_user) == ("queued", "manual", cast.member)
    entry = AuditEntry.objects.get(action="cost_connection.create")
    assert (entry.target, entry.detail["connector"]) == ("Bills", NAME)


def test_secrets_are_sealed_and_in_no_log(cast: Cast, connection: CostConnection, export: Path) -> None:
    change(connection, cast, password="another of mine")
    write_month(export, "2026-05", "1")
    sync_now(connection)

    assert connection.config == {"folder": str(export), "depth": 1}
    stored = [str(row) for model in (CostConnection, CostSync, AuditEntry) for row in model.objects.values()]
    assert not any(secret in row for row in stored for secret in (SECRET, "another of mine"))
    assert SECRET not in repr(services.config_of(connection))


def test_sealed_secrets_do_not_open_in_another_account(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    with account_scope(cast.other_account):
        stolen = services.create_connection(
            account=cast.other_account,
            actor=cast.other_actor,
            name="Mine",
            connector=NAME,
            values={"folder": str(export)},
        )
        stolen.credentials = connection.credentials
        with pytest.raises(AccessError, match="Enter them again"):
            services.config_of(stolen)


@pytest.mark.parametrize(
    ("values", "field", "sentence"),
    [
        ({}, "folder", "Enter 'Folder'."),
        ({"folder": "  "}, "folder", "Enter 'Folder'."),
        (
            {"folder": "x" * 501},
            "folder",
            "Folder is not valid: expected str of length <= 500. For example: /exports",
        ),
        ({"folder": "/x", "depth": "9"}, "depth", "Depth is not valid: expected int <= 3."),
        ({"folder": "/x", "bucket": "b"}, "bucket", "Folders of months has no setting 'bucket'."),
    ],
)
def test_an_error_is_shown_at_its_field_and_nothing_is_made(
    cast: Cast, month_folders: type[MonthFolders], values: dict[str, object], field: str, sentence: str
) -> None:
    with pytest.raises(UserError) as error:
        services.create_connection(
            account=cast.account, actor=cast.actor, name="Bills", connector=NAME, values=values
        )
    assert (error.value.field, error.value.message) == (field, sentence)
    with account_scope(cast.account):
        assert not CostSource.objects.exists()


def test_an_unknown_connector_a_taken_name_and_a_wild_interval_are_refused(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    def create(**other: object) -> CostConnection:
        arguments = {"name": "New", "connector": NAME, "values": {"folder": str(export)}, **other}
        return services.create_connection(account=cast.account, actor=cast.actor, **arguments)  # type: ignore[arg-type]

    with pytest.raises(UserError, match="has no connector 'carrier_pigeon'"):
        create(connector="carrier_pigeon")
    with pytest.raises(ValidationError, match="A cost source with this name already exists"):
        create(name="Bills")
    with pytest.raises(ValidationError):
        create(interval_minutes=5)
    with pytest.raises(ValidationError):
        create(first_month=date(2026, 5, 2))
    assert CostConnection.objects.count() == 1


def test_an_external_id_is_of_the_account_that_it_was_made_for(
    cast: Cast, month_folders: type[MonthFolders], export: Path
) -> None:
    values = {"folder": str(export)}
    own_id = new_external_id(account=cast.account)
    row = services.create_connection(
        account=cast.account, actor=cast.actor, name="A", connector=NAME, values=values, external_id=own_id
    )
    assert services.config_of(row).external_id == row.external_id == own_id
    with pytest.raises(UserError, match="belongs to another account"):
        services.create_connection(
            account=cast.other_account,
            actor=cast.other_actor,
            name="B",
            connector=NAME,
            values=values,
            external_id=own_id,
        )


def test_an_external_id_that_somebody_enters_does_not_count(cast: Cast, connection: CostConnection) -> None:
    row = change(connection, cast, external_id="finops-of-somebody-else")
    assert services.config_of(row).external_id == connection.external_id
    assert "external_id" not in row.config


def test_an_empty_secret_keeps_the_stored_one_and_a_new_one_counts_from_the_next_sync(
    cast: Cast, connection: CostConnection, export: Path, month_folders: type[MonthFolders]
) -> None:
    write_month(export, "2026-05", "1")
    before = connection.credentials_changed_at
    row = change(connection, cast, password="")
    assert row.credentials_changed_at == before
    sync_now(connection)
    row = change(connection, cast, password="rotated")
    assert before is not None
    assert row.credentials_changed_at is not None
    assert row.credentials_changed_at > before
    sync = sync_now(row)

    assert [config.password for config in month_folders.seen] == [SECRET, "rotated"]
    assert sync.months_unchanged == 1, "another secret reads nothing again"
    entry = AuditEntry.objects.filter(action="cost_connection.change").latest("pk")
    assert entry.detail == {"fields": ["password"]}


def test_a_secret_that_is_taken_away_is_gone(cast: Cast, connection: CostConnection) -> None:
    row = change(connection, cast, password=None)
    assert row.credentials == ""


def test_another_setting_reads_every_month_again(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-05", "1")
    sync_now(connection)
    row = change(connection, cast, depth="2")
    assert sync_now(row).months_imported == 1
    entry = AuditEntry.objects.filter(action="cost_connection.change").latest("pk")
    assert entry.detail == {"fields": ["depth"]}


def test_secrets_of_a_server_key_that_is_gone_are_entered_again(
    cast: Cast, connection: CostConnection, settings: Settings, export: Path
) -> None:
    settings.SECRET_KEY = "another key of this server, long enough"
    sync = sync_now(connection)
    assert (sync.status, "Enter them again" in sync.error) == ("failed", True)
    row = change(connection, cast, password="again")
    assert sync_now(row).status == "done"


def test_a_check_tries_what_was_entered_and_keeps_nothing(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    findings = services.check_config(
        account=cast.account, connector=NAME, values={"folder": str(export / "none")}, connection=connection
    )
    assert [(each.is_ok, each.fix) for each in findings] == [(False, "Make the folder.")]
    connection.refresh_from_db()
    assert connection.config["folder"] == str(export)
    with pytest.raises(UserError, match="Enter 'Folder'"):
        services.check_config(account=cast.account, connector=NAME, values={})


def test_a_check_that_breaks_is_a_finding(
    cast: Cast, month_folders: type[MonthFolders], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(month_folders, "check", lambda *_: 1 / 0)
    findings = services.check_config(account=cast.account, connector=NAME, values={"folder": "/x"})
    assert [each.fix for each in findings] == [
        "The test failed with an internal error. Ask the operator to check the server log."
    ]


def test_pausing_ends_what_waits_and_resuming_is_due_at_once(cast: Cast, connection: CostConnection) -> None:
    services.pause_connection(connection=connection, actor=cast.actor)
    services.pause_connection(connection=connection, actor=cast.actor)
    assert CostSync.objects.get().status == "canceled"
    row = services.resume_connection(connection=connection, actor=cast.actor)
    assert row.next_sync_at <= clock.now()
    actions = AuditEntry.objects.filter(action__startswith="cost_connection").values_list("action", flat=True)
    assert sorted(actions) == ["cost_connection.create", "cost_connection.pause", "cost_connection.resume"]


def test_a_source_that_is_deleted_takes_its_connection_along(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, "2026-05", "1")
    sync_now(connection)
    delete_cost_source(source=connection.cost_source, actor=cast.actor)
    assert not any(model.objects.exists() for model in (CostConnection, CostSync, SyncPeriod))


def test_the_overview_says_how_each_connection_is(
    cast: Cast,
    connection: CostConnection,
    export: Path,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    def overview() -> tuple[str, str, int]:
        (each,) = connections_overview(cast.account)
        return each.status, each.last_error, each.months

    assert overview() == ("syncing", "", 0)
    write_month(export, "2026-05", "1")
    sync_now(connection)
    assert overview() == ("healthy", "", 1)
    (export / "2026-04").mkdir()
    (export / "2026-04" / "notes.csv").write_text("a,b\n1,2\n")
    sync_now(connection)
    status, error, months = overview()
    assert (status, error.startswith("2026-04: notes.csv"), months) == ("failing", True, 1)
    services.pause_connection(connection=connection, actor=cast.actor)
    assert overview()[0] == "paused"
    with django_assert_max_num_queries(2):
        connections_overview(cast.account)
    assert connections_overview(cast.other_account) == []


def test_connections_have_minutes_of_their_own() -> None:
    now = clock.now()
    times = {next_sync(number, 60, now) for number in range(200)}
    assert len(times) > 150
    assert all(1800 <= (each - now).total_seconds() <= 5400 for each in times)
    assert next_sync(7, 60, now) == next_sync(7, 60, now), "it stays the same"
