"""A connector whose other side is in memory, with a field of every kind; and what pages of connections are tested with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Meta

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import (
    AccessError,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
)
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection, CostSync
from finops.connections.services import interactive_calls
from finops.costs.focus.normalise import FocusFile
from tests.cast import Cast
from tests.finops.costs.test_imports import MAY, MAY_RESTATED

KEY = "hush-hush-key"
NEW = "/a/acme/connections/new/?connector=bill_box"
JUNE = MAY.replace("2026-05", "2026-06")


class BillBoxConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A box and its key."""

    box: Annotated[
        str,
        Meta(title="Box", description="Name.", examples=["bills"], pattern="^[a-z-]+$", max_length=40),
    ]
    key: Annotated[SecretText, Meta(title="API key")]
    certificate: Annotated[SecretText, Meta(title="Certificate", max_length=9_000)] = ""
    region: Annotated[Literal["eu_west", "us-east-1"], Meta(title="Region")] = "eu_west"
    pages: Annotated[int, Meta(title="Pages", ge=1, le=9)] = 3
    with_tax: Annotated[bool, Meta(title="With tax")] = True
    folders: Annotated[tuple[str, ...], Meta(title="Folders", description="One a line.")] = ()


class BillBox(Connector[BillBoxConfig]):
    """`bills` are the files of each month; `is_open` whether the key is taken."""

    name = "bill_box"
    title = "Bill box"
    provider = "Boxes"
    icon = "box"
    description = "Bills in a box"
    docs_url = "https://docs.example/boxes"
    Config = BillBoxConfig

    bills: ClassVar[dict[date, str]] = {}
    is_open: ClassVar[bool] = True
    configs: ClassVar[list[BillBoxConfig]] = []

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        policy = f'{{"sts:ExternalId": "{external_id}"}}'
        return [
            SetupStep("Create a role", "Paste its trust policy.", policy, "json"),
            SetupStep("Copy the key"),
        ]

    def check(self, config: BillBoxConfig) -> list[CheckFinding]:
        self.configs.append(config)
        readable = CheckFinding(
            f"Read box {config.box}", self.is_open, "" if self.is_open else "Grant box:Read to the key."
        )
        return [CheckFinding("Reach the box", is_ok=True), readable]

    def months(self, config: BillBoxConfig) -> list[BillMonth]:
        if not self.is_open:
            raise AccessError("The box refused the key. Grant box:Read to it.")
        return [
            BillMonth(month, sha256(text.encode()).hexdigest(), len(text))
            for month, text in self.bills.items()
        ]

    def fetch(self, config: BillBoxConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        path = fetch.folder / f"{month.month:%Y-%m}.csv"
        path.write_text(self.bills[month.month])
        fetch.progress(month.bytes)
        return [FocusFile(path, path.name)]


@pytest.fixture
def bill_box(monkeypatch: pytest.MonkeyPatch) -> type[BillBox]:
    """Among the connectors, with two months."""
    registry: Any = connectors()
    monkeypatch.setitem(registry, "bill_box", BillBox())
    monkeypatch.setattr(BillBox, "bills", {date(2026, 5, 1): MAY, date(2026, 6, 1): JUNE})
    monkeypatch.setattr(BillBox, "configs", [])
    # A process of its own would note the configs in its own memory.
    monkeypatch.setattr(
        interactive_calls,
        "check_in_child",
        lambda connector, config, account: interactive_calls.check(connector, config),
    )
    return BillBox


@contextmanager
def closed_box() -> Iterator[None]:
    """Meanwhile the key is refused."""
    BillBox.is_open = False
    try:
        yield
    finally:
        BillBox.is_open = True


def restate_may() -> None:
    BillBox.bills[date(2026, 5, 1)] = MAY_RESTATED


FORM = {
    "name": "Boxes of Acme",
    "box": "bills",
    "key": KEY,
    "region": "eu_west",
    "pages": "3",
    "with_tax": "on",
    "interval_minutes": "60",
}
"""What a person enters."""


def connect(cast: Cast, name: str = "Boxes of Acme") -> CostConnection:
    """A connection whose first sync waits."""
    values = {"box": "bills", "key": KEY}
    return services.create_connection(
        account=cast.account, actor=cast.actor, name=name, connector="bill_box", values=values
    )


def sync_now(cast: Cast, connection: CostConnection) -> CostSync:
    """Run the sync that waits, or else one that is queued now."""
    with account_scope(cast.account):
        waiting = CostSync.objects.filter(connection=connection, status="queued").first()
        sync = waiting or services.queue_sync(connection=connection, actor=cast.actor)
    services.run_sync(sync.pk)
    with account_scope(cast.account):
        return CostSync.objects.get(pk=sync.pk)
