"""Lake queries of the rules: three expressions, each grouped in the lake. Amounts are amortized (EffectiveCost)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_
from typing import Any

import ibis

from finops.costs.dated_names import newest, with_date_prefix
from finops.costs.queries.spend_lake import NO_CURRENCY, part_of
from finops.insights.savings.resource_rules import AWS, AZURE, GOOGLE, IN_ANY
from finops.lake.schema import tag_column

MAX_ROWS = 5_000
"""Maximum number of lines that a rule evaluates, the costliest."""

DEV_VALUES = (
    *("dev", "devel", "development", "test", "testing", "qa", "uat", "staging", "stage", "stg", "sandbox", "sbx"),
    *("nonprod", "non-prod", "non-production", "preview", "integration"),
)  # fmt: skip
ENV_KEYS = ("env", "environment", "stage", "deployment-environment", "deployment_environment")

_KEYS = ("source", "provider", "service", "currency", "account_id", "region", "usage_type", "resource_id")
_PROVIDERS = {AWS: "aws|amazon", AZURE: "azure|microsoft", GOOGLE: "google|gcp"}
_CONTROL = r"per_?cluster|uptime sla|kubernetes clusters"
"""Hourly cost of a cluster's control plane, which cannot be stopped."""

_STORAGE = r"snapshot|backup|timedstorage|byte-?hrs|logical storage|data stored|standard storage|nearline|coldline|archive"
_PROVISIONED = r"volumeusage|provisioned|general purpose data stored|gp[23]-storage"
_STORED = r"(?i)^(?:[kmgt]i?b|bytes?)[-_ ]?(?:mo|month)"


def _matches(column: Any, pattern: str) -> Any:
    return column.re_search(f"(?i){pattern.removeprefix('(?i)')}").fill_null(False)


def _usage(table: Any) -> Any:
    """Return whether a line is usage, without corrections, credits and fees."""
    ordinary = part_of(table, table.effective_cost).isnull()
    return (table.charge_category == "Usage").fill_null(False) & ordinary


def _on_demand(table: Any) -> Any:
    """Return whether a line is at standard prices, without a commitment. Lines of exports without a pricing category
    count too."""
    return table.commitment_id.isnull() & (table.pricing_category.coalesce("Standard") == "Standard")


def _with_default_keys(table: Any) -> Any:
    empty = {name: table[name].coalesce("") for name in _KEYS if name not in ("source", "currency")}
    return table.mutate(currency=table.currency.coalesce(NO_CURRENCY), **empty)


def _account(table: Any) -> Any:
    """Return the account's id, which stays when the account is renamed."""
    return table.account_id.coalesce(table.account_name).coalesce("")


def _account_name(table: Any) -> Any:
    """Return an aggregate: the newest name, prefixed with its day."""
    return with_date_prefix(table, table.account_name.coalesce(table.account_id)).max()


def _costliest(sums: Any, cost: str, keys: Sequence[str]) -> Any:
    """Return MAX_ROWS groups in one order, equal costs by name: the first of a recommendation names its provider."""
    return sums.order_by([sums[cost].desc(), *(sums[key] for key in keys)]).limit(MAX_ROWS)


def _by_the_hour(table: Any) -> Any:
    return _matches(table.consumed_unit, r"hour|^v?hrs?\b")


@dataclass(frozen=True)
class ResourceBuild:
    """On-demand usage of an older generation, and hourly usage with a dev or test tag, by resource and usage type,
    the costliest first, with its cost on weekends."""

    env_keys: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        tags = [table[tag_column(key)].lower() for key in self.env_keys]
        tagged = ibis.coalesce(*tags).isin(DEV_VALUES).fill_null(False) if tags else ibis.literal(False)
        runs = table.service_category.isin(["Compute", "Databases"]).fill_null(False) & _by_the_hour(table)
        dev = tagged & runs & ~_matches(table.usage_type, _CONTROL)
        old = _matches(table.usage_type, IN_ANY)
        lines = _with_default_keys(
            table.mutate(dev=dev).filter(_usage(table) & _on_demand(table) & (dev | old))
        )
        weekend = lines.charge_date.day_of_week.index() >= 5
        nothing = ibis.null("date")
        sums = lines.group_by([*_KEYS, "dev"]).aggregate(
            cost=lines.effective_cost.sum(),
            weekend_cost=ibis.ifelse(weekend, lines.effective_cost, 0).sum(),
            weekdays=ibis.ifelse(weekend, nothing, lines.charge_date).nunique(),
            weekend_days=ibis.ifelse(weekend, lines.charge_date, nothing).nunique(),
            resource_name=newest(lines, lines.resource_name),
            account_name=newest(lines, lines.account_name),
        )
        return _costliest(sums, "cost", [*_KEYS, "dev"])


@dataclass(frozen=True)
class GrowthBuild:
    """Stored data (objects, snapshots, backups, logs; not disks, whose size is provisioned), by resource and usage
    type, in each of some months (first day of each, oldest first)."""

    months: tuple[date, ...]

    def __call__(self, table: Any) -> Any:
        stored = _matches(table.consumed_unit, _STORED)
        is_storage = _matches(table.usage_type, _STORAGE) & ~_matches(table.usage_type, _PROVISIONED)
        lines = _with_default_keys(table.filter(_usage(table) & stored & is_storage))
        month = lines.charge_date.truncate("M")
        sums = {}
        for place, first in enumerate(self.months):
            inside = month == ibis.literal(first)
            sums[f"quantity{place}"] = ibis.ifelse(inside, lines.consumed_quantity, 0).sum()
            sums[f"cost{place}"] = ibis.ifelse(inside, lines.effective_cost, 0).sum()
        grouped = lines.group_by(list(_KEYS)).aggregate(
            **sums, resource_name=newest(lines, lines.resource_name), account_name=_account_name(lines)
        )
        return _costliest(grouped, f"cost{len(self.months) - 1}", _KEYS)


