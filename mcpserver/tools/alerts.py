"""Tools for alert channels, rules and deliveries. Only people create channels, because channels hold secrets."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.alerts import queries, services
from finops.alerts.schemas import (
    AlertChannelsAnswer,
    AlertDeliveriesAnswer,
    AlertSubscriptionAnswer,
    AlertSubscriptionsAnswer,
    DeliveriesQuery,
    SubscriptionsQuery,
    TriggerName,
)
from finops.alerts.subscription_drafts import SubscriptionDraft
from finops.budgets.schemas import ScopeName
from finops.budgets.scopes import ScopeRows, named_scope
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "alerts/"


class ListAlertChannelsArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    search: str = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 50
    cursor: str = ""


@tool(
    name="listAlertChannels",
    title="List alert channels",
    access=ToolAccess.READ,
    description="Destinations of alerts, without secrets. Members create channels on the Alerts page.",
    examples=[{}, {"search": "ops", "limit": 5}],
)
def list_alert_channels(call: ToolCall, arguments: ListAlertChannelsArguments) -> AlertChannelsAnswer:
    def make_answer(limit: int) -> AlertChannelsAnswer:
        answer = queries.list_alert_channels(
            call.account, search=arguments.search, limit=limit, cursor=arguments.cursor
        )
        return replace(answer, console_url=call.console_url(f"{PAGE}channels/"))

    return largest_that_fits(make_answer, arguments.limit, fits)


@tool(
    name="listAlertSubscriptions",
    title="List alert subscriptions",
    access=ToolAccess.READ,
    description="Which alerts go to which channel: budget thresholds, anomalies, digests.",
    examples=[{}, {"triggers": ["budget"], "limit": 5}],
)
def list_alert_subscriptions(call: ToolCall, arguments: SubscriptionsQuery) -> AlertSubscriptionsAnswer:
    arguments = replace(
        arguments,
        channel=queries.find_channel(arguments.channel),
        budget=queries.find_budget(call.account, arguments.budget),
    )
    url = call.console_url(PAGE, {"trigger": arguments.triggers[0]} if len(arguments.triggers) == 1 else None)

    def make_answer(limit: int) -> AlertSubscriptionsAnswer:
        answer = queries.list_alert_subscriptions(call.account, replace(arguments, limit=limit))
        return replace(answer, console_url=url)

    return largest_that_fits(make_answer, arguments.limit, fits)


@tool(
    name="listAlertDeliveries",
    title="List alert deliveries",
    access=ToolAccess.READ,
    description="Alerts sent, newest first, with delivery status.",
    examples=[{}, {"statuses": ["failed", "waiting"], "include_tests": False, "limit": 5}],
)
def list_alert_deliveries(call: ToolCall, arguments: DeliveriesQuery) -> AlertDeliveriesAnswer:
    arguments = replace(arguments, channel=queries.find_channel(arguments.channel))
    params: dict[str, str] = {"status": arguments.statuses[0]} if len(arguments.statuses) == 1 else {}
    if arguments.channel is not None:
        params["channel"] = str(arguments.channel)
    url = call.console_url(f"{PAGE}deliveries/", params)

    def make_answer(limit: int) -> AlertDeliveriesAnswer:
        answer = queries.list_alert_deliveries(call.account, replace(arguments, limit=limit))
        return replace(answer, console_url=url)

    return largest_that_fits(make_answer, arguments.limit, fits)


class CreateAlertSubscriptionArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    channel: Annotated[int | str, Meta(description="Name or ID, from listAlertChannels.")]
    trigger: Annotated[TriggerName, Meta(description="What it tells of.")]
    budget: Annotated[int | str | None, Meta(description="For trigger budget: name or ID.")] = None
    thresholds: Annotated[list[int], Meta(description="Percent of the budget. Default: 80, 100.")] = []
    measure: Annotated[
        Literal["actual", "forecast"] | None, Meta(description="Of thresholds. Default: actual.")
    ] = None
    scope: Annotated[ScopeName | None, Meta(description=("For anomalies. Default: by the fields below."))] = (
        None
    )
    cost_source: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    team: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    cost_tag: Annotated[int | str | None, Meta(description="Key or ID.")] = None
    cost_tag_value: Annotated[str, Meta(description="Value of cost_tag.")] = ""
    minimum_impact: Annotated[Decimal | None, Meta(description="For anomalies, in whole currency units.")] = (
        None
    )
    currency: Annotated[str, Meta(description="Currency of minimum_impact.")] = ""
    frequency: Annotated[Literal["weekly", "monthly"] | None, Meta(description="For trigger digest.")] = None


@tool(
    name="create_alert_subscription",
    title="Create an alert subscription",
    access=ToolAccess.WRITE,
    description="Sends alerts on budget thresholds, anomalies or a digest to an existing channel.",
    examples=[{"channel": "Ops", "trigger": "anomaly"}],
)
def create_alert_subscription(
    call: ToolCall, arguments: CreateAlertSubscriptionArguments
) -> AlertSubscriptionAnswer:
    created = services.create_alert_subscription(
        account=call.account, actor=call.credential.actor, draft=_draft(arguments)
    )
    answer = queries.new_subscription_answer(call.account, created.subscription.pk, created.notes)
    return replace(answer, console_url=call.console_url(f"{PAGE}subscriptions/{created.subscription.pk}/"))


def _draft(arguments: CreateAlertSubscriptionArguments) -> SubscriptionDraft:
    rows: ScopeRows = {
        "cost_source": arguments.cost_source,
        "team": arguments.team,
        "cost_tag": arguments.cost_tag,
        "cost_tag_value": arguments.cost_tag_value,
    }
    return SubscriptionDraft(
        channel=arguments.channel,
        trigger=arguments.trigger,
        budget=arguments.budget,
        thresholds=arguments.thresholds,
        measure=arguments.measure or "",
        scope=arguments.scope or (named_scope(**rows) if arguments.trigger == "anomaly" else ""),
        **rows,
        minimum_impact=arguments.minimum_impact,
        currency=arguments.currency,
        frequency=arguments.frequency or "",
    )
