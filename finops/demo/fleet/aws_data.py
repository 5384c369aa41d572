"""Lumenly's data on AWS: databases, buckets a customer, queues, search, caches, and the old warehouse."""

from __future__ import annotations

from collections.abc import Iterator

from finops.demo.company import CUSTOMER_MISSPELT, CUSTOMERS, Customer
from finops.demo.lines import Line, line, tags_for

# database: account, region, instances, GB, team
_DATABASES = (
    ("app-primary", "prod", "us-east-1", 4, 3000, "platform"),
    ("app-eu", "prod", "eu-west-1", 2, 1400, "platform"),
    ("ledger-db", "prod", "us-east-1", 3, 2200, "payments"),
    ("identity-db", "prod", "us-east-1", 2, 300, "security"),
)
# not large enough for a reservation: sku, account, storage, GB, team
_SMALL_DATABASES = (
    ("reports-db", "rds.m4.large", "prod", "rds.gp2", 900, "growth"),
    ("crm-copy", "rds.m4.large", "shared", "rds.gp2", 400, "growth"),
    ("staging-db", "rds.r6g.large", "staging", "rds.gp3", 300, "platform"),
    ("dev-db", "rds.r6g.large", "dev", "rds.gp3", 200, "platform"),
    ("dev-ledger-db", "rds.r6g.large", "dev", "rds.gp2", 250, "payments"),
)
_BUCKETS = (
    ("raw-events", "data", 90_000, "data"), ("audit-archive", "shared", 60_000, "security"),
    ("db-backups", "shared", 42_000, "platform"), ("build-artifacts", "shared", 18_000, "platform"),
    ("ml-features", "data", 25_000, "ml"), ("web-assets", "prod", 900, "growth"),
    ("export-files", "prod", 7_000, "data"), ("old-uploads", "prod", 33_000, "growth"),
    ("dev-scratch", "dev", 9_000, "platform"), ("cloudtrail", "shared", 12_000, "security"),
)  # fmt: skip
_TABLES = (
    ("sessions", "platform", 24.0), ("carts", "payments", 12.0), ("idempotency", "payments", 17.0),
    ("suggestions", "search", 15.0), ("flags", "platform", 8.0), ("trial-state", "growth", 3.0),
)  # fmt: skip
_QUEUES = ("billing", "export", "email", "webhook", "indexing", "thumbnail", "audit", "usage")


def _customer_tag(customer: Customer) -> str:
    return CUSTOMER_MISSPELT.get(customer.id, customer.id)


def _customers() -> Iterator[Line]:
    """What belongs to one customer: a bucket each, and for the larger ones a database and tables of their own."""
    for customer in CUSTOMERS:
        name = f"tenant-{customer.id}"
        tags = tags_for(
            "aws",
            name,
            team="platform",
            env="prod",
            service="tenant-storage",
            customer=_customer_tag(customer),
        )
        region = (
            "eu-west-1" if customer.id in ("cust-003", "cust-006", "cust-014", "cust-022") else "us-east-1"
        )
        yield line("aws", "s3.standard", "prod", region, name, "stored", 9_000 * customer.weight / 30.4, tags)
        yield line("aws", "s3.put", "prod", region, name, "traffic", 1_500 * customer.weight, tags)
        yield line("aws", "s3.get", "prod", region, name, "traffic", 12_000 * customer.weight, tags)
        if customer.dedicated:
            yield from _dedicated_lines(customer, region)


def _dedicated_lines(customer: Customer, region: str) -> Iterator[Line]:
    name, tag = f"db-{customer.id}", _customer_tag(customer)
    tags = tags_for("aws", name, team="platform", env="prod", service="tenant-db", customer=tag)
    yield line("aws", "rds.r6g.large", "prod", region, name, "always", 24, tags)
    yield line("aws", "rds.gp3", "prod", region, name, "stored", 1200 * customer.weight / 30.4, tags)
    yield line("aws", "rds.backup", "prod", region, name, "stored", 900 * customer.weight / 30.4, tags)
    table = f"events-{customer.id}"
    tags = tags_for("aws", table, team="data", env="prod", service="tenant-events", customer=tag)
    yield line("aws", "dynamo.write", "prod", region, table, "traffic", 30 * customer.weight, tags)
    yield line("aws", "dynamo.read", "prod", region, table, "traffic", 90 * customer.weight, tags)
    yield line("aws", "dynamo.storage", "prod", region, table, "stored", 700 * customer.weight / 30.4, tags)


