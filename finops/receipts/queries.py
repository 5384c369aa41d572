"""Reads of receipts: one by its code, the bills that it was computed of, what keeping them costs."""

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
    """The account's receipt of this code that a reader of the same cost access was given. One query."""
    rows = AnswerReceipt.objects.filter(account=account, code=code, cost_access=cost_access)
    return rows.select_related("state").first()


def figures_of(receipt: AnswerReceipt) -> dict[str, Any]:
    """The answer without its texts."""
    return decode_figures(zlib.decompress(receipt.answer))


def is_intact(receipt: AnswerReceipt) -> bool:
    """Whether the stored row is what its code was made of."""
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
    """The bills and sources of the answer, for `kept_manifest`. No query."""
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
"""Actions of the audit log, by their beginning, that change figures of answers."""


@dataclass(frozen=True)
class SettingChange:
    """A setting that was changed: `noun` what it is, `name` which."""

    noun: str
    name: str
    day: date


def changed_settings(receipt: AnswerReceipt) -> list[SettingChange]:
    """The settings that figures depend on which were changed since the answer, the newest change of each, newest first. One query."""
    rows = AuditEntry.objects.filter(account_id=receipt.account_id, at__gt=receipt.at)
    named = Q(*(("action__startswith", name) for name in SETTINGS), _connector=Q.OR)
    changes: dict[tuple[str, str], SettingChange] = {}
    for at, action, target in rows.filter(named).order_by("-at").values_list("at", "action", "target"):
        noun = next(noun for name, noun in SETTINGS.items() if action.startswith(name))
        changes.setdefault((noun, target), SettingChange(noun, target, at.date()))
    return list(changes.values())


def retention(account: Account) -> ReceiptRetention:
    """As the account set it, else the defaults, within its ceilings; not to be saved. One query."""
    row = ReceiptRetention.objects.filter(account=account).first() or ReceiptRetention(account=account)
    row.days = min(row.days, limit_of(account, DAYS_LIMIT))
    row.bill_days = min(row.bill_days, limit_of(account, BILL_DAYS_LIMIT))
    return row


def bills_named_by_receipts() -> Q:
    """A condition on LakeSegment: a receipt names the file, of an account that keeps such bills and for so long."""
    # Of every account: garbage collection serves all at once.
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
    """Two queries."""
    # Unscoped: of the account that is named.
    replaced = LakeSegment.objects.unscoped().filter(
        account=account, kind=Kind.COST.value, retired_at__isnull=False
    )
    rollups = LakeRollup.objects.unscoped().filter(account=account, segment__in=replaced)
    sizes = [rows.aggregate(total=Sum("bytes"))["total"] or 0 for rows in (replaced, rollups)]
    return KeptBills(replaced.count(), sum(sizes))
