"""The cost of a month under other assumptions."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import PROVIDER, percent
from mcpserver.prompt_builder.days import complete_month, month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MONTH = month("the last complete month")
GROWTH = percent(
    "growth_percent",
    "Usage growth in percent",
    "Growth of all usage; below 0 for a fall. Default: 10.",
    suggestions=("10", "25", "50", "100", "-10"),
    above=-100,
    below=10_000,
)
DEFAULT_GROWTH = 10

ANSWER = (
    "Headline: what the month cost and would have cost in each currency, with the change, for each assumption.",
    "Table: assumption, change, currency, from `effects`.",
    "What is in neither figure: each entry of `left_out` with its reason.",
    "Every entry of `assumptions`, in a short list.",
    NEXT,
    LINKS,
)


@prompt(
    name="cost_simulation",
    title="What if",
    description="What a month would have cost with usage growth, without commitments, or under your own assumptions.",
    arguments=(MONTH, GROWTH, PROVIDER),
)
def cost_simulation(ctx: PromptContext) -> Script:
    days = ctx.value(MONTH) or complete_month(ctx)
    growth, provider = ctx.value(GROWTH), ctx.value(PROVIDER)
    filters = equality_filters(provider=provider)
    scope = {**date_arguments(days), "filters": filters}
    rate = DEFAULT_GROWTH if growth is None else growth
    return Script(
        task=f"What would {days.start} to {days.end} have cost under other assumptions?",
        only=only(provider=provider),
        steps=[
            Step(
                "querySpend",
                {**scope, "group_by": ["service"], "basis": "amortized", "top": 10},
                "What it cost, by service: where an assumption matters.",
            ),
            Step(
                "simulateCost", {**scope, "growth": [{"percent": rate}]}, f"With {rate} percent more usage."
            ),
            Step("simulateCost", {**scope, "commitments": "end"}, "Without any commitment."),
        ],
        then=[
            (
                "When I name another assumption, call `simulateCost` with it: `growth` of one service or by a usage `metric`, `purchases` "
                "of commitments, `ending` ones, `prices`, `regions`, `models`. Ask me for what it needs, such as a discount or price; "
                "never assume one."
            )
        ],
        answer=ANSWER,
    )
