"""Cost of a week, for a chat or an email."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import BASIS, GROUP_BY, SOURCE, TEAM
from mcpserver.prompt_builder.days import WEEK, format_range, last_week
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

HEADLINE = "Headline: one sentence with the week's total, its change in percent, and the main reason."
TABLE = "Table of at most 8 rows: {by}, this week, change, share; the row “other” last."
REST = (
    "Changes: at most three bullets, each with amount and cause.",
    ("Monitor: anomalies, budgets and the month-end forecast in one line each, or “nothing to monitor”."),
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
    description=("Weekly spend, changes from the previous week, anomalies, budgets and month-end forecast."),
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
                    "limit": 8,
                },
                f"The week in total, by {by} and by day, vs. the previous week.",
            ),
            Step(
                "explainSpendChange",
                {**date_arguments(week), "group_by": [by], **cost, "limit": 5},
                "Largest changes: new, ended, price vs. volume, and related events.",
            ),
            Step(
                "listAnomalies",
                {"status": "all", **date_arguments(week), "team": team, "cost_source": source, "limit": 5},
                "Unusual spend, including anomalies marked as expected.",
            ),
            Step(
                "forecastSpend",
                {"period": "month", "group_by": [by] if group else [], **cost},
                "Month-end forecast of the current month, with its 80% range.",
            ),
            Step(
                "listBudgets",
                {"statuses": ["warning", "exceeded"], "scopes": scope, "limit": 10},
                "Budgets that are exceeded, or will be."
                + (" Only those of the given team or source." if scope else ""),
            ),
        ],
        answer=[HEADLINE, TABLE.format(by=by), *REST],
        offers=OFFERS,
    )