def _databases() -> Iterator[Line]:
    for name, account, region, count, gigabytes, team in _DATABASES:
        tags = tags_for("aws", name, team=team, env="prod", service="database", deployer="terraform-ci")
        for number in range(count):
            yield line("aws", "rds.r6g.2xlarge", account, region, f"{name}-{number}", "always", 24, tags)
        yield line("aws", "rds.gp3", account, region, name, "stored", gigabytes / 30.4, tags)
        yield line("aws", "rds.backup", account, region, name, "stored", gigabytes * 1.4 / 30.4, tags)
    for name, sku, account, storage, gigabytes, team in _SMALL_DATABASES:
        env = account if account in ("staging", "dev") else "prod"
        tags = tags_for("aws", name, team=team, env=env, service="database")
        yield line("aws", sku, account, "us-east-1", name, "always", 24, tags)
        yield line("aws", storage, account, "us-east-1", name, "stored", gigabytes / 30.4, tags)


def _stores() -> Iterator[Line]:
    for name, account, gigabytes, team in _BUCKETS:
        env = "dev" if account == "dev" else "prod"
        tags = tags_for("aws", f"lumenly-{name}", team=team, env=env, service="storage")
        sku = "s3.ia" if "archive" in name else "s3.standard"
        yield line("aws", sku, account, "us-east-1", f"lumenly-{name}", "stored", gigabytes / 30.4, tags)
        yield line(
            "aws", "s3.put", account, "us-east-1", f"lumenly-{name}", "traffic", gigabytes * 0.02, tags
        )
        yield line("aws", "s3.get", account, "us-east-1", f"lumenly-{name}", "traffic", gigabytes * 0.2, tags)
    for name, team, load in _TABLES:
        tags = tags_for("aws", name, team=team, env="prod", service=name)
        yield line("aws", "dynamo.write", "prod", "us-east-1", name, "traffic", load, tags)
        yield line("aws", "dynamo.read", "prod", "us-east-1", name, "traffic", load * 4, tags)
        yield line("aws", "dynamo.storage", "prod", "us-east-1", name, "stored", load / 2, tags)
    for name in _QUEUES:
        tags = tags_for("aws", f"queue-{name}", team="platform", env="prod", service=name)
        yield line("aws", "sqs", "prod", "us-east-1", f"queue-{name}", "traffic", 18, tags)
    for account, gigabytes in (("prod", 21_000), ("data", 8_000), ("dev", 4_000)):
        tags = tags_for("aws", f"snapshots-{account}", team="platform", env=account, service="backup")
        yield line(
            "aws",
            "ebs.snapshot",
            account,
            "us-east-1",
            f"snapshots-{account}",
            "stored",
            gigabytes / 30.4,
            tags,
        )
        yield line("aws", "backup", account, "us-east-1", f"vault-{account}", "stored", gigabytes / 60, tags)


def _analytics() -> Iterator[Line]:
    search = tags_for("aws", "search-cluster", team="search", env="prod", service="search")
    for number in range(6):
        node = f"search-node-{number}"
        yield line("aws", "opensearch.r6g", "prod", "us-east-1", node, "always", 24, search)
        yield line("aws", "opensearch.gp2", "prod", "us-east-1", node, "stored", 800 / 30.4, search)
    for number in range(10):
        name = f"cache-{number:02}"
        tags = tags_for("aws", "cache", team="platform", env="prod", service="cache")
        yield line("aws", "cache.r6g", "prod", "us-east-1", name, "always", 24, tags)
    warehouse = tags_for("aws", "warehouse", team="data", env="prod", service="warehouse", deployer="airflow")
    yield line("aws", "redshift.ra3", "data", "us-east-1", "warehouse", "leaving", 168, warehouse)
    yield line(
        "aws", "redshift.storage", "data", "us-east-1", "warehouse", "leaving", 52_000 / 30.4, warehouse
    )
    for job in ("sessionize", "dedupe", "invoice-facts", "churn-features", "log-compact"):
        tags = tags_for("aws", f"glue-{job}", team="data", env="prod", service="etl", deployer="airflow")
        yield line("aws", "glue", "data", "us-east-1", f"glue-{job}", "volume", 38, tags)
    tags = tags_for(
        "aws", "emr-month-end", team="data", env="prod", service="revenue-report", deployer="airflow"
    )
    yield line("aws", "emr", "data", "us-east-1", "emr-month-end", "month_end", 900, tags)
    yield line("aws", "m6i.2xlarge", "data", "us-east-1", "emr-month-end", "month_end", 900, tags)


def lines() -> Iterator[Line]:
    yield from _customers()
    yield from _databases()
    yield from _stores()
    yield from _analytics()
