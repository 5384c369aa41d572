"""The list of shared-cost splits, and what each moves."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.splits import list_splits
from finops.allocation.services.splits import delete_split
from finops.allocation.splits.schemas import ListedSplit
from finops.lib.listing import Column, ListPage

SHOWN_TARGETS = 3


@dataclass(frozen=True)
class SplitLine:
    """A row of the list of splits."""

    info: ListedSplit

    @property
    def method(self) -> str:
        return f"By {self.info.usage_metric}" if self.info.usage_metric else METHODS[self.info.method]

    @property
    def targets(self) -> list[str]:
        if self.info.every_customer:
            return ["all customers"]
        return [
            f"{each.value} {each.percent:f}%" if each.percent is not None else each.value
            for each in self.info.targets
        ]

    @property
    def shown_targets(self) -> str:
        names = self.targets
        more = len(names) + self.info.other_targets * (not self.info.every_customer) - SHOWN_TARGETS
        return ", ".join(names[:SHOWN_TARGETS]) + (f" and {more} more" if more > 0 else "")

    @property
    def days(self) -> str:
        if not self.info.valid_from and not self.info.valid_to:
            return "Always"
        return f"{self.info.valid_from or '…'} to {self.info.valid_to or '…'}"

    def moved_amount(self, currency: str) -> Decimal | None:
        return next((part.amount for part in self.info.moved if part.currency == currency), None)


METHODS = {"even": "Even", "proportional": "By their cost", "fixed": "Fixed", "usage": "By usage"}


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    answer = list_splits(request.account)
    lines = [SplitLine(split) for split in answer.splits]
    declared = ListPage(
        name="shared-costs",
        title="Shared-cost splits",
        noun="split",
        order="name",
        columns=_columns(_currencies(lines)),
    )
    return declared.response(request, lines, "allocation/splits.html", {"answer": answer})


def _currencies(lines: list[SplitLine]) -> list[str]:
    """Return the currencies, the one with the largest moves first."""
    sums: dict[str, Decimal] = {}
    for line in lines:
        for part in line.info.moved:
            sums[part.currency] = sums.get(part.currency, Decimal(0)) + abs(part.amount)
    return sorted(sums, key=lambda currency: -sums[currency])


def _columns(currencies: list[str]) -> list[Column[SplitLine]]:
    columns: list[Column[SplitLine]] = [
        Column("name", "Split", lambda line: line.info.name),
        Column(
            "source", "Shared cost", lambda line: line.info.source_value, css="cell-name", help="shared-cost"
        ),
        Column("dimension", "Dimension", lambda line: line.info.dimension, shown=False),
        Column("method", "Method", lambda line: line.method),
        Column("targets", "Among", lambda line: line.targets, css="cell-name"),
        Column("days", "Days", lambda line: line.days, css="nowrap"),
    ]
    money = [
        Column[SplitLine](
            f"moved_{place}" if place else "moved",
            "Moved last month" if not place else f"Moved, {currency}",
            _moved_column(currency),
            numeric=True,
            shown=not place,
        )
        for place, currency in enumerate(currencies or ["USD"])
    ]
    currency = Column[SplitLine]("currency", "Currency", lambda _line: (currencies or [""])[0], shown=False)
    return [*columns, *money, currency]


def _moved_column(currency: str) -> Any:
    return lambda line: line.moved_amount(currency)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, split_id: int) -> HttpResponse:
    split = get_object_or_404(SharedCostSplit.objects.all(), pk=split_id)
    with ErrorMessages(request):
        delete_split(split=split, actor=request.actor)
        messages.success(
            request, f"Split {split.name} deleted. Cost of {split.source_value} is no longer split."
        )
    return redirect("splits", slug=request.account.slug)
