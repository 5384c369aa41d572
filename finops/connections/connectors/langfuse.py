"""Langfuse: tokens, calls and their cost per day by user and model, by its metrics API.

The second version of that API does not group by users, so users are read by the first version. Other customer fields
are read by the second version, or by the first if the server has no second. An answer has at most 1,000 rows: a full
answer is read again in halves, down to an hour.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, Literal

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    HEADER_PATTERN,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
)
from finops.connections.transports.http import HttpApi, RequestRefusal
from finops.connections.transports.json_lines import UsageFiles, usage_files
from finops.connections.transports.pages import digest_of
from finops.connections.transports.recent_months import recent_months
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import month_end

TOKENS, CALLS, COST = "llm_tokens", "llm_calls", "llm_cost_usd"
SETTLED: Final = digest_of(["settled"])
MAX_ROWS: Final = 1_000
"""Most rows of an answer, a limit of Langfuse."""
HOUR: Final = timedelta(hours=1)
FIELDS: Final = {
    "user": "userId",
    "environment": "environment",
    "release": "release",
    "trace_name": "traceName",
}
MODEL: Final = "providedModelName"
_METRICS: Final = [
    {"measure": "count", "aggregation": "count"},
    {"measure": "inputTokens", "aggregation": "sum"},
    {"measure": "outputTokens", "aggregation": "sum"},
    {"measure": "totalCost", "aggregation": "sum"},
]
_COLUMNS: Final = ("count_count", "sum_inputTokens", "sum_outputTokens", "sum_totalCost")

_decode: Final = msgspec.json.Decoder(float_hook=Decimal).decode

Totals = tuple[Decimal, ...]
"""Values in the order of _COLUMNS."""


class LangfuseConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A project's keys, and what of its traces names the customer."""

    url: Annotated[
        str,
        msgspec.Meta(
            title="Address",
            description="URL of Langfuse Cloud in your region, or of your own server.",
            examples=["https://cloud.langfuse.com"],
            pattern=r"^https?://[^\s?#]+$",
            max_length=500,
        ),
    ] = "https://cloud.langfuse.com"
    public_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Public key",
            examples=["pk-lf-…"],
            min_length=10,
            max_length=200,
            pattern=HEADER_PATTERN,
        ),
    ]
    secret_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Secret key",
            examples=["sk-lf-…"],
            min_length=10,
            max_length=200,
            pattern=HEADER_PATTERN,
        ),
    ]
    customer_field: Annotated[
        Literal["user", "environment", "release", "trace_name"],
        msgspec.Meta(title="Customer", description="What of a trace names the customer."),
    ] = "user"


class _Answer(msgspec.Struct, frozen=True):
    """An answer. Numbers may be texts; the row of a day without data has no dimensions."""

    data: list[dict[str, msgspec.Raw]] = []


class Langfuse(Connector[LangfuseConfig]):
    name = "langfuse"
    title = "Langfuse"
    provider = "Langfuse"
    icon = "message-chatbot"
    docs_url = "https://langfuse.com/docs/metrics/features/metrics-api"
    description = "Usage: tokens, calls and cost of language models by user and model."
    order = 850
    contents = Contents.USAGE
    changes_while_read = True
    Config = LangfuseConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create API keys",
                "In the project's Settings > API Keys. Langfuse has no read-only keys: use keys of this console alone, so that you can "
                "revoke them.",
            ),
            SetupStep(
                "Choose a schedule",
                "A sync without news makes 2 requests. Langfuse Cloud limits requests to its metrics API by plan, from 100 a day.",
            ),
        )

    def check(self, config: LangfuseConfig) -> list[CheckFinding]:
        with check_list() as checks:
            end = clock.now()
            api = _api(config).for_check()
            rows = checks.attempt(
                "Read the metrics of the last 24 hours",
                lambda: _answer(api, config, end - timedelta(days=1), end, [FIELDS[config.customer_field]]),
            )
            names = sorted({name for row in rows if (name := _text(row, FIELDS[config.customer_field]))})
            title = (
                f"Read the first customers: {', '.join(names[:3])}"
                if names
                else "The last 24 hours have none"
            )
            checks.findings.append(CheckFinding(title, True))
        return checks.findings

    def months(self, config: LangfuseConfig) -> list[BillMonth]:
        def fingerprint_of(month: date) -> str:
            rows = _answer(_api(config), config, *_window(month), [])
            return digest_of(f"{_day_of(row)} {_totals(row)}" for row in rows if any(_totals(row)))

        return recent_months(fingerprint_of, settled=SETTLED)

    def fetch(self, config: LangfuseConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        field = FIELDS[config.customer_field]
        sums: dict[tuple[date, str, str], Totals] = {}
        for row in _rows(_api(config).for_fetch(fetch), config, *_window(month.month), [field, MODEL]):
            key = (_day_of(row), _text(row, field), _text(row, MODEL))
            before = sums.get(key, (Decimal(),) * len(_COLUMNS))
            sums[key] = tuple(total + more for total, more in zip(before, _totals(row), strict=True))
        nameless = sum(any(totals) for (_day, customer, _model), totals in sums.items() if not customer)
        if nameless:
            fetch.notes.append(
                f"{nameless:,} sums by day and model have no {config.customer_field.replace('_', ' ')} and were left out."
            )
        with usage_files(fetch, month.month) as files:
            for (day, customer, model), totals in sorted(sums.items()):
                if customer:
                    _add(files, day, customer, model, totals)
        return files.files()


def _add(files: UsageFiles, day: date, customer: str, model: str, totals: Totals) -> None:
    calls, input_tokens, output_tokens, cost = totals
    dimensions = {"model": model} if model else {}
    for metric, quantity, unit, more in (
        # Spans without a model are not calls.
        (CALLS, calls if model else Decimal(), None, {}),
        (TOKENS, input_tokens, "tokens", {"token_type": "input"}),
        (TOKENS, output_tokens, "tokens", {"token_type": "output"}),
        (COST, cost, "USD", {}),
    ):
        if quantity:
            files.add(
                customer=customer,
                metric=metric,
                quantity=quantity,
                unit=unit,
                moment=datetime(day.year, day.month, day.day, tzinfo=UTC),
                dimensions={**dimensions, **more} or None,
            )


def _api(config: LangfuseConfig) -> HttpApi:
    pair = base64.b64encode(f"{config.public_key}:{config.secret_key}".encode()).decode()
    return HttpApi(
        connector=Langfuse.name,
        vendor="Langfuse",
        base_url=config.url.rstrip("/"),
        headers={"Authorization": f"Basic {pair}"},
        secrets=(config.public_key, config.secret_key, pair),
        key_fix="Check the keys and the address of your region, and enter new keys in this connection.",
        scope_fix="The keys must be of a project.",
    )


def _window(month: date) -> tuple[datetime, datetime]:
    """Return the start of the month and its end or now; the end is exclusive."""
    start = datetime(month.year, month.month, 1, tzinfo=UTC)
    last = month_end(month)
    return start, min(datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1), clock.now())


