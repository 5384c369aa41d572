"""Detect sources that hold the same cost, after each import."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.import_decision import month_of, name_of
from finops.costs.models import CostImport, CostSource, SourceOverlap
from finops.costs.node_overlaps import (
    OPENCOST,
    BilledNodesBuild,
    NodeCost,
    NodesBuild,
    node_overlaps,
    searched_names,
)
from finops.costs.overlaps import (
    MonthPart,
    PartsBuild,
    SharedCost,
    SharedCostBuild,
    accounts_of,
    overlap_share,
    sources_sharing_accounts,
)
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest, cost_manifest
from finops.lib import clock, time_limit
from finops.lib.advisory_lock import lock_until_commit
from finops.lib.errors import UserError
from finops.lib.money import exact_sum

logger = logging.getLogger(__name__)


def find_overlaps(source: CostSource) -> None:
    """Compare the months of a source's newest imports with other sources. Errors are logged, and retried by
    `find_due_overlaps`.

    Cost: nothing if no other source has the month. Otherwise one lake query over the month, and one for each source
    with the same provider, sub-account and service.
    """
    try:
        with account_scope(source.account), transaction.atomic():
            _lock(source.account)
            _find(source)
    except (UserError, DatabaseError):
        logger.warning("costs: overlaps of source %s were not looked for", source.pk, exc_info=True)


@transaction.atomic
def dismiss_overlap(
    *,
    account: Account,
    source_id: int,
    other_id: int,
    currency: str,
    months: Collection[date],
    actor: Actor,
) -> None:
    """Dismiss the overlap of two sources in these billing months: no answer warns of it, also after later imports of
    the months. An overlap in another month warns again. UserError when there is nothing to dismiss."""
    _lock(account)  # so that a concurrent check does not undo it
    rows = SourceOverlap.objects.select_related("source", "other").filter(
        source_id=source_id, other_id=other_id, currency=currency, month__in=months, dismissed_at=None
    )
    overlaps = list(rows.order_by("month"))
    if not overlaps:
        raise UserError("This overlap no longer exists, or was dismissed.")
    rows.update(dismissed_at=clock.now())
    audit.record(
        account=account,
        actor=actor,
        action="source_overlap.dismiss",
        target=f"{overlaps[0].source.name} and {overlaps[0].other.name}",
        detail={
            "months": [name_of(each.month) for each in overlaps],
            "amount": str(exact_sum(each.amount for each in overlaps)),
            "currency": currency,
        },
    )


def find_due_overlaps() -> None:
    """Detect overlaps of imports that died after their last step."""
    # Unscoped: the task serves every account.
    due = CostImport.objects.unscoped().filter(_UNLOOKED).values("source")
    for source in CostSource.objects.unscoped().select_related("account").filter(pk__in=due):
        time_limit.check()
        find_overlaps(source)


_UNLOOKED = Q(status=CostImport.Status.DONE, overlaps_looked_for_at=None)


def _find(source: CostSource) -> None:
    imports = CostImport.objects.filter(_UNLOOKED, source=source)
    reports = list(imports.values_list("pk", "report"))
    names = {change["month"] for _, report in reports for change in report.get("changes", ())}
    names |= {month["month"] for _, report in reports for month in report.get("months", ())}
    manifest = cost_manifest(source.account)
    for month in sorted(month_of(name) for name in names):
        before = SourceOverlap.objects.filter(Q(source=source) | Q(other=source), month=month)
        dismissed = {_key(row): row.dismissed_at for row in before if row.dismissed_at}
        rows = _of_month(source, month, manifest)
        for row in rows:
            row.dismissed_at = dismissed.get(_key(row))
        before.delete()
        SourceOverlap.objects.bulk_create(rows)
    CostImport.objects.filter(pk__in=[pk for pk, _ in reports]).update(overlaps_looked_for_at=clock.now())


def _days(month: date, manifest: Manifest) -> tuple[date, date]:
    """Return the first and the last day with lines of the billing month."""
    segments = [each for each in manifest.segments if each.month == month]
    return min(each.first_day for each in segments), max(each.last_day for each in segments)


def _of_month(source: CostSource, month: date, manifest: Manifest) -> list[SourceOverlap]:
    segments = [each for each in manifest.segments if each.month == month]
    sources = {each.source_id for each in segments}
    if source.pk not in sources or len(sources) < 2:
        return []
    days = _days(month, manifest)
    account, source_id = source.account, str(source.pk)
    table = engine.run(
        account,
        Kind.COST,
        *days,
        PartsBuild(month),
        allow_rollups=True,
        manifest=manifest,
        in_own_currency=True,
    )
    parts = [MonthPart(**row) for row in table.to_pylist()]
    overlaps = _of_nodes(account, month, parts, source_id, manifest)
    for other, accounts in sources_sharing_accounts(parts, source_id).items():
        build = SharedCostBuild(month, source_id, other, accounts_of(accounts))
        for row in engine.run(
            account, Kind.COST, *days, build, allow_rollups=True, manifest=manifest, in_own_currency=True
        ).to_pylist():
            shared = SharedCost(**row)
            share = overlap_share(shared, parts, source_id, other)
            if share is not None:
                overlaps.append(_row(source, int(other), month, shared, share))
    return overlaps


def _of_nodes(
    account: Account, month: date, parts: Sequence[MonthPart], source_id: str, manifest: Manifest
) -> list[SourceOverlap]:
    """Return OpenCost's allocations of nodes that another source bills. Two lake queries, none without OpenCost."""
    if not any(part.provider == OPENCOST for part in parts):
        return []

    def rows(build: NodesBuild | BilledNodesBuild) -> list[dict[str, Any]]:
        days = _days(month, manifest)
        keys = build.keys
        table = engine.run(
            account,
            Kind.COST,
            *days,
            build,
            tag_keys=keys,
            allow_rollups=True,
            manifest=manifest,
            in_own_currency=True,
        )
        return list(table.to_pylist())

    nodes = [NodeCost(**row) for row in rows(NodesBuild(month))]
    names = searched_names(nodes)
    billed: dict[str, set[str]] = defaultdict(set)
    for row in rows(BilledNodesBuild(month, names)) if names else ():
        billed[row["source"]].add(row["name"])
    return [
        SourceOverlap(
            account=account,
            source_id=min(int(each.source), int(each.other)),
            other_id=max(int(each.source), int(each.other)),
            month=month,
            currency=each.currency,
            amount=each.amount,
            share=each.share,
            kind=SourceOverlap.Kind.NODES,
        )
        for each in node_overlaps(nodes, billed)
        if source_id in (each.source, each.other)
    ]


def _key(row: SourceOverlap) -> tuple[int, int, str]:
    return row.source_id, row.other_id, row.currency


def _row(source: CostSource, other: int, month: date, shared: SharedCost, share: Decimal) -> SourceOverlap:
    first, second = sorted((source.pk, other))
    return SourceOverlap(
        account=source.account,
        source_id=first,
        other_id=second,
        month=month,
        currency=shared.currency,
        amount=shared.amount,
        share=share,
    )


def _lock(account: Account) -> None:
    """Lock the account for this detection until the transaction ends: the last of several sees all imports."""
    lock_until_commit(f"cost overlaps {account.pk}")
