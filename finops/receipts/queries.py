"""Reads of receipts: one receipt by its code, the bills from which it was computed, and the storage of kept bills."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import msgspec
from django.db.models import Exists, OuterRef, Q, Sum

from accounts.limits import LIMITS_BY_NAME, limit_of, own_limits
from accounts.models import Account, AuditEntry
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest, decode_segments
from finops.lib import clock
from finops.receipts import codes
from finops.receipts.figures import decode_figures
from finops.receipts.models import BILL_DAYS_LIMIT, DAYS_LIMIT, AnswerReceipt, AnswerState, ReceiptRetention
from finops.receipts.records import receipt_content


def find_receipt(account: Account, code: str, cost_access: str) -> AnswerReceipt | None:
    """Return the account's receipt with this code, if it was issued to a reader with the same cost access. One query."""
    rows = AnswerReceipt.objects.filter(account=account, code=code, cost_access=cost_access)
    return rows.select_related("state").first()


def figures_of(receipt: AnswerReceipt) -> dict[str, Any]:
    """Return the figures: the answer without its texts."""
    return decode_figures(zlib.decompress(receipt.answer))


def is_intact(receipt: AnswerReceipt) -> bool:
    """Return whether the code still matches the stored row."""
    content = receipt_content(
        zlib.decompress(receipt.answer),
        receipt.account_id,
        receipt.tool,
        receipt.arguments,
        receipt.cost_access,
        receipt.state.digest,
        receipt.expressions,
        receipt.rates,
        receipt.engine,
    )
    return codes.is_code_of(receipt.code, codes.day_of(receipt.code), content)


def manifest_of_then(receipt: AnswerReceipt) -> Manifest:
    """Return the bills and sources of the answer, for `kept_manifest`. No query."""
    state = receipt.state
    return Manifest(
        receipt.account_id,
        f"kept {state.digest}".encode(),
        decode_segments(state.segments.encode()),
        kept=tuple(msgspec.json.decode(state.source_state)),
    )


SETTINGS = {
    "cost_view.": "cost view",
    "cost_tag.": "cost tag",
    "split.": "shared-cost split",
    "team.": "team",
    "team_": "team",
    "exchange_rate.": "exchange rates",
    "account.change": "account settings",
    "cost_source.change_settle_days": "settle days",
    "customer_key.": "customer key",
    "customer_alias.": "customer aliases",
    "usage_metric.": "metric",
    "unit_metric.": "unit metric",
    "usage_batch.void": "usage",
}
"""Prefixes of audit log actions that change figures of answers, with the noun of the setting."""


@dataclass(frozen=True)
class SettingChange:
    """A setting that was changed: `noun` is its kind, `name` its name."""

    noun: str
    name: str
    day: date


def changed_settings(receipt: AnswerReceipt) -> list[SettingChange]:
    """Settings of figures that were changed since the answer, with their newest change, newest first. One query."""
    rows = AuditEntry.objects.filter(account_id=receipt.account_id, at__gt=receipt.at)
    named = Q(*(("action__startswith", name) for name in SETTINGS), _connector=Q.OR)
    changes: dict[tuple[str, str], SettingChange] = {}
    for at, action, target in rows.filter(named).order_by("-at").values_list("at", "action", "target"):
        noun = next(noun for name, noun in SETTINGS.items() if action.startswith(name))
        changes.setdefault((noun, target), SettingChange(noun, target, at.date()))
    return list(changes.values())


def retention(account: Account) -> ReceiptRetention:
    """Return the account's retention, else the defaults, within its ceilings. Do not save the result. One query."""
    row = ReceiptRetention.objects.filter(account=account).first() or ReceiptRetention(account=account)
    row.days = min(row.days, limit_of(account, DAYS_LIMIT))
    row.bill_days = min(row.bill_days, limit_of(account, BILL_DAYS_LIMIT))
    return row


def bills_named_by_receipts() -> Q:
    """Return a condition on LakeSegment: a receipt names the file, and its account keeps such bills for that long."""
    # Unscoped: garbage collection serves every account.
    retentions = ReceiptRetention.objects.unscoped().filter(bill_days__gt=0)
    ceilings, ceiling = own_limits(BILL_DAYS_LIMIT), LIMITS_BY_NAME[BILL_DAYS_LIMIT].default
    conditions = [
        Q(_named_since(min(days, ceilings.get(account_id, ceiling))), account_id=account_id)
        for account_id, days in retentions.values_list("account_id", "bill_days")
    ]
    return Q(*conditions, _connector=Q.OR) if conditions else Q(pk__in=[])


def _named_since(days: int) -> Exists:
    states = AnswerState.objects.unscoped().filter(
        account=OuterRef("account"),
        last_used_at__gte=clock.now() - timedelta(days=days),
        segments__contains=OuterRef("path"),
    )
    return Exists(states)


@dataclass(frozen=True)
class KeptBills:
    """Files of cost that were replaced and are still stored."""

    files: int
    bytes: int


def kept_bills(account: Account) -> KeptBills:
    """Return the number and bytes of replaced files that are still stored. Two queries."""
    # Unscoped: the account is named.
    replaced = LakeSegment.objects.unscoped().filter(
        account=account, kind=Kind.COST.value, retired_at__isnull=False
    )
    rollups = LakeRollup.objects.unscoped().filter(account=account, segment__in=replaced)
    sizes = [rows.aggregate(total=Sum("bytes"))["total"] or 0 for rows in (replaced, rollups)]
    return KeptBills(replaced.count(), sum(sizes))
