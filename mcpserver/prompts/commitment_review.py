"""Utilization of reserved instances and savings plans, and whether to buy, keep or drop them."""

from __future__ import annotations

from finops.lib.periods import DateRange, add_months
from mcpserver.prompt_builder.arguments import PROVIDER
from mcpserver.prompt_builder.days import complete_month, month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MONTH = month("the last complete month")
TREND_MONTHS = 6

ANSWER = (
    "Headline: utilization, coverage, waste and effective savings rate of these days in each currency, with the prices it is of; a figure that is null with its reason.",
    "Table of at most 10 rows: commitment, utilization, waste, its savings rate, expires.",
    "Trend: better or worse over the months, in one sentence.",
    "What expires within 90 days, and whether to renew all, less or nothing.",
    (
        "What to buy, only where use is steady and existing commitments are well used; what to move onto "
        "unused commitments."
    ),
    NEXT,
    LINKS,
)


@prompt(
    name="commitment_review",
    title="Commitment review",
    description="Utilization, coverage, waste and expiry of reservations and savings plans.",
    arguments=(MONTH, PROVIDER),
)
def commitment_review(ctx: PromptContext) -> Script:
    days = ctx.value(MONTH) or complete_month(ctx)
    provider = ctx.value(PROVIDER)
    filters = equality_filters(provider=provider)
    trend = DateRange(add_months(days.start, 1 - TREND_MONTHS), days.end)
    return Script(
        task=f"Review our commitments from {days.start} to {days.end}.",
        only=only(provider=provider),
        steps=[
            Step(
                "getCommitmentUtilization",
                {**date_arguments(days), "group_by": ["commitment"], "filters": filters, "limit": 15},
                "Each commitment: utilization, waste, commitment_savings_rate, expiry, most waste first; totals: effective_savings_rate of all eligible usage.",
            ),
            Step(
                "getCommitmentUtilization",
                {**date_arguments(trend), "group_by": ["type"], "granularity": "month", "filters": filters},
                f"Utilization and coverage by type, month by month over {TREND_MONTHS} months.",
            ),
            Step(
                "querySpend",
                {
                    **date_arguments(days),
                    "group_by": ["pricing_category", "service"],
                    "filters": filters,
                    "basis": "amortized",
                    "limit": 12,
                },
                "On-demand and committed spend by service.",
            ),
            Step(
                "listSavingsRecommendations",
                {"status": "open", "rule": "unused_commitment", "provider": provider, "limit": 10},
                "Monthly cost of unused commitments.",
            ),
            Step(
                "listSavingsRecommendations",
                {"status": "open", "rule": "steady_on_demand", "provider": provider, "limit": 10},
                "Steady on-demand usage that a commitment would cover.",
            ),
        ],
        answer=ANSWER,
    )
