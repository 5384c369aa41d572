"""What costs something else than expected, and why."""

from __future__ import annotations

from mcpserver.prompt_builder.arguments import CURRENCY, SOURCE, amount
from mcpserver.prompt_builder.days import month, recent_days
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

DAYS = 30
MONTH = month(f"the last {DAYS} days")
MINIMUM_IMPACT = amount(
    "minimum_impact",
    "Minimum impact",
    "Only anomalies of this size or more, up or down, in their own currency.",
)

ANSWER = (
    "Headline: how many open anomalies, the impact of the worst, and whether it still goes on.",
    "Table of at most 10 rows: service, source, days, actual against expected, impact so far, at month end.",
    "For the two worst: the likely cause in one sentence, with the figures that show it, and how sure you are.",
    "Whether the data is sound, and whether anybody is told of the next one.",
    NEXT,
    "What looks meant (a launch, a migration): say that a person marks it as expected on its page.",
    LINKS,
)

OFFERS = {
    "create_alert_subscription": (
        "with `trigger` `anomaly` and a `minimum_impact` in its `currency`, when nobody is told of anomalies, through a "
        "channel that `listAlertChannels` has."
    ),
}

THEN = (
    (
        "For each of the two worst open anomalies call `querySpend` again for its own days and the week before them, with "
        "`granularity` `day`, the filters above and one on its dimension and value, and `group_by` the dimension of its "
        "first root cause."
    ),
)


@prompt(
    name="anomaly_check",
    title="Anomaly check",
    description="Open anomalies, worst first: what each costs by month end, its likely cause, and whether the data is sound.",
    arguments=(MONTH, SOURCE, MINIMUM_IMPACT, CURRENCY),
)
def anomaly_check(ctx: PromptContext) -> Script:
    days = ctx.value(MONTH) or recent_days(ctx, DAYS)
    source = ctx.value(SOURCE)
    currency = ctx.value(CURRENCY)
    size = {"min_impact": ctx.value(MINIMUM_IMPACT), "currency": currency, "source": source}
    filters = equality_filters(source=source, currency=currency)
    return Script(
        task=f"Check the cost from {days.start} to {days.end} for anomalies.",
        only=only(source=source, currency=currency),
        steps=[
            Step(
                "listAnomalies",
                {"state": "open", **date_arguments(days), **size, "limit": 10},
                "What nobody has explained yet, worst first, with impact so far, impact at month end and root causes.",
            ),
            Step(
                "listAnomalies",
                {"state": "expected", **date_arguments(days), **size, "limit": 5},
                "What people marked as expected, with their notes: no news, but it may explain an open one.",
            ),
            Step(
                "explainSpendChange",
                {**date_arguments(days), "group_by": ["service"], "filters": filters, "top": 5},
                "How large the anomalies are beside the whole change, and which change events stand beside them.",
            ),
            Step(
                "querySpend",
                {
                    **date_arguments(days),
                    "granularity": "day",
                    "group_by": ["service"],
                    "filters": filters,
                    "top": 5,
                },
                "The days of the largest services, to see when it began and whether it is over.",
            ),
            Step(
                "getDataHealth",
                {},
                "Whether a gap, a late bill or a restated month explains it instead.",
            ),
            Step("listAlertSubscriptions", {"trigger": ["anomaly"]}, "Who is told of the next one."),
        ],
        then=THEN,
        answer=ANSWER,
        offers=OFFERS,
    )