def _rows(
    api: HttpApi, config: LangfuseConfig, start: datetime, end: datetime, fields: Sequence[str]
) -> Iterator[Mapping[str, msgspec.Raw]]:
    """Yield all rows of the time span. The rows of one day may come in several parts, which add up."""
    rows = _answer(api, config, start, end, fields)
    if len(rows) < MAX_ROWS:
        yield from rows
    elif (middle := _middle(start, end)) is None:
        raise SourceError(
            f"Langfuse has {MAX_ROWS:,} or more customers and models in the hour of {start:%Y-%m-%d %H:%M}. "
            "Choose another customer field.",
            field="customer_field",
        )
    else:
        yield from _rows(api, config, start, middle, fields)
        yield from _rows(api, config, middle, end, fields)


def _middle(start: datetime, end: datetime) -> datetime | None:
    """Return the time that halves the span: midnight, or a whole hour within a day; None if there is none."""
    for step in (timedelta(days=1), HOUR):
        steps = (end - start) // step
        if steps > 1 or (steps == 1 and start + step < end):
            return start + max(1, steps // 2) * step
    return None


def _answer(
    api: HttpApi, config: LangfuseConfig, start: datetime, end: datetime, fields: Sequence[str]
) -> list[dict[str, msgspec.Raw]]:
    query = {
        "view": "observations",
        "dimensions": [{"field": name} for name in fields],
        "metrics": _METRICS,
        "filters": [],
        "timeDimension": {"granularity": "day"},
        "fromTimestamp": _moment(start),
        # Langfuse's end is inclusive.
        "toTimestamp": _moment(end - timedelta(milliseconds=1)),
        "orderBy": None,
        "config": {"row_limit": MAX_ROWS},
    }
    params = [("query", msgspec.json.encode(query).decode())]
    if config.customer_field != "user":
        try:
            return api.get("/api/public/v2/metrics", params, _Answer).data
        except RequestRefusal as refusal:
            if refusal.status != 404:
                raise
    return api.get("/api/public/metrics", params, _Answer).data


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(row: Mapping[str, msgspec.Raw], name: str) -> Any:
    raw = row.get(name)
    return _decode(raw) if raw is not None else None


def _text(row: Mapping[str, msgspec.Raw], name: str) -> str:
    value = _value(row, name)
    return value if isinstance(value, str) else ""


def _day_of(row: Mapping[str, msgspec.Raw]) -> date:
    try:
        return date.fromisoformat(_text(row, "time_dimension")[:10])
    except ValueError as error:
        raise SourceError(
            "Langfuse returned a row without a day. This console may need an update."
        ) from error


def _totals(row: Mapping[str, msgspec.Raw]) -> Totals:
    return tuple(_number(row, name) for name in _COLUMNS)


def _number(row: Mapping[str, msgspec.Raw], name: str) -> Decimal:
    """Return the number; an empty value is zero. Raises SourceError for anything else."""
    value = _value(row, name)
    try:
        number = Decimal(value or 0)
    except (InvalidOperation, TypeError, ValueError) as error:
        raise SourceError(
            f"Langfuse returned no number as {name}. This console may need an update."
        ) from error
    return number if number.is_finite() else Decimal()
