"""What Lumenly's assistants asked in the last five weeks: more on working days, now and then wrongly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Account, MCPKey
from finops.activity.calls import NotedCall, noted_call
from finops.activity.models import AssistantCall, Method, Outcome
from finops.activity.writing import store
from finops.lib import clock

DAYS = 35
A_WORKING_DAY = 26

MEND_AFTER = timedelta(seconds=6)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A call as an assistant makes it: what is usual of its answer, and how often it is asked beside the others.

    `problem` is what the tool answers to wrong arguments; `mended` is then asked next.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    milliseconds: float = 2
    answer_bytes: int = 0
    often: int = 0
    problem: str = ""
    mended: Asked | None = None


CONTEXT = Asked(tool="getAccountContext", milliseconds=41, answer_bytes=4_900, often=9)
BY_SERVICE = Asked(
    tool="querySpend",
    arguments={"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"},
    page="cost-explorer/?period=last_month&group_by=service&compare_to=previous_period",
    milliseconds=27,
    answer_bytes=7_000,
    often=8,
)
REQUESTS = Asked(
    tool="queryUsage",
    arguments={"metric": "requests", "period": "last_month", "group_by": "customer"},
    page="usage/?metric=requests&period=last_month&group_by=customer",
    milliseconds=48,
    answer_bytes=2_000,
    often=4,
)
UNIT_COST = Asked(
    tool="queryUnitCost",
    arguments={"unit_metric": "Cost per 1,000 requests"},
    page="unit-economics/?unit_metric=Cost+per+1%2C000+requests",
    milliseconds=71,
    answer_bytes=1_000,
    often=3,
)
ASKED = (
    CONTEXT,
    BY_SERVICE,
    REQUESTS,
    UNIT_COST,
    Asked(
        tool="querySpend",
        arguments={"period": "month_to_date"},
        page="cost-explorer/?period=month_to_date",
        milliseconds=16,
        answer_bytes=1_400,
        often=6,
    ),
    Asked(
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
    Asked(
        tool="queryUsage",
        arguments={"metric": "seats"},
        page="usage/?metric=seats",
        milliseconds=33,
        answer_bytes=700,
        often=2,
    ),
    Asked(
        tool="explainSpendChange",
        arguments={"period": "last_7_days"},
        page="spend-change/?period=last_7_days",
        milliseconds=96,
        answer_bytes=10_400,
        often=5,
    ),
    Asked(tool="listAnomalies", page="anomalies/?state=open", milliseconds=14, answer_bytes=6_300, often=4),
    Asked(
        tool="listBudgets",
        arguments={"status": ["exceeded", "warning"]},
        page="budgets/",
        milliseconds=62,
        answer_bytes=2_600,
        often=3,
    ),
    Asked(
        tool="listSavingsRecommendations",
        page="savings/?status=open",
        milliseconds=180,
        answer_bytes=13_200,
        often=2,
    ),
    Asked(
        tool="listDimensionValues",
        arguments={"dimension": "service", "search": "sql"},
        milliseconds=22,
        answer_bytes=750,
        often=3,
    ),
    Asked(
        tool="forecastSpend",
        arguments={"period": "this_month"},
        page="forecast/",
        milliseconds=240,
        answer_bytes=1_800,
        often=2,
    ),
)
WRONG = (
    Asked(
        tool="querySpend",
        arguments={**BY_SERVICE.arguments, "group_by": ["services"]},
        problem="group_by: 'services' is not known. Nearest: service, service_category, source, provider. "
        "getAccountContext lists them.",
        mended=BY_SERVICE,
    ),
    Asked(
        tool="queryUsage",
        arguments={**REQUESTS.arguments, "metric": "request"},
        problem="metric: 'request' is not known. Nearest: requests, revenue. getAccountContext lists them.",
        mended=REQUESTS,
    ),
    Asked(
        tool="queryUnitCost",
        arguments={"metric": "Cost per 1,000 requests"},
        problem='queryUnitCost has no argument "metric". Nearest: unit_metric, usage_metric, period.',
        mended=UNIT_COST,
    ),
)
_PROMPTS = ("weekly_cost_digest", "top_cost_drivers", "savings_review")


def ensure_activity(account: Account) -> None:
    """The account must be in scope. Does nothing when something was asked already."""
    keys = list(MCPKey.objects.filter(revoked_at=None).order_by("pk"))
    if AssistantCall.objects.exists() or not keys:
        return
    chance = random.Random(8)  # noqa: S311 invented data
    store(list(_calls([_credential(key, account) for key in keys], chance)))


def _credential(key: MCPKey, account: Account) -> Credential:
    label = f"{key.name} ({key.masked})"
    return Credential(CredentialKind.MCP_KEY, key.pk, account, Access(key.scope), label, Actor.of_key(key))


def _calls(credentials: list[Credential], chance: random.Random) -> Iterator[NotedCall]:
    for ago in range(DAYS, -1, -1):
        day = clock.today() - timedelta(days=ago)
        busy = A_WORKING_DAY if day.weekday() < 5 else 4
        for _ in range(chance.randint(busy // 2, busy)):
            at = datetime.combine(
                day, time(chance.randint(7, 17), chance.randrange(60), chance.randrange(60)), UTC
            )
            credential = credentials[0] if chance.random() < 0.8 else chance.choice(credentials)
            if at < clock.now() - MEND_AFTER:
                yield from _at(at, credential, chance)


def _at(at: datetime, credential: Credential, chance: random.Random) -> Iterator[NotedCall]:
    """A question, or a prompt, or a mistake and a moment later what was meant."""
    kind = chance.random()
    if kind < 0.04:
        yield _prompt(at, credential, chance)
    elif kind < 0.08:
        wrong = chance.choice(WRONG)
        yield _call(wrong, at, credential, chance)
        if wrong.mended:
            yield _call(wrong.mended, at + MEND_AFTER, credential, chance)
    else:
        (asked,) = chance.choices(ASKED, [each.often for each in ASKED])
        yield _call(asked, at, credential, chance)


def _prompt(at: datetime, credential: Credential, chance: random.Random) -> NotedCall:
    return noted_call(
        credential=credential,
        at=at,
        method=Method.PROMPT,
        name=chance.choice(_PROMPTS),
        arguments={},
        milliseconds=chance.uniform(0.2, 2),
        answer_bytes=chance.randint(900, 1_800),
        outcome=Outcome.OK,
    )


def _call(asked: Asked, at: datetime, credential: Credential, chance: random.Random) -> NotedCall:
    answer_bytes = round(asked.answer_bytes * chance.uniform(0.6, 1.3))
    return noted_call(
        credential=credential,
        at=at,
        method=Method.TOOL,
        name=asked.tool,
        arguments=asked.arguments,
        milliseconds=asked.milliseconds * chance.lognormvariate(0, 0.35),
        answer_bytes=len(asked.problem) or answer_bytes,
        outcome=Outcome.ERROR if asked.problem else Outcome.OK,
        problem=asked.problem,
        console_page=asked.page,
    )
