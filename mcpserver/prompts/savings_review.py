"""What could be saved, and in which order to go about it."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import CURRENCY, RULE, amount
from mcpserver.prompt_builder.days import complete_month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MINIMUM_SAVING = amount(
    "minimum_saving", "Minimum saving", "Only savings of this much a month or more, in their own currency."
)

ANSWER = (
    "Headline: what could be saved a month in each currency, as the answer's own total says, and by what mostly.",
    "Table of at most 10 rows: what to do, saving a month, effort, risk; in the order in which you would do them.",
    "Waste apart: monthly_waste of unused commitments is paid for already and in no saving; what to use, exchange, sell or not renew.",
    "Do first: low effort and low risk, with the resources it is about.",
    "Ask first: what needs its owner's word, with the question to ask them.",
    "What acting saved so far, or that nothing was acted on yet.",
    NEXT,
    LINKS,
)


@prompt(
    name="savings_review",
    title="Savings review",
    description="What could be saved a month, proven by cost lines: what to do first by saving, effort and risk.",
    arguments=(RULE, MINIMUM_SAVING, CURRENCY),
)
def savings_review(ctx: PromptContext) -> Script:
    rule, currency, minimum_saving = ctx.value(RULE), ctx.value(CURRENCY), ctx.value(MINIMUM_SAVING)
    month = complete_month(ctx)
    filters = equality_filters(currency=currency)
    return Script(
        task="Review what we could save.",
        only=only(currency=currency),
        steps=[
            Step(
                "listSavingsRecommendations",
                {
                    "status": "open",
                    "rule": rule,
                    "min_saving": minimum_saving,
                    "currency": currency,
                    "limit": 20,
                },
                "What cost lines prove could be saved a month, largest first, with formula, effort and risk.",
            ),
            Step(
                "listSavingsRecommendations",
                {
                    "status": "acted",
                    "rule": rule,
                    "min_saving": minimum_saving,
                    "currency": currency,
                    "limit": 10,
                },
                "What was acted on, and what that really saved.",
            ),
            Step(
                "querySpend",
                {**date_arguments(month), "group_by": ["service"], "filters": filters, "top": 10},
                "The last complete month by service, to weigh the savings against.",
            ),
            Step(
                "getCommitmentUtilization",
                {**date_arguments(month), "by": "type", "filters": filters},
                "How well commitments of that month were used: nobody buys more of what lies idle.",
            ),
        ],
        answer=ANSWER,
    )
