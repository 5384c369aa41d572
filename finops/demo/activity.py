"""Calls by Lumenly's assistants in the last five weeks: more on working days, some with errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account, MCPKey
from finops.activity.calls import CallRecord, call_record, store
from finops.activity.models import AssistantCall, CallMethod, CallOutcome
from finops.lib import clock

DAYS = 35
A_WORKING_DAY = 26

CORRECTION_DELAY = timedelta(seconds=6)


@dataclass(frozen=True, kw_only=True)
class SampleCall:
    """A call by an assistant: typical values of its answer, and its relative frequency.

    `problem` is the tool's error for invalid arguments; `corrected_call` is the next call then.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    milliseconds: float = 2
    answer_bytes: int = 0
    often: int = 0
    problem: str = ""
    corrected_call: SampleCall | None = None


CONTEXT = SampleCall(tool="getAccountContext", milliseconds=41, answer_bytes=4_900, often=9)
BY_SERVICE = SampleCall(
    tool="querySpend",
    arguments={"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"},
    page="cost-explorer/?period=last_month&group_by=service&compare_to=previous_period",
    milliseconds=27,
    answer_bytes=7_000,
    often=8,
)
REQUESTS = SampleCall(
    tool="queryUsage",
    arguments={"usage_metric": "requests", "period": "last_month", "group_by": ["customer"]},
    page="usage/?usage_metric=requests&period=last_month&group_by=customer",
    milliseconds=48,
    answer_bytes=2_000,
    often=4,
)
UNIT_COST = SampleCall(
    tool="queryUnitCost",
    arguments={"unit_metric": "Cost per 1,000 requests"},
    page="unit-economics/?unit_metric=Cost+per+1%2C000+requests",
    milliseconds=71,
    answer_bytes=1_000,
    often=3,
)
SAMPLE_CALLS = (
    CONTEXT,
    BY_SERVICE,
    REQUESTS,
    UNIT_COST,
    SampleCall(
        tool="querySpend",
        arguments={"period": "month_to_date"},
        page="cost-explorer/?period=month_to_date",
        milliseconds=16,
        answer_bytes=1_400,
        often=6,
    ),
    SampleCall(
        tool="querySpend",
        arguments={
            "period": "last_30_days",
            "granularity": "day",
            "group_by": ["team"],
            "filters": [{"dimension": "provider", "op": "in", "values": ["AWS"]}],
        },
        page="cost-explorer/?period=last_30_days&granularity=day&group_by=team&f0=provider&f0op=in&f0v=AWS",
        milliseconds=38,
        answer_bytes=6_900,
        often=5,
    ),
    SampleCall(
        tool="queryUsage",
        arguments={"usage_metric": "seats"},
        page="usage/?usage_metric=seats",
        milliseconds=33,
        answer_bytes=700,
        often=2,
    ),
    SampleCall(
        tool="explainSpendChange",
        arguments={"period": "last_7_days"},
        page="spend-change/?period=last_7_days",
        milliseconds=96,
        answer_bytes=10_400,
        often=5,
    ),
    SampleCall(
        tool="listAnomalies", page="anomalies/?state=open", milliseconds=14, answer_bytes=6_300, often=4
    ),
    SampleCall(
        tool="listBudgets",
        arguments={"statuses": ["exceeded", "warning"]},
        page="budgets/",
        milliseconds=62,
        answer_bytes=2_600,
        often=3,
    ),
    SampleCall(
        tool="listSavingsRecommendations",
        page="savings/?status=open",
        milliseconds=180,
        answer_bytes=13_200,
        often=2,
    ),
    SampleCall(
        tool="listDimensionValues",
        arguments={"dimension": "service", "search": "sql"},
        milliseconds=22,
        answer_bytes=750,
        often=3,
    ),
    SampleCall(
        tool="forecastSpend",
        arguments={"period": "this_month"},
        page="forecast/",
        milliseconds=240,
        answer_bytes=1_800,
        often=2,
    ),
)
FAILED_CALLS = (
    SampleCall(
        tool="querySpend",
        arguments={**BY_SERVICE.arguments, "group_by": ["services"]},
        problem="group_by: 'services' does not exist. Nearest: service, service_category, source, provider. "
        "Use getAccountContext.",
        corrected_call=BY_SERVICE,
    ),
    SampleCall(
        tool="queryUsage",
        arguments={**REQUESTS.arguments, "usage_metric": "request"},
        problem="usage_metric: 'request' does not exist. Nearest: requests, revenue. Use getAccountContext.",
        corrected_call=REQUESTS,
    ),
    SampleCall(
        tool="queryUnitCost",
        arguments={"metric": "Cost per 1,000 requests"},
        problem='queryUnitCost has no argument "metric". It is called "usage_metric".',
        corrected_call=UNIT_COST,
    ),
)
_PROMPTS = ("weekly_cost_digest", "top_cost_drivers", "savings_review")


