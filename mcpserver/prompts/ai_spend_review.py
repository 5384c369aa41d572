"""AI spend by vendor, model, token type, person and key, and what changed."""

from __future__ import annotations

from typing import Any

from finops.costs.dimensions import NONE
from mcpserver.prompt_builder.arguments import AI_VENDOR
from mcpserver.prompt_builder.days import complete_month, month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MONTH = month("the last complete month")

ANSWER = (
    "Headline: billed AI spend by currency, its change in percent, and the model behind it.",
    "Table of at most 10 rows: model, token type, amount, share; lines without a model are other charges, such as seats.",
    "Who: the people and keys with the largest amounts, and how much has neither.",
    "What changed: price or volume, since when.",
    (
        "Cheaper alternatives only as questions: a smaller model, cached input or batch for what is not urgent. No prices are "
        "at hand, so no amount."
    ),
    NEXT,
    LINKS,
)

THEN = (
    (
        "For the model with the largest increase, call `querySpend` again with the arguments of the first call, `granularity` `day` "
        "and a filter on `ai_model`, to see when it started."
    ),
)


@prompt(
    name="ai_spend_review",
    title="AI spend review",
    description="Billed AI spend by vendor, model, token type, person and key, and what changed.",
    arguments=(MONTH, AI_VENDOR),
)
def ai_spend_review(ctx: PromptContext) -> Script:
    days, vendor = ctx.value(MONTH) or complete_month(ctx), ctx.value(AI_VENDOR)
    cost = {**date_arguments(days), "filters": _ai_filters(vendor)}
    return Script(
        task=f"Review our AI spend from {days.start} to {days.end}.",
        only=only(ai_vendor=vendor),
        steps=[
            Step(
                "querySpend",
                {**cost, "group_by": ["ai_vendor"], "compare_to": "previous_period"},
                "Billed AI spend by vendor, vs. the previous month.",
            ),
            Step(
                "querySpend",
                {**cost, "group_by": ["ai_model", "ai_token_type"], "top": 15},
                "By model and token type.",
            ),
            Step(
                "querySpend",
                {**cost, "group_by": ["ai_person", "ai_key"], "top": 10},
                "By person and API key.",
            ),
            Step(
                "explainSpendChange",
                {**cost, "group_by": ["ai_model"], "top": 10},
                "Largest increases and decreases by model, price vs. volume.",
            ),
        ],
        then=THEN,
        answer=ANSWER,
    )


def _ai_filters(vendor: str | None) -> list[dict[str, Any]]:
    if vendor:
        return equality_filters(ai_vendor=vendor)
    return [{"dimension": "ai_vendor", "op": "not_in", "values": [NONE]}]
