"""What Lumenly's assistants asked in the last five weeks: more on working days, now and then wrongly."""

from __future__ import annotations

import random
from collections.abc import Iterator
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

# Tool, arguments, page of the console, usual milliseconds, usual bytes, how often.
_ASKED: tuple[tuple[str, dict[str, Any], str, float, int, int], ...] = (
    ("getAccountContext", {}, "", 41, 4_900, 9),
    ("querySpend", {"period": "month_to_date"}, "cost-explorer/?period=month_to_date", 16, 1_400, 6),
    (
        "querySpend",
        {"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"},
        "cost-explorer/?period=last_month&group_by=service&compare_to=previous_period",
        27,
        7_000,
        8,
    ),
    (
        "querySpend",
        {
            "period": "last_30_days",
            "granularity": "day",
            "group_by": ["team"],
            "filters": [{"dimension": "provider", "op": "in", "values": ["AWS"]}],
        },
        "cost-explorer/?period=last_30_days&granularity=day&group_by=team&f0=provider&f0v=AWS",
        38,
        10_700,
        5,
    ),
    ("explainSpendChange", {"period": "last_7_days"}, "spend-change/?period=last_7_days", 96, 9_200, 5),
    ("listAnomalies", {}, "anomalies/", 14, 3_100, 4),
    ("listBudgets", {"status": ["exceeded", "warning"]}, "budgets/?status=exceeded", 62, 2_600, 3),
    ("queryUnitCost", {"metric": "Cost per 1,000 requests"}, "unit-economics/", 71, 5_400, 3),
    ("listSavingsRecommendations", {}, "savings/", 180, 8_800, 2),
    ("listDimensionValues", {"dimension": "service", "search": "sql"}, "", 22, 900, 3),
    ("forecastSpend", {"period": "this_month"}, "forecast/", 240, 6_100, 2),
)
_WRONG = (
    (
        "querySpend",
        {"group_by": ["services"]},
        "group_by: 'services' is not known. Nearest: service, service_category.",
    ),
    (
        "queryUsage",
        {"metric": "request"},
        "metric: 'request' is not known. Nearest: requests. queryUsage lists them.",
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
    weights = [often for *_rest, often in _ASKED]
    for ago in range(DAYS, -1, -1):
        day = clock.today() - timedelta(days=ago)
        busy = A_WORKING_DAY if day.weekday() < 5 else 4
        for _ in range(chance.randint(busy // 2, busy)):
            at = datetime.combine(
                day, time(chance.randint(7, 17), chance.randrange(60), chance.randrange(60)), UTC
            )
            credential = credentials[0] if chance.random() < 0.8 else chance.choice(credentials)
            if at < clock.now():
                yield _call(credential, at, chance, chance.choices(_ASKED, weights)[0])


def _call(
    credential: Credential,
    at: datetime,
    chance: random.Random,
    asked: tuple[str, dict[str, Any], str, float, int, int],
) -> NotedCall:
    name, arguments, page, usual, size, _often = asked
    if chance.random() < 0.04:
        wrong, given, problem = chance.choice(_WRONG)
        return noted_call(
            credential=credential,
            at=at,
            method=Method.TOOL,
            name=wrong,
            arguments=given,
            milliseconds=chance.uniform(0.5, 3),
            answer_bytes=len(problem),
            outcome=Outcome.ERROR,
            problem=problem,
        )
    if chance.random() < 0.04:
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
    return noted_call(
        credential=credential,
        at=at,
        method=Method.TOOL,
        name=name,
        arguments=arguments,
        milliseconds=usual * chance.lognormvariate(0, 0.35),
        answer_bytes=round(size * chance.uniform(0.6, 1.3)),
        outcome=Outcome.OK,
        console_page=page,
    )
