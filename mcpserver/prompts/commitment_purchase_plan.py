"""The hourly commitment to buy, its risk, and what the same advice would have saved in the past."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import PROVIDER, percent
from mcpserver.prompt_builder.days import complete_month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

DISCOUNT = percent(
    "discount_percent",
    "Discount in percent",
    "Of the quote, against on-demand prices. Default: what usage covered by commitments has.",
    suggestions=("10", "20", "30", "40", "50"),
    above=0,
    below=100,
)

THEN = (
    (
        "When `planCommitmentPurchase` is refused because the discount is unknown, ask me for the discount of the quote, in percent "
        "against on-demand prices, and call again with `discount_percent`. Never take a typical one. I can also enter it on the page that "
        "the refusal names: give me its address."
    ),
    (
        "For each plan with a commitment, call `simulateCost` with the same `filters`, filtered by the `provider` of the plan, and one entry "
        "of `purchases`: the plan's `per_hour`, `discount_percent` and `currency`. When I expect usage to change, add `growth`."
    ),
)

ANSWER = (
    "Headline: what to commit per hour with each provider, or that nothing is worth it; the discount, and whether it was entered.",
    "Last 60 days: `committed`, `saving`, `utilization`, `coverage`, of each plan.",
    "Table, the back-test: month, on demand, saving of this advice, savings of the vendor's rules; a month that is null with its reason.",
    "Risk: `break_even_utilization`, and `tolerated_fall` compared with `largest_fall`, in one sentence.",
    "What existing commitments waste and what expires soon: use or renew that before anything is bought.",
    "Every assumption of the answers, in a short list.",
    NEXT,
    LINKS,
)


@prompt(
    name="commitment_purchase_plan",
    title="Plan a commitment purchase",
    description="Hourly commitment to buy, its break-even and risk, and a back-test of the plan.",
    arguments=(PROVIDER, DISCOUNT),
)
def commitment_purchase_plan(ctx: PromptContext) -> Script:
    provider, discount = ctx.value(PROVIDER), ctx.value(DISCOUNT)
    filters, days = equality_filters(provider=provider), date_arguments(complete_month(ctx))
    return Script(
        task="Plan a purchase of commitments.",
        only=only(provider=provider),
        steps=[
            Step(
                "getCommitmentUtilization",
                {**days, "by": "commitment", "filters": filters, "top": 15},
                "What existing commitments waste, and what expires.",
            ),
            Step(
                "querySpend",
                {
                    **days,
                    "group_by": ["pricing_category", "service"],
                    "filters": filters,
                    "basis": "amortized",
                    "top": 12,
                },
                "On-demand and committed spend by service.",
            ),
            Step(
                "planCommitmentPurchase",
                {"filters": filters, "discount_percent": discount},
                "The advice for each provider, its risk and its back-test.",
            ),
            Step(
                "listSavingsRecommendations",
                {"status": "open", "rule": "steady_on_demand", "provider": provider, "limit": 10},
                "Which steady on-demand usage it is about.",
            ),
        ],
        then=THEN,
        answer=ANSWER,
    )
