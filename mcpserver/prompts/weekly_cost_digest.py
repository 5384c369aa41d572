"""What a week cost, for a chat or a mail."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import BASIS, GROUP_BY, SOURCE, TEAM
from mcpserver.prompt_builder.days import WEEK, format_range, last_week
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

HEADLINE = "Headline: one sentence with the week's total, its change in percent, and the main reason."
TABLE = "Table of at most 8 rows: {by}, this week, change, share; the row “other” last."
REST = (
    "What moved: at most three bullets, each an amount and its cause.",
    "Watch: anomalies, budgets and the month's forecast in a line each, or “nothing to watch”.",
    NEXT,
    LINKS,
)
OFFERS = {
    "create_alert_subscription": (
        "with `trigger` `digest` and `frequency` `weekly`, when I want one without asking, through a channel that "
        "`listAlertChannels` has."
    ),
}


@prompt(
    name="weekly_cost_digest",
    title="Weekly cost digest",
    description="What a week cost, what moved against the week before, and what to watch: anomalies, budgets, month end.",
    arguments=(WEEK, TEAM, SOURCE, GROUP_BY, BASIS),
)
def weekly_cost_digest(ctx: PromptContext) -> Script:
    week = ctx.value(WEEK) or last_week(ctx)
    team, source, basis = ctx.value(TEAM), ctx.value(SOURCE), ctx.value(BASIS)
    group = ctx.value(GROUP_BY)
    by = group.name if group else "service"
    cost = {"filters": equality_filters(team=team, source=source), "basis": basis}
    scope = [name for name, value in {"team": team, "cost_source": source}.items() if value]
    return Script(
        task=f"Write my cost digest of the week from {format_range(week)}.",
        only=only(team=team, source=source),
        steps=[
            Step(
                "querySpend",
                {
                    **date_arguments(week),
                    "granularity": "day",
                    "group_by": [by],
                    **cost,
                    "compare_to": "previous_period",
                    "top": 8,
                },
                f"The week in total, by {by} and by day, against the week before.",
            ),
            Step(
                "explainSpendChange",
                {**date_arguments(week), "group_by": [by], **cost, "top": 5},
                "What moved most: new, gone, price against volume, and what happened beside it.",
            ),
            Step(
                "listAnomalies",
                {"state": "all", **date_arguments(week), "team": team, "source": source, "limit": 5},
                "Days that cost something else than expected, also those marked as expected.",
            ),
            Step(
                "forecastSpend",
                {"period": "month", "group_by": [by] if group else [], **cost},
                "What the current month will have cost at its end, with its band.",
            ),
            Step(
                "listBudgets",
                {"status": ["warning", "exceeded"], "scope": scope, "limit": 10},
                "Budgets that are exceeded, or will be."
                + (" Of these only those of the team or source that I named." if scope else ""),
            ),
        ],
        answer=[HEADLINE, TABLE.format(by=by), *REST],
        offers=OFFERS,
    )
