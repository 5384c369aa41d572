"""The figures of an answer, by what they are of."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.evaluation.truth import PLACES, Figures

Answer = Mapping[str, Any]


def exact(number: float | str | None) -> Decimal:
    return Decimal(str(number or 0)).quantize(PLACES)


def totals(answer: Answer) -> Figures:
    return {(each["currency"],): exact(each["amount"]) for each in answer["totals"]}


def rows(answer: Answer) -> Figures:
    """Without the row of all others."""
    result: Figures = {}
    for row in answer["rows"]:
        names = [_plain(value) for value in row["group"].values()]
        if not row.get("is_other") and "other" not in names:
            result[(*names, row["currency"])] = exact(row["amount"])
    return result


def series(answer: Answer) -> Figures:
    return {
        (bucket, each["currency"]): exact(amount)
        for each in answer["totals"]
        for bucket, amount in each["series"]["amounts"].items()
    }


def _plain(value: str | None) -> str:
    return "None" if value is None or value.startswith("(") else value


def changes(answer: Answer) -> Figures:
    return {(each["currency"],): exact(each["change"]) for each in answer["totals"]}