def coverable(table: Any) -> Any:
    """Return whether a line is compute that a savings plan, reservation or flexible committed-use discount of its
    provider covers."""
    service, usage = table.service, table.usage_type
    aws = _matches(service, r"elastic compute|ec2$|elastic container|amazonecs|lambda|fargate") & _matches(
        usage, r"BoxUsage|DedicatedUsage|Fargate-(?:vCPU|GB)|Lambda-GB-Second"
    )
    azure = _matches(service, r"virtual machines") & _by_the_hour(table)
    google = _matches(service, r"compute engine") & _matches(usage, r"(?:core|ram) running")
    conditions = [
        _matches(table.provider, _PROVIDERS[cloud]) & condition
        for cloud, condition in ((AWS, aws), (AZURE, azure), (GOOGLE, google))
    ]
    return reduce(or_, conditions) & _usage(table)


@dataclass(frozen=True)
class SavingsBuild:
    """By day: lines of commitments by commitment, and the on-demand compute that one could cover, separately from
    what other rules have counted already (`elsewhere`: `resources`; `usage_types` of lines without a resource)."""

    resources: tuple[str, ...]
    usage_types: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        covers = coverable(table)
        counted = [ibis.literal(False)]
        if self.resources:
            counted.append(table.resource_id.isin(self.resources).fill_null(False))
        if self.usage_types:
            usage_rows = table.resource_id.isnull() & table.usage_type.isin(self.usage_types)
            counted.append(usage_rows.fill_null(False))
        of_commitment = table.commitment_id.notnull() & (table.charge_category == "Usage").fill_null(False)
        elsewhere = reduce(or_, counted) & table.commitment_id.isnull()
        relevant = table.mutate(covers=covers, elsewhere=elsewhere).filter(
            of_commitment | (covers & _on_demand(table))
        )
        lines = relevant.mutate(
            currency=relevant.currency.coalesce(NO_CURRENCY),
            provider=relevant.provider.coalesce(""),
            service=relevant.service.coalesce(""),
            commitment=relevant.commitment_id.coalesce(""),
            status=relevant.commitment_status.coalesce(""),
            compute=(relevant.service_category == "Compute").fill_null(False),
            # Whose waste it is; used lines are of every account that shares a commitment.
            account=ibis.ifelse(relevant.commitment_status == "Unused", _account(relevant), ""),
        )
        return lines.group_by(
            ["source", "provider", "service", "currency", "commitment", "status", "compute", "covers",
             "elsewhere", "account", "charge_date"]
        ).aggregate(
            cost=lines.effective_cost.sum(),
            contracted=lines.contracted_cost.sum(),
            lines=lines.count(),
            priced=lines.contracted_cost.count(),
            name=newest(lines, lines.commitment_name),
            first_account=_account(lines).min(),
            last_account=_account(lines).max(),
            account_name=_account_name(lines),
        )  # fmt: skip


@dataclass(frozen=True)
class OutcomeBuild:
    """By day: cost of resources, unused cost of commitments, and all compute that a commitment could cover."""

    resources: tuple[str, ...]
    commitments: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        unused = table.commitment_id.isin(self.commitments) & (table.commitment_status == "Unused")
        has_resource = table.resource_id.isin(self.resources)
        keyed = table.mutate(
            resource=ibis.ifelse(has_resource.fill_null(False), table.resource_id, ""),
            commitment=ibis.ifelse(unused.fill_null(False), table.commitment_id, ""),
            covers=coverable(table),
            usage=_usage(table),
            currency=table.currency.coalesce(NO_CURRENCY),
        )
        relevant = (keyed.resource != "") | (keyed.commitment != "") | keyed.covers
        lines = keyed.filter(relevant & keyed.usage)
        return lines.group_by(
            ["source", "currency", "resource", "commitment", "covers", "charge_date"]
        ).aggregate(cost=lines.effective_cost.sum())


@dataclass(frozen=True)
class ResourceLookup:
    """Resources by id, in any case, or by name: the bill's names of resources with provider recommendations, and
    their cost. Google's ids are numbers in bills and names in recommendations."""

    ids: tuple[str, ...]
    names: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        name = table.resource_name.re_extract("([^/]*)/?$", 1).lower()
        of_id = table.resource_id.lower().isin(self.ids).fill_null(False)
        of_name = name.isin(self.names).fill_null(False) & table.resource_id.startswith("//").fill_null(False)
        lines = _with_default_keys(table.filter(_usage(table) & (of_id | of_name)))
        return lines.group_by(["source", "currency", "account_id", "resource_id"]).aggregate(
            cost=lines.effective_cost.sum(),
            resource_name=newest(lines, lines.resource_name),
            account_name=newest(lines, lines.account_name),
        )


@dataclass(frozen=True)
class BilledAccounts:
    """Sub accounts of a source, the costliest first, with the payer of each."""

    source: str
    most: int

    def __call__(self, table: Any) -> Any:
        lines = table.filter((table.source == self.source) & table.account_id.notnull())
        sums = lines.group_by("account_id").aggregate(
            cost=lines.effective_cost.sum(),
            account_name=newest(lines, lines.account_name),
            billing_account=lines.billing_account_id.max(),
        )
        return sums.order_by(sums.cost.desc(), sums.account_id).limit(self.most)
