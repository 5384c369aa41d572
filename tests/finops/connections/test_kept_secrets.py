"""A stored secret goes to the server that it was entered for. Who may edit a connection, but does not know its secret, must not get
it by a server of her own."""

from __future__ import annotations

import html
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.configs import RECEIVER_FIELDS
from finops.connections.connector import Configurable, public_fields, secret_fields
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection
from finops.data_exports.destinations import destinations
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.finops.connections.replay_server import ReplayServer

VALUES = {"query": "sum by (tenant) (x)", "customer_label": "tenant", "metric": "requests"}


@pytest.fixture
def connection(cast: Cast) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Prometheus",
        connector="prometheus",
        values={**VALUES, "url": "https://prometheus.example.com", "token": "t0ken"},
    )


def change(cast: Cast, connection: CostConnection, **values: Any) -> CostConnection:
    return services.change_connection(
        connection=connection,
        actor=cast.actor,
        values={**VALUES, **values},
        interval_minutes=connection.interval_minutes,
        first_month=None,
    )


def test_a_test_and_a_change_ask_for_the_secret_again(
    cast: Cast, connection: CostConnection, replay: ReplayServer
) -> None:
    member, page = signed_in(cast.member), f"/a/acme/connections/usage/{connection.usage_source_id}/edit/"
    form = {**VALUES, "url": replay.url, "token": "", "step": "day", "interval_minutes": "60"}

    tested = member.post(f"{page}test/", form)
    saved = member.post(page, form)

    for answer in (tested, saved):
        assert "Enter 'Bearer token' again: 'Address' has changed." in html.unescape(answer.content.decode())
    assert replay.requests == []
    with account_scope(cast.account):
        assert CostConnection.objects.get().config["url"] == "https://prometheus.example.com"


def test_with_its_secret_it_is_led_elsewhere_and_without_other_settings_change(
    cast: Cast, connection: CostConnection
) -> None:
    same = change(cast, connection, url="https://prometheus.example.com", metric="calls")
    moved = change(cast, same, url="https://metrics.example.com", token="other")
    bare = change(cast, moved, url="https://public.example.com", token=None)

    assert [row.config["url"] for row in (same, moved, bare)] == [
        *("https://prometheus.example.com", "https://metrics.example.com", "https://public.example.com")
    ]
    assert bare.credentials == ""


KINDS = [*connectors().values(), *destinations().values()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{type(kind).__module__}".rpartition(".")[2])
def test_every_field_that_names_a_server_is_one_that_asks_for_secrets_again(kind: Configurable) -> None:
    """A new kind with a field that sounds like one joins RECEIVER_FIELDS."""
    parts = {"host", "url", "endpoint", "server", "address", "port", "domain"}
    names = set(public_fields(kind.Config)) if secret_fields(kind.Config) else set()
    sounding = {name for name in names if parts & set(name.split("_"))}

    assert sounding <= RECEIVER_FIELDS


def test_another_account_at_the_vendor_is_another_server(cast: Cast) -> None:
    values = {"user": "FINOPS", "warehouse": "W", "private_key": "k" * 100}
    with pytest.raises(UserError, match="Enter 'Private key' again"):
        services.check_config(
            account=cast.account,
            connector="snowflake",
            values={**values, "account": "evil-1", "private_key": ""},
            connection=services.create_connection(
                account=cast.account,
                actor=cast.actor,
                name="Snowflake",
                connector="snowflake",
                values={**values, "account": "acme-1"},
            ),
        )
