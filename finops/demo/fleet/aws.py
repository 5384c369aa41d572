"""Lumenly's compute on AWS: machine pools, containers, functions, networks and what watches them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from finops.demo.lines import Line, line, tags_for

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


def _machines(pool: _Pool) -> Iterator[Line]:
    steady = pool.shape in ("always", "office")
    for rank in range(pool.most):
        name = f"{pool.name}-{rank:02}"
        tags = tags_for(
            "aws", name, team=pool.team, env=_ENV[pool.account], service=pool.service, deployer="terraform-ci"
        )
        # Disks stay while a schedule turns their machine off.
        parts = [(pool.sku, pool.shape, 24.0, float(pool.size))]
        if pool.gigabytes:
            shape, size = ("always", 0.0) if steady else (pool.shape, float(pool.size))
            parts.append((pool.volume, shape, pool.gigabytes / 30.4, size))
        if pool.account == "prod" and pool.service in ("web", "api"):
            parts.append(("ec2.egress", "traffic", 14.0, float(pool.size)))
        for sku, shape, base, size in parts:
            yield line("aws", sku, pool.account, pool.region, name, shape, base, tags, workload=pool.name,
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


def _containers() -> Iterator[Line]:
    for name, account, region, vcpu, team in _SERVICES:
        shape = {"dev": "always", "staging": "always"}.get(account, "traffic")
        tags = tags_for(
            "aws", name, team=team, env=_ENV[account], service=name.split("-staging")[0], deployer="argo"
        )
        yield line("aws", "fargate.vcpu", account, region, name, shape, vcpu * 24, tags)
        yield line("aws", "fargate.memory", account, region, name, shape, vcpu * 48, tags)
        for sku, base in (("watch.ingest", vcpu * 0.9), ("watch.storage", vcpu * 9.0)):
            grows = "stored" if sku == "watch.storage" else shape
            yield line("aws", sku, account, region, f"logs-{name}", grows, base, tags)
    for account, region in (("prod", "us-east-1"), ("prod", "eu-west-1"), ("dev", "us-east-1")):
        tags = tags_for("aws", f"eks-{account}", team="platform", env=_ENV[account], service="kubernetes")
        yield line("aws", "eks.cluster", account, region, f"eks-{account}", "always", 24, tags)
    for name, team, load in _FUNCTIONS:
        tags = tags_for("aws", name, team=team, env="prod", service=name, deployer="serverless-deploy")
        yield line("aws", "lambda.requests", "prod", "us-east-1", name, "traffic", load * 0.12, tags)
        yield line("aws", "lambda.duration", "prod", "us-east-1", name, "traffic", load * 8.0, tags)


def _network() -> Iterator[Line]:
    for account, region, zones in (
        ("prod", "us-east-1", "abc"),
        ("prod", "eu-west-1", "ab"),
        ("dev", "us-east-1", "a"),
    ):
        for zone in zones:
            name = f"nat-{account}-{zone}" if region == "us-east-1" else f"nat-eu-{zone}"
            tags = tags_for("aws", name, team="platform", env=_ENV[account], service="network")
            traffic = 620.0 if account == "prod" else 60.0
            yield line(
                "aws", "nat.hours", account, region, name, "always", 24, tags, workload=f"{name}-hours"
            )
            yield line("aws", "nat.bytes", account, region, name, "traffic", traffic, tags)
    for name, account, region, load in (
        ("lb-web-us", "prod", "us-east-1", 900.0), ("lb-web-eu", "prod", "eu-west-1", 420.0),
        ("lb-api-us", "prod", "us-east-1", 1300.0), ("lb-staging", "staging", "us-east-1", 30.0),
        ("lb-old-campaign", "prod", "us-west-2", 0.0),
    ):  # fmt: skip
        tags = tags_for("aws", name, team="platform", env=_ENV[account], service="edge")
        yield line("aws", "elb.hours", account, region, name, "always", 24, tags)
        yield line("aws", "ipv4", account, region, name, "always", 72, tags)
        yield line("aws", "elb.lcu", account, region, name, "traffic", load, tags)
        yield line("aws", "ec2.cross-az", account, region, name, "traffic", load * 2, tags)
    for name, load in (("cdn-app", 1100.0), ("cdn-assets", 1900.0), ("cdn-docs", 90.0)):
        tags = tags_for("aws", name, team="growth", env="prod", service="cdn")
        yield line("aws", "cloudfront.egress", "prod", "global", name, "traffic", load, tags)
        yield line("aws", "cloudfront.https", "prod", "global", name, "traffic", load * 8, tags)


def _guards() -> Iterator[Line]:
    for account in ("prod", "staging", "dev", "data", "shared"):
        tags = tags_for(
            "aws", f"security-{account}", team="security", env=_ENV.get(account, "prod"), service="guard"
        )
        load = 9.0 if account == "prod" else 1.5
        yield line("aws", "guardduty", account, "us-east-1", f"detector-{account}", "volume", load, tags)
        yield line("aws", "kms", account, "us-east-1", f"kms-{account}", "traffic", load * 40, tags)
        yield line("aws", "secrets", account, "us-east-1", f"secrets-{account}", "volume", load / 4, tags)
        yield line(
            "aws", "watch.metrics", account, "us-east-1", f"metrics-{account}", "volume", load * 5, tags
        )
        yield line("aws", "route53", account, "global", f"zone-{account}", "traffic", load * 2, tags)
    tags = tags_for("aws", "waf-edge", team="security", env="prod", service="edge")
    yield line("aws", "waf", "prod", "us-east-1", "waf-edge", "traffic", 90, tags)
    sandbox = {"aws:createdBy": "IAMUser:AIDA5LUMENLYLUCAS:lucas.martin"}
    yield line("aws", "p4d.24xlarge", "sandbox", "us-west-2", "gpu-sandbox", "people", 0.6, sandbox)
    yield line(
        "aws", "ebs.io1", "sandbox", "us-west-2", "gpu-sandbox-scratch", "always", 2000 / 30.4, sandbox
    )


def lines() -> Iterator[Line]:
    for spec in _POOLS:
        yield from _machines(_Pool(*spec))
    yield from _containers()
    yield from _network()
    yield from _guards()