def ensure_activity(account: Account) -> None:
    """Create the calls. The account must be in scope. Does nothing when there are calls already."""
    keys = list(MCPKey.objects.filter(revoked_at=None).order_by("pk"))
    if AssistantCall.objects.exists() or not keys:
        return
    chance = random.Random(8)  # noqa: S311 invented data
    store(list(_calls([_credential(key, account) for key in keys], chance)))


def _credential(key: MCPKey, account: Account) -> Credential:
    label = f"{key.name} ({key.masked_key})"
    return Credential(CredentialKind.MCP_KEY, key.pk, account, Access(key.scope), label, Actor.of_key(key))


def _calls(credentials: list[Credential], chance: random.Random) -> Iterator[CallRecord]:
    for ago in range(DAYS, -1, -1):
        day = clock.today() - timedelta(days=ago)
        busy = A_WORKING_DAY if day.weekday() < 5 else 4
        for _ in range(chance.randint(busy // 2, busy)):
            at = datetime.combine(
                day, time(chance.randint(7, 17), chance.randrange(60), chance.randrange(60)), UTC
            )
            credential = credentials[0] if chance.random() < 0.8 else chance.choice(credentials)
            if at < clock.now() - CORRECTION_DELAY:
                yield from _calls_at(at, credential, chance)


def _calls_at(at: datetime, credential: Credential, chance: random.Random) -> Iterator[CallRecord]:
    """Return a query, or a prompt, or an invalid call followed by the corrected one."""
    kind = chance.random()
    if kind < 0.04:
        yield _prompt(at, credential, chance)
    elif kind < 0.08:
        wrong = chance.choice(FAILED_CALLS)
        yield _call(wrong, at, credential, chance)
        if wrong.corrected_call:
            yield _call(wrong.corrected_call, at + CORRECTION_DELAY, credential, chance)
    else:
        (sample,) = chance.choices(SAMPLE_CALLS, [each.often for each in SAMPLE_CALLS])
        yield _call(sample, at, credential, chance)


def _prompt(at: datetime, credential: Credential, chance: random.Random) -> CallRecord:
    return call_record(
        credential=credential,
        at=at,
        method=CallMethod.PROMPT,
        name=chance.choice(_PROMPTS),
        arguments={},
        milliseconds=chance.uniform(0.2, 2),
        answer_bytes=chance.randint(900, 1_800),
        outcome=CallOutcome.OK,
    )


def _call(sample: SampleCall, at: datetime, credential: Credential, chance: random.Random) -> CallRecord:
    answer_bytes = round(sample.answer_bytes * chance.uniform(0.6, 1.3))
    return call_record(
        credential=credential,
        at=at,
        method=CallMethod.TOOL,
        name=sample.tool,
        arguments=sample.arguments,
        milliseconds=sample.milliseconds * chance.lognormvariate(0, 0.35),
        answer_bytes=len(sample.problem) or answer_bytes,
        outcome=CallOutcome.ERROR if sample.problem else CallOutcome.OK,
        problem=sample.problem,
        console_page=sample.page,
    )
