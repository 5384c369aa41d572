"""Lumenly on AWS: machine pools, containers, functions, networks and their monitoring; databases, buckets for each customer,
queues, search, caches, and the old warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from finops.demo.company import CUSTOMER_MISSPELT, CUSTOMERS, CUSTOMERS_IN_EUROPE, DemoCustomer
from finops.demo.lines import ResourceLine, line, tags_for

aws_line = partial(line, "aws")
aws_tags = partial(tags_for, "aws")

# pool: sku, account, region, machines at volume 1, machines at most, shape, volume type, GB a machine, team, service
_POOLS = (
    ("web-us", "m6i.2xlarge", "prod", "us-east-1", 15, 44, "traffic", "ebs.gp3", 80, "platform", "web"),
    ("web-eu", "m6i.2xlarge", "prod", "eu-west-1", 7, 22, "traffic", "ebs.gp3", 80, "platform", "web"),
    ("api-us", "c6i.4xlarge", "prod", "us-east-1", 9, 28, "traffic", "ebs.gp3", 60, "platform", "api"),
    ("worker-us", "c6i.4xlarge", "prod", "us-east-1", 6, 18, "volume", "ebs.gp3", 100, "payments", "billing-worker"),
    ("kafka-us", "r6i.2xlarge", "prod", "us-east-1", 6, 6, "always", "ebs.gp3", 2000, "data", "event-bus"),
    ("indexer-us", "r6i.2xlarge", "prod", "us-east-1", 6, 18, "volume", "ebs.gp2", 500, "search", "indexer"),
    ("legacy-reports", "m4.xlarge", "prod", "us-east-1", 5, 5, "always", "ebs.gp2", 300, "growth", "reports"),
    ("legacy-mail", "c4.2xlarge", "shared", "us-east-1", 2, 2, "always", "ebs.gp2", 200, "growth", "mailer"),
    ("mesh-eu", "m7g.large", "prod", "eu-west-1", 4, 12, "volume", "ebs.gp3", 40, "platform", "mesh"),
    ("staging-web", "m6i.xlarge", "staging", "us-east-1", 5, 5, "always", "ebs.gp3", 60, "platform", "web"),
    ("dev-web", "t3.large", "dev", "us-east-1", 12, 12, "office", "ebs.gp3", 50, "platform", "web"),
    ("dev-search", "m6i.2xlarge", "dev", "us-east-1", 4, 4, "always", "ebs.gp2", 400, "search", "indexer"),
    ("dev-payments", "t3.large", "dev", "us-west-2", 6, 6, "always", "ebs.gp2", 100, "payments", "billing-worker"),
    ("invoice-run", "spot.c6i.4xlarge", "prod", "us-east-1", 8, 26, "month_end", "ebs.gp3", 0, "payments", "invoicing"),
    ("ci-runners", "c6i.2xlarge", "shared", "us-west-2", 6, 20, "people", "ebs.gp3", 200, "platform", "ci"),
)  # fmt: skip

_ENV = {"prod": "prod", "shared": "prod", "staging": "staging", "dev": "dev"}


class _Pool(NamedTuple):
    name: str
    sku: str
    account: str
    region: str
    size: int
    most: int
    shape: str
    volume: str
    gigabytes: int
    team: str
    service: str


def _machines(pool: _Pool) -> Iterator[ResourceLine]:
    steady = pool.shape in ("always", "office")
    for rank in range(pool.most):
        name = f"{pool.name}-{rank:02}"
        tags = aws_tags(
            name, team=pool.team, env=_ENV[pool.account], service=pool.service, deployer="terraform-ci"
        )
        # Disks stay while a schedule turns their machine off.
        parts = [(pool.sku, pool.shape, 24.0, float(pool.size))]
        if pool.gigabytes:
            shape, size = ("always", 0.0) if steady else (pool.shape, float(pool.size))
            parts.append((pool.volume, shape, pool.gigabytes / 30.4, size))
        if pool.account == "prod" and pool.service in ("web", "api"):
            parts.append(("ec2.egress", "traffic", 14.0, float(pool.size)))
        for sku, shape, base, size in parts:
            yield aws_line(sku, pool.account, pool.region, name, shape, base, tags, workload=pool.name,
                           pool_size=size, rank=rank)  # fmt: skip


# ECS services: name, account, region, vCPU at volume 1, team
_SERVICES = (
    ("checkout", "prod", "us-east-1", 22, "payments"),
    ("ledger", "prod", "us-east-1", 16, "payments"),
    ("payments-api", "prod", "us-east-1", 18, "payments"),
    ("query-api", "prod", "us-east-1", 30, "search"),
    ("suggest", "prod", "us-east-1", 12, "search"),
    ("notify", "prod", "us-east-1", 8, "growth"),
    ("onboarding", "prod", "us-east-1", 6, "growth"),
    ("export", "prod", "us-east-1", 14, "data"),
    ("identity", "prod", "us-east-1", 10, "security"),
    ("identity-eu", "prod", "eu-west-1", 5, "security"),
    ("query-api-eu", "prod", "eu-west-1", 13, "search"),
    ("checkout-staging", "staging", "us-east-1", 4, "payments"),
    ("query-api-staging", "staging", "us-east-1", 4, "search"),
    ("preview-envs", "dev", "us-east-1", 12, "platform"),
)
_FUNCTIONS = (
    ("thumbnailer", "growth", 40), ("webhook-in", "payments", 120), ("webhook-out", "payments", 95),
    ("pdf-render", "growth", 60), ("audit-trail", "security", 70), ("usage-meter", "data", 160),
    ("email-parse", "growth", 22), ("virus-scan", "security", 35), ("geo-ip", "search", 80),
    ("tax-calc", "payments", 18), ("fx-rates", "payments", 4), ("search-warmup", "search", 15),
    ("session-gc", "platform", 9), ("image-proxy", "growth", 130), ("cdn-log-split", "data", 55),
    ("trial-expiry", "growth", 3), ("slack-bridge", "platform", 11), ("feature-flags", "platform", 140),
    ("key-rotation", "security", 2), ("report-cron", "growth", 13),
)  # fmt: skip


def _containers() -> Iterator[ResourceLine]:
    for name, account, region, vcpu, team in _SERVICES:
        shape = {"dev": "always", "staging": "always"}.get(account, "traffic")
        tags = aws_tags(
            name, team=team, env=_ENV[account], service=name.split("-staging")[0], deployer="argo"
        )
        yield aws_line("fargate.vcpu", account, region, name, shape, vcpu * 24, tags)
        yield aws_line("fargate.memory", account, region, name, shape, vcpu * 48, tags)
        for sku, base in (("watch.ingest", vcpu * 0.9), ("watch.storage", vcpu * 9.0)):
            grows = "stored" if sku == "watch.storage" else shape
            yield aws_line(sku, account, region, f"logs-{name}", grows, base, tags)
    for account, region in (("prod", "us-east-1"), ("prod", "eu-west-1"), ("dev", "us-east-1")):
        tags = aws_tags(f"eks-{account}", team="platform", env=_ENV[account], service="kubernetes")
        yield aws_line("eks.cluster", account, region, f"eks-{account}", "always", 24, tags)
    for name, team, load in _FUNCTIONS:
        tags = aws_tags(name, team=team, env="prod", service=name, deployer="serverless-deploy")
        yield aws_line("lambda.requests", "prod", "us-east-1", name, "traffic", load * 0.12, tags)
        yield aws_line("lambda.duration", "prod", "us-east-1", name, "traffic", load * 8.0, tags)


def _network() -> Iterator[ResourceLine]:
    for account, region, zones in (
        ("prod", "us-east-1", "abc"),
        ("prod", "eu-west-1", "ab"),
        ("dev", "us-east-1", "a"),
    ):
        for zone in zones:
            name = f"nat-{account}-{zone}" if region == "us-east-1" else f"nat-eu-{zone}"
            tags = aws_tags(name, team="platform", env=_ENV[account], service="network")
            traffic = 620.0 if account == "prod" else 60.0
            yield aws_line("nat.hours", account, region, name, "always", 24, tags, workload=f"{name}-hours")
            yield aws_line("nat.bytes", account, region, name, "traffic", traffic, tags)
    for name, account, region, load in (
        ("lb-web-us", "prod", "us-east-1", 900.0), ("lb-web-eu", "prod", "eu-west-1", 420.0),
        ("lb-api-us", "prod", "us-east-1", 1300.0), ("lb-staging", "staging", "us-east-1", 30.0),
        ("lb-old-campaign", "prod", "us-west-2", 0.0),
    ):  # fmt: skip
        tags = aws_tags(name, team="platform", env=_ENV[account], service="edge")
        yield aws_line("elb.hours", account, region, name, "always", 24, tags)
        yield aws_line("ipv4", account, region, name, "always", 72, tags)
        yield aws_line("elb.lcu", account, region, name, "traffic", load, tags)
        yield aws_line("ec2.cross-az", account, region, name, "traffic", load * 2, tags)
    for name, load in (("cdn-app", 1100.0), ("cdn-assets", 1900.0), ("cdn-docs", 90.0)):
        tags = aws_tags(name, team="growth", env="prod", service="cdn")
        yield aws_line("cloudfront.egress", "prod", "global", name, "traffic", load, tags)
        yield aws_line("cloudfront.https", "prod", "global", name, "traffic", load * 8, tags)


def _guards() -> Iterator[ResourceLine]:
    for account in ("prod", "staging", "dev", "data", "shared"):
        tags = aws_tags(
            f"security-{account}", team="security", env=_ENV.get(account, "prod"), service="guard"
        )
        load = 9.0 if account == "prod" else 1.5
        yield aws_line("guardduty", account, "us-east-1", f"detector-{account}", "volume", load, tags)
        yield aws_line("kms", account, "us-east-1", f"kms-{account}", "traffic", load * 40, tags)
        yield aws_line("secrets", account, "us-east-1", f"secrets-{account}", "volume", load / 4, tags)
        yield aws_line("watch.metrics", account, "us-east-1", f"metrics-{account}", "volume", load * 5, tags)
        yield aws_line("route53", account, "global", f"zone-{account}", "traffic", load * 2, tags)
    tags = aws_tags("waf-edge", team="security", env="prod", service="edge")
    yield aws_line("waf", "prod", "us-east-1", "waf-edge", "traffic", 90, tags)
    sandbox = {"aws:createdBy": "IAMUser:AIDA5LUMENLYLUCAS:lucas.martin"}
    yield aws_line("p4d.24xlarge", "sandbox", "us-west-2", "gpu-sandbox", "people", 0.6, sandbox)
    yield aws_line("ebs.io1", "sandbox", "us-west-2", "gpu-sandbox-scratch", "always", 2000 / 30.4, sandbox)


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


def _customer_tag(customer: DemoCustomer) -> str:
    return CUSTOMER_MISSPELT.get(customer.id, customer.id)


def _customers() -> Iterator[ResourceLine]:
    """Resources of one customer: a bucket each, and for the larger ones a database and tables of their own."""
    for customer in CUSTOMERS:
        name = f"tenant-{customer.id}"
        tags = aws_tags(
            name, team="platform", env="prod", service="tenant-storage", customer=_customer_tag(customer)
        )
        region = "eu-west-1" if customer.id in CUSTOMERS_IN_EUROPE else "us-east-1"
        yield aws_line("s3.standard", "prod", region, name, "stored", 9_000 * customer.weight / 30.4, tags)
        yield aws_line("s3.put", "prod", region, name, "traffic", 1_500 * customer.weight, tags)
        yield aws_line("s3.get", "prod", region, name, "traffic", 12_000 * customer.weight, tags)
        if customer.dedicated:
            yield from _dedicated_lines(customer, region)


def _dedicated_lines(customer: DemoCustomer, region: str) -> Iterator[ResourceLine]:
    name, tag = f"db-{customer.id}", _customer_tag(customer)
    tags = aws_tags(name, team="platform", env="prod", service="tenant-db", customer=tag)
    yield aws_line("rds.r6g.large", "prod", region, name, "always", 24, tags)
    yield aws_line("rds.gp3", "prod", region, name, "stored", 1200 * customer.weight / 30.4, tags)
    yield aws_line("rds.backup", "prod", region, name, "stored", 900 * customer.weight / 30.4, tags)
    table = f"events-{customer.id}"
    tags = aws_tags(table, team="data", env="prod", service="tenant-events", customer=tag)
    yield aws_line("dynamo.write", "prod", region, table, "traffic", 30 * customer.weight, tags)
    yield aws_line("dynamo.read", "prod", region, table, "traffic", 90 * customer.weight, tags)
    yield aws_line("dynamo.storage", "prod", region, table, "stored", 700 * customer.weight / 30.4, tags)


def _databases() -> Iterator[ResourceLine]:
    for name, account, region, count, gigabytes, team in _DATABASES:
        tags = aws_tags(name, team=team, env="prod", service="database", deployer="terraform-ci")
        for number in range(count):
            yield aws_line("rds.r6g.2xlarge", account, region, f"{name}-{number}", "always", 24, tags)
        yield aws_line("rds.gp3", account, region, name, "stored", gigabytes / 30.4, tags)
        yield aws_line("rds.backup", account, region, name, "stored", gigabytes * 1.4 / 30.4, tags)
    for name, sku, account, storage, gigabytes, team in _SMALL_DATABASES:
        env = account if account in ("staging", "dev") else "prod"
        tags = aws_tags(name, team=team, env=env, service="database")
        yield aws_line(sku, account, "us-east-1", name, "always", 24, tags)
        yield aws_line(storage, account, "us-east-1", name, "stored", gigabytes / 30.4, tags)


def _stores() -> Iterator[ResourceLine]:
    for name, account, gigabytes, team in _BUCKETS:
        env = "dev" if account == "dev" else "prod"
        tags = aws_tags(f"lumenly-{name}", team=team, env=env, service="storage")
        sku = "s3.ia" if "archive" in name else "s3.standard"
        yield aws_line(sku, account, "us-east-1", f"lumenly-{name}", "stored", gigabytes / 30.4, tags)
        yield aws_line("s3.put", account, "us-east-1", f"lumenly-{name}", "traffic", gigabytes * 0.02, tags)
        yield aws_line("s3.get", account, "us-east-1", f"lumenly-{name}", "traffic", gigabytes * 0.2, tags)
    for name, team, load in _TABLES:
        tags = aws_tags(name, team=team, env="prod", service=name)
        yield aws_line("dynamo.write", "prod", "us-east-1", name, "traffic", load, tags)
        yield aws_line("dynamo.read", "prod", "us-east-1", name, "traffic", load * 4, tags)
        yield aws_line("dynamo.storage", "prod", "us-east-1", name, "stored", load / 2, tags)
    for name in _QUEUES:
        tags = aws_tags(f"queue-{name}", team="platform", env="prod", service=name)
        yield aws_line("sqs", "prod", "us-east-1", f"queue-{name}", "traffic", 18, tags)
    for account, gigabytes in (("prod", 21_000), ("data", 8_000), ("dev", 4_000)):
        tags = aws_tags(f"snapshots-{account}", team="platform", env=account, service="backup")
        yield aws_line(
            "ebs.snapshot", account, "us-east-1", f"snapshots-{account}", "stored", gigabytes / 30.4, tags
        )
        yield aws_line("backup", account, "us-east-1", f"vault-{account}", "stored", gigabytes / 60, tags)


def _analytics() -> Iterator[ResourceLine]:
    search = aws_tags("search-cluster", team="search", env="prod", service="search")
    for number in range(6):
        node = f"search-node-{number}"
        yield aws_line("opensearch.r6g", "prod", "us-east-1", node, "always", 24, search)
        yield aws_line("opensearch.gp2", "prod", "us-east-1", node, "stored", 800 / 30.4, search)
    for number in range(10):
        name = f"cache-{number:02}"
        tags = aws_tags("cache", team="platform", env="prod", service="cache")
        yield aws_line("cache.r6g", "prod", "us-east-1", name, "always", 24, tags)
    warehouse = aws_tags("warehouse", team="data", env="prod", service="warehouse", deployer="airflow")
    yield aws_line("redshift.ra3", "data", "us-east-1", "warehouse", "leaving", 168, warehouse)
    yield aws_line("redshift.storage", "data", "us-east-1", "warehouse", "leaving", 52_000 / 30.4, warehouse)
    for job in ("sessionize", "dedupe", "invoice-facts", "churn-features", "log-compact"):
        tags = aws_tags(f"glue-{job}", team="data", env="prod", service="etl", deployer="airflow")
        yield aws_line("glue", "data", "us-east-1", f"glue-{job}", "volume", 38, tags)
    tags = aws_tags("emr-month-end", team="data", env="prod", service="revenue-report", deployer="airflow")
    yield aws_line("emr", "data", "us-east-1", "emr-month-end", "month_end", 900, tags)
    yield aws_line("m6i.2xlarge", "data", "us-east-1", "emr-month-end", "month_end", 900, tags)


def lines() -> Iterator[ResourceLine]:
    for spec in _POOLS:
        yield from _machines(_Pool(*spec))
    yield from _containers()
    yield from _network()
    yield from _guards()
    yield from _customers()
    yield from _databases()
    yield from _stores()
    yield from _analytics()
