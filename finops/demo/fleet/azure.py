"""Lumenly's EU product on Azure, billed to the German company in euros."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from finops.demo.company import CUSTOMERS
from finops.demo.lines import ResourceLine, line, tags_for

azure_line = partial(line, "azure")
azure_tags = partial(tags_for, "azure")
_PROD, _HOME, _SECOND = "eu-prod", "germanywestcentral", "westeurope"


def _machines() -> Iterator[ResourceLine]:
    for name, sku, account, size, most, shape, team, service in (
        ("euapp", "az.d4s", _PROD, 8, 8, "always", "platform", "web"),
        ("euworker", "az.d8s", _PROD, 3, 10, "traffic", "payments", "billing-worker"),
        ("eulegacy", "az.d2v2", _PROD, 4, 4, "always", "growth", "reports"),
        ("eudev", "az.d4s", "eu-nonprod", 5, 5, "always", "platform", "web"),
        ("eutest", "az.d8s", "eu-nonprod", 3, 3, "office", "search", "indexer"),
    ):
        env = "prod" if account == _PROD else "dev"
        for rank in range(most):
            machine = f"{name}-{rank:02}"
            tags = azure_tags(machine, team=team, env=env, service=service)
            yield azure_line(sku, account, _HOME, machine, shape, 24.0, tags, workload=name,
                             pool_size=float(size), rank=rank)  # fmt: skip
            yield azure_line("az.disk", account, _HOME, f"{machine}-os", "always", 1 / 30.4, tags)


def _data() -> Iterator[ResourceLine]:
    for name, account, vcores, gigabytes, team in (
        ("eu-app-db", _PROD, 16, 1800, "platform"),
        ("eu-ledger-db", _PROD, 8, 900, "payments"),
        ("eu-dev-db", "eu-nonprod", 4, 200, "platform"),
    ):
        env = "prod" if account == _PROD else "dev"
        tags = azure_tags(name, team=team, env=env, service="database")
        yield azure_line("az.sql", account, _HOME, name, "always", vcores * 24, tags)
        yield azure_line("az.sql.storage", account, _HOME, name, "stored", gigabytes / 30.4, tags)
    tags = azure_tags("cosmos-eu", team="search", env="prod", service="catalog")
    yield azure_line("az.cosmos", _PROD, _HOME, "cosmos-eu", "traffic", 6500, tags)
    yield azure_line("az.cosmos", _PROD, _SECOND, "cosmos-eu-replica", "traffic", 1800, tags)
    for name, gigabytes, team in (
        ("eubackups", 24_000, "platform"), ("euexports", 6_000, "data"), ("eulogs", 15_000, "security"),
        ("euuploads", 31_000, "growth"),
    ):  # fmt: skip
        tags = azure_tags(name, team=team, env="prod", service="storage")
        yield azure_line("az.blob", _PROD, _HOME, name, "stored", gigabytes / 30.4, tags)
        yield azure_line("az.blob.ops", _PROD, _HOME, name, "traffic", gigabytes * 0.01, tags)
    for customer in CUSTOMERS[::4]:
        name = f"eutenant-{customer.id}"
        tags = azure_tags(name, team="platform", env="prod", service="tenant-storage", customer=customer.id)
        yield azure_line("az.blob", _PROD, _HOME, name, "stored", 8_000 * customer.weight / 30.4, tags)


def _platform() -> Iterator[ResourceLine]:
    for name, account in (("aks-eu", _PROD), ("aks-eu-dev", "eu-nonprod")):
        env = "prod" if account == _PROD else "dev"
        tags = azure_tags(name, team="platform", env=env, service="kubernetes")
        yield azure_line("az.aks", account, _HOME, name, "always", 24, tags)
        yield azure_line(
            "az.monitor", account, _HOME, f"logs-{name}", "traffic", 26 if env == "prod" else 7, tags
        )
        yield azure_line("az.keyvault", account, _HOME, f"kv-{name}", "traffic", 40, tags)
        yield azure_line(
            "az.bandwidth", account, _HOME, f"vnet-{name}", "traffic", 330 if env == "prod" else 9, tags
        )
    for name, team, load in (
        ("fn-dsr-export", "security", 300.0), ("fn-vat-check", "payments", 160.0), ("fn-mailer", "growth", 240.0),
    ):  # fmt: skip
        tags = azure_tags(name, team=team, env="prod", service=name)
        yield azure_line("az.functions", _PROD, _HOME, name, "traffic", load, tags)
    tags = azure_tags("gateway-eu", team="platform", env="prod", service="edge")
    yield azure_line("az.gateway", _PROD, _HOME, "gateway-eu", "traffic", 700, tags)


def lines() -> Iterator[ResourceLine]:
    yield from _machines()
    yield from _data()
    yield from _platform()
