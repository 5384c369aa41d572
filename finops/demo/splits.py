"""Shared-cost splits of the demo company, one of each kind, over what its bills have."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.allocation.services.splits import SplitDraft, create_split
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from ingestion.queries import metrics_of

TEAMS = ("payments", "search", "data", "growth", "ml")
"""Those that build the product: they share what platform and security cost."""

SERVICES = (("cdn", "35"), ("ranking", "30"), ("warehouse", "25"), ("guard", "10"))
REQUESTS = "requests"

DRAFTS = (
    SplitDraft(
        name="Platform by what each team costs",
        dimension="tag:team",
        source_value="platform",
        method="proportional",
        targets=[(team, "") for team in TEAMS],
    ),
    SplitDraft(
        name="Security, the same for every team",
        dimension="tag:team",
        source_value="security",
        method="even",
        targets=[(team, "") for team in TEAMS],
    ),
    SplitDraft(
        name="Network by agreed shares",
        dimension="tag:service",
        source_value="network",
        method="fixed",
        targets=SERVICES,
    ),
    SplitDraft(
        name="Shared cluster by requests",
        dimension="tag:customer",
        source_value="(untagged)",
        method="usage",
        every_customer=True,
        usage_metric=REQUESTS,
    ),
)


def ensure_splits(account: Account, actor: Actor) -> int:
    """Make those that are not there, in the account in scope, as far as its data has what they name; how many."""
    there = set(SharedCostSplit.objects.values_list("name", flat=True))
    keys = {f"tag:{key}" for key in lake_queries.tag_keys(account)}
    metrics = {metric.name for metric in metrics_of(account)}
    missing = [
        draft
        for draft in DRAFTS
        if draft.name not in there and draft.dimension in keys and (draft.usage_metric or REQUESTS) in metrics
    ]
    return sum(_create(account, actor, draft) for draft in missing)


def _create(account: Account, actor: Actor, draft: SplitDraft) -> bool:
    try:
        create_split(account=account, actor=actor, draft=draft)
    except UserError:
        # Somebody has made another split of the same value in the demo: theirs stays.
        return False
    return True
