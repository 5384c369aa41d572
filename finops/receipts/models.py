"""Receipts of answers, and the bills from which the answers were computed (ADR 0080)."""

from __future__ import annotations

from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.scoping import AccountModel

DAYS_LIMIT: Final = "RECEIPT_DAYS"
BILL_DAYS_LIMIT: Final = "BILL_VERSION_DAYS"
DEFAULT_DAYS, FEWEST_DAYS, MOST_DAYS = 90, 7, 1_100
"""The maximum is for an account whose ceilings (`accounts/limits.py`) an operator raised."""
_RECEIPT_BOUNDS: Final = f"Keep receipts for {FEWEST_DAYS} to {MOST_DAYS:,} days."
_BILL_BOUNDS: Final = f"Keep replaced bills for 0 to {MOST_DAYS:,} days."


class AnswerState(AccountModel):
    """Bills and sources at one moment, as answers with receipts read them. Only finops.receipts.records writes rows.

    `segments` and `source_state` are JSON: the rows of the manifest (`encode_segments`), and the texts that
    `load_sources` read with it.
    """

    # No separate index: the index of the constraint begins with the account.
    account = models.ForeignKey(
        "accounts.Account", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    digest = models.CharField(max_length=32)
    segments = models.TextField()
    source_state = models.TextField()
    first_used_at = models.DateTimeField()
    last_used_at = models.DateTimeField(help_text="Rounded to the hour.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "digest"], name="answer_state_once"),
        ]

    def __str__(self) -> str:
        return f"Bills of {self.first_used_at:%Y-%m-%d %H:%M}"


class AnswerReceipt(AccountModel):
    """An answer: tool, arguments, figures, and the state behind them. Only finops.receipts.records writes rows.

    Equal answers of a day share one receipt, issued for the first answer. `cost_access` is a digest of the reader's
    limits, empty for the whole account.
    """

    account = models.ForeignKey(
        "accounts.Account", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    code = models.CharField(max_length=16)
    at = models.DateTimeField()
    tool = models.CharField(max_length=64)
    arguments = models.TextField(help_text="JSON.")
    cost_access = models.CharField(max_length=32, blank=True)
    state = models.ForeignKey(AnswerState, on_delete=models.CASCADE, related_name="receipts")
    expressions = models.CharField(
        max_length=32, help_text="Digest of the queries: cost view, filters, cost tags."
    )
    rates = models.CharField(
        max_length=32, blank=True, help_text="Digest of the exchange rates; empty: none."
    )
    engine = models.CharField(max_length=100)
    first_day = models.DateField(null=True, blank=True)
    last_day = models.DateField(null=True, blank=True)
    has_usage = models.BooleanField(default=False, help_text="Whether it includes usage events.")
    summary = models.CharField(max_length=600)
    answer = models.BinaryField(
        help_text="Figures: the answer without its texts, as JSON compressed by zlib."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "code"], name="answer_receipt_once")]
        indexes = [models.Index(fields=["account", "at"], name="answer_receipt_by_age")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d} {self.tool}"


class ReceiptRetention(AccountModel):
    """The days that the account keeps receipts, and the replaced bills that they name. No row: the defaults."""

    account = models.OneToOneField(
        "accounts.Account", on_delete=models.CASCADE, related_name="receipt_retention"
    )
    days = models.PositiveSmallIntegerField(
        default=DEFAULT_DAYS,
        validators=[
            MinValueValidator(FEWEST_DAYS, _RECEIPT_BOUNDS),
            MaxValueValidator(MOST_DAYS, _RECEIPT_BOUNDS),
        ],
    )
    bill_days = models.PositiveSmallIntegerField(
        default=0, validators=[MaxValueValidator(MOST_DAYS, _BILL_BOUNDS)]
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(days__range=(FEWEST_DAYS, MOST_DAYS)), name="receipt_days_are_bounded"
            ),
            models.CheckConstraint(
                condition=models.Q(bill_days__range=(0, MOST_DAYS)), name="receipt_bill_days_are_bounded"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.days} days, bills {self.bill_days} days"
