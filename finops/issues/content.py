"""The content of a saving's issue, independent of a tracker's format."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Final

import msgspec
from django.conf import settings

from accounts.models import Account
from finops.insights.savings.candidates import RULES
from finops.insights.savings.schemas import Evidence, Recommendation
from finops.lib.sentences import money, truncate

MAX_TITLE: Final = 200
"""GitHub accepts 256 characters, Jira 255."""
MAX_VALUE: Final = 300
SHOWN_EVIDENCE: Final = 20


class IssueFact(msgspec.Struct, frozen=True):
    """A fact of an issue. `label` is the product's text, `value` may come from a bill, so it is untrusted."""

    label: str
    value: str


class IssueContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an issue. `texts` are sentences with words of bills in them, `evidence` the values of each line."""

    title: str
    facts: list[IssueFact]
    texts: list[IssueFact]
    evidence: list[list[IssueFact]]
    more_evidence: int
    url: str


def issue_content(account: Account, row: Recommendation, period: str) -> IssueContent:
    """Return the issue of a recommendation, whose amounts are of `period`."""
    amount = _amount_text(row)
    title = f"{one_line(row.title)} ({amount} a month)" if amount else one_line(row.title)
    return IssueContent(
        title=truncate(title, MAX_TITLE),
        facts=[fact for fact in _facts(row, period) if fact.value],
        texts=[fact for fact in _texts(row) if fact.value],
        evidence=[[fact for fact in _evidence(each) if fact.value] for each in row.evidence[:SHOWN_EVIDENCE]],
        more_evidence=max(0, row.evidence_count - SHOWN_EVIDENCE),
        url=f"{settings.PUBLIC_URL}/a/{account.slug}/savings/{row.id}/",
    )


def marker_of(account: Account, saving_key: str) -> str:
    """A single word, so that every tracker's search matches it whole; unique to this console, account and saving."""
    text = "\x1f".join([settings.PUBLIC_URL, str(account.pk), saving_key])
    return f"finops{hashlib.blake2s(text.encode(), digest_size=12).hexdigest()}"


def one_line(text: str) -> str:
    """Return the text without line breaks and other invisible characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _fact(label: str, value: str) -> IssueFact:
    return IssueFact(label, truncate(one_line(value), MAX_VALUE))


def _amount_text(row: Recommendation) -> str:
    amount = row.monthly_saving if row.monthly_saving is not None else row.monthly_waste
    return money(amount, one_line(row.currency)) if amount is not None else ""


def _facts(row: Recommendation, period: str) -> list[IssueFact]:
    saving = "Monthly waste" if row.monthly_waste is not None else "Monthly savings"
    only = row.evidence[0] if row.evidence_count == 1 and row.evidence else None
    return [
        _fact(saving, _amount_text(row) or row.saving_reason or "unknown"),
        _fact("Monthly cost", _money(row.monthly_cost, row.currency)),
        _fact("Resource", only.resource if only else ""),
        _fact("Account", row.account),
        _fact("Region", ", ".join(sorted({each.region for each in row.evidence} - {""}))),
        _fact("Service", ", ".join(row.services) or row.service),
        _fact("Provider", row.provider),
        _fact("Cost source", row.source),
        _fact("Rule", RULES[row.rule].label),
        _fact("Effort", row.effort),
        _fact("Risk", row.risk),
        _fact("Amortized cost of", period),
    ]


def _texts(row: Recommendation) -> list[IssueFact]:
    return [
        IssueFact("Action", truncate(one_line(row.advice), 2_000)),
        IssueFact("Risk", truncate(one_line(row.risk_reason), 2_000)),
        IssueFact("Formula", truncate(one_line(row.formula), 2_000)),
    ]


def _evidence(each: Evidence) -> list[IssueFact]:
    saving = _money(each.saving, each.currency) if each.saving is not None else ""
    return [
        _fact("", each.name or each.resource or "lines without a resource"),
        _fact("resource", each.resource if each.name and each.name != each.resource else ""),
        _fact("usage type", each.usage_type),
        _fact("account", each.account),
        _fact("region", each.region),
        _fact("cost", _money(each.cost, each.currency)),
        _fact("saving", saving),
        _fact("", each.note),
    ]


def _money(amount: Decimal, currency: str) -> str:
    return money(amount, one_line(currency))
