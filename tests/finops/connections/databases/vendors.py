"""Set-ups of the connectors of warehouses that work, each with the warehouse behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from finops.connections import services
from finops.connections.connector import CheckFinding
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.databases.warehouse import (
    Warehouse,
    serve_bigquery,
    serve_databricks,
    serve_snowflake,
)
from tests.finops.connections.replay_server import ReplayServer


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


KEY = _private_key()
ACCOUNT = {
    "type": "service_account",
    "client_email": "finops@shop.iam.gserviceaccount.com",
    "project_id": "shop",
    "private_key": KEY,
    "private_key_id": "1",
}


@dataclass
class Vendor:
    """A connector with a set-up that works, and the warehouse behind it."""

    name: str
    values: dict[str, Any]
    warehouse: Warehouse
    server: ReplayServer

    def findings(self, cast: Cast, **changes: object) -> list[CheckFinding]:
        return services.check_config(
            account=cast.account, connector=self.name, values={**self.values, **changes}
        )

    def connect(self, cast: Cast, **changes: object) -> CostConnection:
        return services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name="Warehouse",
            connector=self.name,
            values={**self.values, **changes},
        )


FOCUS_VIEW = "shop.billing.focus"


def bigquery_vendor(
    server: ReplayServer,
    tables: Mapping[str, str] | None = None,
    table: str = FOCUS_VIEW,
    page_rows: int = 2,
) -> Vendor:
    warehouse = Warehouse("bigquery", tables or {FOCUS_VIEW: "lines"})
    serve_bigquery(server, warehouse, page_rows)
    return Vendor("bigquery", {"table": table, "key": json.dumps(ACCOUNT)}, warehouse, server)


def snowflake_vendor(server: ReplayServer) -> Vendor:
    warehouse = Warehouse("snowflake", {"SNOWFLAKE.BILLING.FOCUS_COST_USAGE_V1_3": "lines"})
    serve_snowflake(server, warehouse)
    values = {"account": "acme-prod", "user": "finops", "private_key": KEY, "warehouse": "FINOPS"}
    return Vendor("snowflake", values, warehouse, server)


def databricks_vendor(server: ReplayServer) -> Vendor:
    warehouse = Warehouse("databricks", {"main.billing.focus": "lines"})
    serve_databricks(server, warehouse)
    values = {
        "host": "https://dbc-1.cloud.databricks.com",
        "warehouse_id": "1a2b",
        "client_id": "app",
        "client_secret": "dose of secrets",
        "view": "main.billing.focus",
    }
    return Vendor("databricks", values, warehouse, server)
