"""Unusual spend and its causes."""

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
    "Minimum absolute impact, in the anomaly's currency.",
)

ANSWER = (
    "Headline: how many open anomalies, the impact of the worst, and whether it is ongoing.",
    "Table of at most 10 rows: service, source, days, actual against expected, impact so far, at month end.",
    "For the two worst: the likely cause in one sentence, with the figures that show it, and how sure you are.",
    "Whether the data is complete, and whether an alert is set up for the next one.",
    NEXT,
    ("For intended spend (a launch, a migration): say that a member can mark it as expected on its page."),
    LINKS,
)

OFFERS = {
    "create_alert_subscription": (
        "with `trigger` `anomaly` and a `minimum_impact` in its `currency`, if no alert on anomalies "
        "exists, with a channel of `listAlertChannels`."
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
    description="Open anomalies by impact, with month-end impact, likely cause and data quality.",
    arguments=(MONTH, SOURCE, MINIMUM_IMPACT, CURRENCY),
)
def anomaly_check(ctx: PromptContext) -> Script:
    days = ctx.value(MONTH) or recent_days(ctx, DAYS)
    source = ctx.value(SOURCE)
    currency = ctx.value(CURRENCY)
    size = {"minimum_impact": ctx.value(MINIMUM_IMPACT), "currency": currency, "cost_source": source}
    filters = equality_filters(source=source, currency=currency)
    return Script(
        task=f"Check the cost from {days.start} to {days.end} for anomalies.",
        only=only(source=source, currency=currency),
        steps=[
            Step(
                "listAnomalies",
                {"status": "open", **date_arguments(days), **size, "limit": 10},
                ("Open anomalies, worst first, with impact so far, impact at month end and root causes."),
            ),
            Step(
                "listAnomalies",
                {"status": "expected", **date_arguments(days), **size, "limit": 5},
                "Anomalies marked as expected, with notes: not news, but may explain an open one.",
            ),
            Step(
                "explainSpendChange",
                {**date_arguments(days), "group_by": ["service"], "filters": filters, "limit": 5},
                "The anomalies' share of the total change, and related change events.",
            ),
            Step(
                "querySpend",
                {
                    **date_arguments(days),
                    "granularity": "day",
                    "group_by": ["service"],
                    "filters": filters,
                    "limit": 5,
                },
                "The days of the largest services, to see when it began and whether it is over.",
            ),
            Step(
                "getDataHealth",
                {},
                "Whether a gap, a late bill or a restated month explains it instead.",
            ),
            Step("listAlertSubscriptions", {"triggers": ["anomaly"]}, "Alerts on anomalies."),
        ],
        then=THEN,
        answer=ANSWER,
        offers=OFFERS,
    )
