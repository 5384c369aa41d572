"""Potential savings in the recommended order."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import CURRENCY, RULE, amount
from mcpserver.prompt_builder.days import complete_month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MINIMUM_SAVING = amount("minimum_saving", "Minimum saving", "Minimum monthly savings, in their currency.")

ANSWER = (
    "Headline: potential monthly savings by currency, from the answer's total, and the main source.",
    "Table of at most 10 rows: action, monthly savings, effort, risk; in recommended order.",
    (
        "Waste separately: monthly_waste of unused commitments is already paid for and not in savings; "
        "what to use, exchange, sell or not renew."
    ),
    "Do first: low effort and low risk, with the resources it is about.",
    "Ask first: what needs the owner's approval, with the question to ask.",
    "Realized savings so far, or that none is marked as done.",
    NEXT,
    LINKS,
)


@prompt(
    name="savings_review",
    title="Savings review",
    description="Potential monthly savings, by amount, effort and risk.",
    arguments=(RULE, MINIMUM_SAVING, CURRENCY),
)
def savings_review(ctx: PromptContext) -> Script:
    rule, currency, minimum_saving = ctx.value(RULE), ctx.value(CURRENCY), ctx.value(MINIMUM_SAVING)
    month = complete_month(ctx)
    filters = equality_filters(currency=currency)
    return Script(
        task="Review our potential savings.",
        only=only(currency=currency),
        steps=[
            Step(
                "listSavingsRecommendations",
                {
                    "status": "open",
                    "rule": rule,
                    "minimum_saving": minimum_saving,
                    "currency": currency,
                    "limit": 20,
                },
                (
                    "Potential monthly savings proven by cost lines, largest first, with formula, effort "
                    "and risk."
                ),
            ),
            Step(
                "listSavingsRecommendations",
                {
                    "status": "acted",
                    "rule": rule,
                    "minimum_saving": minimum_saving,
                    "currency": currency,
                    "limit": 10,
                },
                "Recommendations marked as done, and their realized savings.",
            ),
            Step(
                "querySpend",
                {**date_arguments(month), "group_by": ["service"], "filters": filters, "limit": 10},
                "The last complete month by service, to compare with the savings.",
            ),
            Step(
                "getCommitmentUtilization",
                {**date_arguments(month), "group_by": ["type"], "filters": filters},
                "Utilization of commitments in that month: do not buy more of what is unused.",
            ),
        ],
        answer=ANSWER,
    )
