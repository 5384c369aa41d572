"""Lumenly's analytics and machine learning on Google Cloud, with the warehouse that was migrated from Redshift."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from finops.demo.company import CUSTOMERS
from finops.demo.lines import ResourceLine, line, tags_for

gcp_line = partial(line, "gcp")
gcp_tags = partial(tags_for, "gcp")
_HOME, _EU = "us-central1", "europe-west4"


def _machines() -> Iterator[ResourceLine]:
    for name, sku, account, size, most, shape, team, service, cores in (
        ("airflow", "gcp.n2", "analytics", 3, 3, "always", "data", "orchestration", 8),
        ("serving", "gcp.n2", "ml", 5, 16, "traffic", "ml", "ranking", 16),
        ("notebook", "gcp.n1", "analytics-dev", 8, 8, "always", "data", "notebooks", 8),
        ("labelling", "gcp.n1", "ml", 2, 2, "always", "ml", "labelling", 16),
        ("trainer", "gcp.a2", "ml", 4, 10, "training", "ml", "ranking", 8),
    ):
        env = "dev" if account == "analytics-dev" else "prod"
        for rank in range(most):
            machine = f"{name}-{rank:02}"
            tags = gcp_tags(machine, team=team, env=env, service=service)
            yield gcp_line(sku, account, _HOME, machine, shape, 24.0 * cores, tags, workload=name,
                           pool_size=float(size), rank=rank)  # fmt: skip
            if sku == "gcp.n2":
                yield gcp_line("gcp.n2.ram", account, _HOME, machine, shape, 96.0 * cores, tags, workload=name,
                               pool_size=float(size), rank=rank)  # fmt: skip
            yield gcp_line("gcp.pd", account, _HOME, f"{machine}-disk", "always", 100 / 30.4, tags)


def _warehouse() -> Iterator[ResourceLine]:
    for name, shape, base in (("bq-analysis", "people", 5.5), ("bq-dashboards", "traffic", 3.0)):
        tags = gcp_tags(name, team="data", env="prod", service="warehouse")
        yield gcp_line("gcp.bq.analysis", "analytics", _HOME, name, shape, base, tags)
    tags = gcp_tags("warehouse-reservation", team="data", env="prod", service="warehouse")
    yield gcp_line("gcp.bq.slots", "analytics", _HOME, "warehouse-reservation", "arriving", 5200, tags)
    for name, gigabytes, shape in (
        ("events_raw", 70_000, "arriving"), ("facts", 18_000, "arriving"), ("marts", 4_000, "stored"),
        ("sandbox_people", 22_000, "stored"), ("gdpr_archive", 9_000, "stored"),
    ):  # fmt: skip
        tags = gcp_tags(name, team="data", env="prod", service="warehouse")
        yield gcp_line("gcp.bq.storage", "analytics", _HOME, name, shape, gigabytes / 30.4, tags)
    for job in ("cdc-orders", "cdc-users", "sessions", "ad-spend"):
        tags = gcp_tags(f"df-{job}", team="data", env="prod", service="etl")
        yield gcp_line("gcp.dataflow", "analytics", _HOME, f"df-{job}", "volume", 170, tags)
    tags = gcp_tags("revenue-recognition", team="data", env="prod", service="revenue-report")
    yield gcp_line("gcp.dataflow", "analytics", _HOME, "revenue-recognition", "month_end", 4200, tags)


def _services() -> Iterator[ResourceLine]:
    for name, account, gigabytes, team in (
        ("lumenly-ml-datasets", "ml", 48_000, "ml"), ("lumenly-models", "ml", 9_000, "ml"),
        ("lumenly-exports", "analytics", 14_000, "data"), ("lumenly-dev-scratch", "analytics-dev", 6_000, "data"),
    ):  # fmt: skip
        env = "dev" if account == "analytics-dev" else "prod"
        tags = gcp_tags(name, team=team, env=env, service="storage")
        yield gcp_line("gcp.gcs", account, _HOME, name, "stored", gigabytes / 30.4, tags)
        yield gcp_line("gcp.gcs.ops", account, _HOME, name, "traffic", gigabytes * 0.01, tags)
    for topic in ("orders", "clicks", "audit", "emails"):
        tags = gcp_tags(f"topic-{topic}", team="data", env="prod", service="event-bus")
        yield gcp_line("gcp.pubsub", "analytics", _HOME, f"topic-{topic}", "traffic", 0.35, tags)
    for name, team, load in (
        ("rank-api", "ml", 260.0),
        ("embed-api", "search", 340.0),
        ("forecast-api", "ml", 90.0),
    ):
        tags = gcp_tags(name, team=team, env="prod", service=name)
        yield gcp_line("gcp.run", "ml", _HOME, name, "traffic", load, tags)
        yield gcp_line("gcp.run", "ml", _EU, f"{name}-eu", "traffic", load * 0.4, tags)
    for customer in CUSTOMERS[:10]:
        name = f"model-{customer.id}"
        tags = gcp_tags(name, team="ml", env="prod", service="custom-models", customer=customer.id)
        yield gcp_line("gcp.vertex", "ml", _HOME, name, "always", 24 + round(48 * customer.weight), tags)
    for account in ("analytics", "ml", "analytics-dev"):
        tags = gcp_tags(f"net-{account}", team="platform", env="prod", service="network")
        yield gcp_line("gcp.gke", account, _HOME, f"gke-{account}", "always", 24, tags)
        yield gcp_line("gcp.egress", account, _HOME, f"net-{account}", "traffic", 140, tags)
        yield gcp_line("gcp.logging", account, _HOME, f"logs-{account}", "traffic", 95, tags)


def lines() -> Iterator[ResourceLine]:
    yield from _machines()
    yield from _warehouse()
    yield from _services()
