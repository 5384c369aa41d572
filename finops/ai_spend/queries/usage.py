"""Tokens, sessions and seats in usage: the metrics that count them, and their quantities by model, token type, day
and group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

import ibis

from accounts.models import Account
from finops.ai_spend.naming import plain_text, token_type_of
from finops.lake import queries as lake_queries
from finops.lake.engine import engine
from finops.lake.schema import Kind, dimension_column
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from ingestion.models import UsageMetric
from ingestion.queries import MetricQuery, MetricUsage, find_metric
from ingestion.queries.usage import read_metric

MODEL_KEYS: Final = ("model", "gen_ai.request.model", "gen_ai.response.model", "llm.model", "model_name")
TOKEN_TYPE_KEYS: Final = ("token_type", "type", "gen_ai.token.type", "direction")
GROUP_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "person": ("user.email", "user_email", "email", "user.account_uuid", "user.id", "user_id", "user"),
    "key": ("api_key", "api_key_alias", "user_api_key_alias", "api_key_id", "key"),
    "feature": ("feature", "product", "app", "application"),
    "team": ("team", "team.id", "team_alias"),
}
"""Usage dimensions for each group; the first one that an event has applies."""

_TOKENS: Final = re.compile(r"(^|[-.])tokens?([-.]|$)")
_NO_COUNT: Final = re.compile(r"(^|[-.])(total|cost|price|requests?|limit|budget)([-.]|$)")
_SESSIONS: Final = re.compile(r"(^|[-.])sessions?([-.]|$)")
_SEATS: Final = re.compile(r"(^|[-.])seats?([-.]|$)")
_AI: Final = re.compile(r"(^|[-.])(ai|llm|claude|copilot|assistant|agent|chat)")

MAX_ROWS: Final = 200_000


def token_metrics(metrics: Sequence[UsageMetric], metric_name: str) -> list[UsageMetric]:
    """Metrics that count tokens by their names (`litellm_tokens.prompt_tokens`, `claude_code.token.usage`) and are no
    total or cost of tokens, or only the one with this name. Raises UserError for a metric that the account does not have.
    """
    if metric_name:
        return [find_metric(metrics, metric_name)]
    return [metric for metric in metrics if metric.aggregation == "sum" and _counts_tokens(metric.name)]


def _counts_tokens(name: str) -> bool:
    plain = plain_text(name)
    return bool(_TOKENS.search(plain)) and not _NO_COUNT.search(plain)


def session_metric(metrics: Sequence[UsageMetric], metric_name: str) -> UsageMetric | None:
    """The metric that counts sessions: the chosen one, or else by its name, AI sessions first."""
    return _metric(metrics, metric_name, _SESSIONS, ("sum",))


def seat_metric(metrics: Sequence[UsageMetric], metric_name: str) -> UsageMetric | None:
    """The gauge that counts seats: the chosen one, or else by its name, AI seats first."""
    return _metric(metrics, metric_name, _SEATS, ("average_of_days", "last", "max"))


def _metric(
    metrics: Sequence[UsageMetric], metric_name: str, rule: re.Pattern[str], aggregations: Sequence[str]
) -> UsageMetric | None:
    if metric_name:
        return find_metric(metrics, metric_name)
    named = [
        metric
        for metric in metrics
        if metric.aggregation in aggregations and rule.search(plain_text(metric.name))
    ]
    return min(named, key=lambda metric: (not _AI.search(plain_text(metric.name)), metric.name), default=None)


class UsageTokens(NamedTuple):
    """Tokens of one model and token type on a day. `model` is empty if the events have none; `value` is that of the
    group, None without."""

    model: str
    token_type: str
    day: date
    value: str | None
    tokens: Decimal


@dataclass(frozen=True)
class _TokensBuild:
    """Sums by metric, model, text of the token type, day and group."""

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    token_types: tuple[str, ...]
    group: tuple[str, ...]
    by_customer: bool

    def __call__(self, table: Any) -> Any:
        events = table.filter(table.metric.isin(self.metrics))
        return events.group_by(
            metric=events.metric,
            model=_first(events, self.models),
            token_type=_first(events, self.token_types),
            value=events.customer_id if self.by_customer else _first(events, self.group),
            day=events.day,
        ).aggregate(tokens=events.quantity.sum())


def _first(events: Any, keys: Sequence[str]) -> Any:
    columns = [events[dimension_column(key)].nullif("") for key in keys]
    return ibis.coalesce(*columns) if columns else ibis.null("string")


def read_tokens(
    account: Account,
    metrics: Sequence[UsageMetric],
    days: DateRange,
    group: str,
    deadline: float | None,
) -> list[UsageTokens]:
    """Tokens by model, token type and day, and by `group` if usage has a dimension for it. One query and one lake
    query; none without metrics. Raises UserError for too many groups."""
    if not metrics:
        return []
    own_keys = set(lake_queries.dimension_keys(account))
    models, kinds, groups = (
        tuple(key for key in keys if key in own_keys)
        for keys in (MODEL_KEYS, TOKEN_TYPE_KEYS, GROUP_KEYS.get(group, ()))
    )
    names = tuple(metric.name for metric in metrics)
    build = _TokensBuild(names, models, kinds, groups, group == "customer")
    keys = list(dict.fromkeys([*models, *kinds, *groups]))
    table = engine.run(account, Kind.USAGE, days.start, days.end, build, tag_keys=keys, deadline=deadline)
    if table.num_rows > MAX_ROWS:
        raise UserError(
            f"More than {MAX_ROWS:,} sums of tokens by day and {group}. Use fewer days, or group by model.",
            field="group_by",
        )
    return [
        UsageTokens(
            row["model"] or "",
            token_type_of(row["token_type"] or "") or token_type_of(row["metric"]),
            row["day"],
            row["value"],
            row["tokens"],
        )
        for row in table.to_pylist()
    ]


def read_by_day(
    account: Account, metric: UsageMetric, days: DateRange, deadline: float | None
) -> MetricUsage:
    """A metric's quantity over the range, and by day. One lake query."""
    query = MetricQuery(metric.name, days, granularity="day")
    return read_metric(account, metric, query, deadline=deadline)
