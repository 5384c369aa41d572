"""Cost that is exported, and the files of exports as other engines read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from accounts.models import Account
from finops.allocation.rules import Rule, Test
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.data_exports.models import DataExport, DataExportRun
from finops.data_exports.services import exports, runs
from tests.cast import Cast
from tests.factories.costs import Line, add_source, cost
from tests.factories.days import days
from tests.finops.connections.conftest import S3TestBucket
from tests.s3 import KEY, REGION

FIRST, LAST = date(2026, 1, 1), date(2026, 3, 18)


@dataclass
class Bucket:
    """An account, and the bucket that its cost is written to."""

    account: Account
    cast: Cast
    s3: S3TestBucket

    @property
    def values(self) -> dict[str, object]:
        return {
            "bucket": self.s3.name,
            "folder": "finops",
            "endpoint": self.s3.endpoint,
            "region": REGION,
            "access": "access_key",
            "access_key_id": KEY,
            "secret_access_key": KEY,
        }

    def create(self, name: str = "focus", **options: Any) -> DataExport:
        return exports.create_data_export(
            account=self.account,
            actor=self.cast.actor,
            name=name,
            destination="s3",
            values=self.values,
            **options,
        )

    def run(self, export: DataExport) -> DataExportRun:
        """The next run of the export, done."""
        run = export.runs.filter(status__in=["queued", "running"]).first() or runs.queue_run(
            export=export, actor=self.cast.actor
        )
        assert runs.run_export(run.pk)
        run.refresh_from_db()
        return run

    def keys(self, prefix: str = "finops/") -> list[str]:
        listing = self.s3.client.list_objects_v2(Bucket=self.s3.name, Prefix=prefix)
        return [each["Key"] for each in listing.get("Contents", [])]

    def read(self, key: str) -> bytes:
        content: bytes = self.s3.client.get_object(Bucket=self.s3.name, Key=key)["Body"].read()
        return content

    def manifests(self, name: str = "focus", ending: str = "-Manifest.json") -> list[dict[str, Any]]:
        """Of every month, the oldest first."""
        keys = [key for key in self.keys(f"finops/{name}/metadata/") if key.endswith(ending)]
        return [json.loads(self.read(key)) for key in sorted(keys)]

    def download(self, folder: Path, manifests: list[dict[str, Any]]) -> list[str]:
        """The files that the manifests name, on this disk."""
        paths = []
        for manifest in manifests:
            for file in manifest["files"]:
                path = folder / file["key"].replace("/", "_")
                path.write_bytes(self.read(f"finops/{file['key']}"))
                paths.append(str(path))
        return paths


def sums(paths: list[str], by: str, where: str = "TRUE") -> dict[tuple[Any, ...], Decimal]:
    """Billed cost by these columns and the currency, added up by DuckDB over the files."""
    rows = duckdb.sql(
        f"SELECT {by}, BillingCurrency, sum(BilledCost) FROM read_parquet({paths}, union_by_name = true) "
        f"WHERE {where} GROUP BY ALL"
    ).fetchall()
    return {tuple(row[:-1]): row[-1] for row in rows}


def spend(account: Account, *group_by: str, **options: Any) -> dict[tuple[Any, ...], Decimal]:
    """What the tools answer for the same, all groups; (none), (untagged) and (no team) as null."""
    query = SpendQuery(
        start_date=FIRST,
        end_date=LAST,
        group_by=list(group_by),
        limit=200,
        **{"basis": "billed", **options},
    )
    answer = query_spend(account, query)
    assert not any(row.other_groups for row in answer.rows)
    if not group_by:
        return {(total.currency,): total.amount for total in answer.totals}
    return {
        (*(_value(row.group[name]) for name in answer.group_by), row.currency): row.amount
        for row in answer.rows
    }


def round_amounts(amounts: dict[tuple[Any, ...], Decimal]) -> dict[tuple[Any, ...], Decimal]:
    """To twelve places, without what is 0: what splits part is cut at the eighteenth, a day or a month at a time."""
    places = Decimal("1e-12")
    return {key: amount.quantize(places) for key, amount in amounts.items() if amount.quantize(places)}


def _value(text: str) -> str | None:
    return None if text in ("(none)", "(untagged)", "(no team)") else text


def lines(first: date = FIRST, last: date = LAST) -> list[Line]:
    """Two currencies, tags of some lines, cents that do not add up evenly."""
    return [
        cost(
            day,
            f"{number + 1}.{day.day:02d}7",
            service=service,
            provider="AWS",
            account_id=f"acc-{number}",
            currency="EUR" if number == 2 else "USD",
            tags={"env": "prod" if day.day % 2 else "dev", "team": team} if team else {},
        )
        for day in days(first, last)
        for number, (service, team) in enumerate(
            [("Compute", "core"), ("Storage", "data"), ("Support", ""), ("Network", "shared")]
        )
    ]


def allocate(bucket: Bucket) -> None:
    """Lines, teams by a tag, a cost tag by rules, and splits of each kind on both: even, fixed and by cost."""
    account, actor = bucket.account, bucket.cast.actor
    add_source(account, lines(), name="Bill")
    add_source(account, lines(date(2026, 2, 3), date(2026, 3, 4)), name="Other bill")
    set_team_key(account=account, actor=actor, dimension="tag:team")
    for name in ("Core", "Data", "Shared"):
        own_value(team=create_team(account=account, actor=actor, name=name), actor=actor, value=name.lower())
    rules = [
        Rule(value="shop", when=Test(dimension="service", values=("Compute",))),
        Rule(value="lake", when=Test(dimension="service", values=("Storage",))),
    ]
    create_cost_tag(account=account, actor=actor, key="product", rules=rules, default_value="platform")
    drafts = [
        SplitDraft("Shared by cost", "team", "Shared", "proportional", [("Core", ""), ("Data", "")]),
        SplitDraft("Unowned", "team", "(no team)", "fixed", [("Core", "33.3"), ("Data", "66.7")]),
        SplitDraft("Platform", "cost_tag:product", "platform", "even", [("shop", ""), ("lake", "")]),
    ]
    for draft in drafts:
        create_split(account=account, actor=actor, draft=draft)
