"""OpenAI: an organization's daily cost of the API by project, API key, person and line item.

`GET /v1/organization/costs`. Amounts are JSON numbers, read as decimals of their digits, never as floating point. The
supported combinations of groupings depend on the organization and the time; others get a response of 400. The finest
supported grouping is used, so a month may lack people or keys. A line item of the form "gpt-6-astra, input_tokens"
gives model and token type; the API has no service tier, list price, tax or credits.

A check reads the daily totals of five months at once, backwards until five months have no cost: four small requests
for a year. A month's fingerprint is the digest of its days, so a correction of any month is noticed. Facts are from
the types of OpenAI's Python SDK 3.54.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, ClassVar, Final

import msgspec

from finops.connections.connector import (
    HEADER_PATTERN,
    AccessError,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Fetch,
    SecretText,
    SetupStep,
)
from finops.connections.transports.focus_rows import (
    charge_day,
    currency_code,
    exact_text,
    file_of,
    focus_rows,
)
from finops.connections.transports.http import HttpApi, RequestRefusal, path_part
from finops.connections.transports.pages import TokenPage, VendorObject, digest_of, names_by_id, token_pages
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_start

BASE_URL: Final = "https://api.openai.com"
_COSTS, _PROJECTS, _USERS = "/v1/organization/costs", "/v1/organization/projects", "/v1/organization/users"
_FORMAT: Final = "1"
"""Part of every fingerprint. Change it to read all months again after the form of the rows changed."""
_WINDOW_MONTHS: Final = 5
_MAX_WINDOWS: Final = 8
_GROUPINGS: Final = (
    ("project_id", "api_key_id", "user_id", "line_item"),
    ("project_id", "api_key_id", "line_item"),
    ("project_id", "line_item"),
    ("line_item",),
)
"""Groupings, finest first."""

COLUMNS: Final = (
    *("BilledCost", "EffectiveCost", "ContractedCost", "BillingCurrency"),
    *("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeFrequency", "ChargeDescription"),
    *("ServiceProviderName", "ProviderName", "PublisherName", "InvoiceIssuerName"),
    *("ServiceName", "ServiceCategory", "ServiceSubcategory", "SubAccountId", "SubAccountName"),
    *("SkuId", "SkuMeter", "ConsumedQuantity", "ConsumedUnit", "x_Model", "x_TokenType"),
    *("x_UserEmail", "x_UserName", "x_UserId", "x_ApiKeyName", "x_ApiKeyId"),
)


class OpenAiConfig(ConnectorConfig, frozen=True):
    """What a person enters."""

    api_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Admin key",
            description="An Admin key of the organization with read access to usage.",
            examples=["sk-admin-…"],
            min_length=20,
            max_length=400,
            pattern=HEADER_PATTERN,
        ),
    ]


class _Amount(msgspec.Struct, frozen=True):
    value: Decimal | None = None
    currency: str | None = None


class _Cost(msgspec.Struct, frozen=True):
    amount: _Amount | None = None
    project_id: str | None = None
    api_key_id: str | None = None
    user_id: str | None = None
    line_item: str | None = None
    quantity: Decimal | None = None
    quantity_unit: str | None = None


class _Bucket(msgspec.Struct, frozen=True):
    start_time: int
    results: list[_Cost]

    @property
    def day(self) -> date:
        return datetime.fromtimestamp(self.start_time, UTC).date()


class _CostsPage(TokenPage, frozen=True, kw_only=True):
    data: list[_Bucket]


class OpenAiCosts(Connector[OpenAiConfig]):
    name = "openai_costs"
    title = "OpenAI"
    provider = "OpenAI"
    icon = "brand-openai"
    docs_url = "https://platform.openai.com/docs/api-reference/usage/costs"
    description = "API costs by project, API key, person, model and token type."
    changes_while_read = True
    order: ClassVar[int] = 51
    Config = OpenAiConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Open the organization's Admin keys",
                "On platform.openai.com, open Settings > Organization > Admin keys (role: Owner).",
            ),
            SetupStep(
                "Create a key",
                "Create an Admin key. A restricted key requires Usage: Read (api.usage.read). For names, add "
                "Projects: Read and Users: Read (api.management.read).",
            ),
            SetupStep("Enter the key", "Stored encrypted and never shown again."),
        )

    def check(self, config: OpenAiConfig) -> list[CheckFinding]:
        api, today = _api(config).for_check(), clock.today()
        return [
            _finding("Read costs", lambda: list(_buckets(api, month_start(today), today, ()))),
            _finding("Read names of projects", lambda: names_by_id(api, _PROJECTS, [("limit", 1)], "after")),
        ]

    def months(self, config: OpenAiConfig) -> list[BillMonth]:
        api, this_month = _api(config), month_start(clock.today())
        days: dict[date, list[str]] = {}
        end = add_months(this_month, 1)
        for _window in range(_MAX_WINDOWS):
            start = add_months(end, -_WINDOW_MONTHS)
            totals = _daily_totals(api, start, end)
            if not totals:
                break
            days |= totals
            end = start
        oldest = min(days, default=this_month)
        months = (add_months(this_month, -back) for back in range(_WINDOW_MONTHS * _MAX_WINDOWS))
        return [BillMonth(month, _fingerprint(days.get(month, []))) for month in months if month >= oldest]

    def fetch(self, config: OpenAiConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        api = _api(config).for_fetch(fetch)
        path = fetch.folder / f"openai-{month.month:%Y-%m}.parquet"
        names = _Names(api)
        with focus_rows(path, month.month, COLUMNS) as rows:
            for bucket in _buckets_by_group(api, month.month):
                for cost in bucket.results:
                    if cost.amount is not None and cost.amount.value is not None:
                        rows.add(_row(bucket.day, cost, cost.amount.value, names))
        return file_of(path, rows.rows)


def _api(config: OpenAiConfig) -> HttpApi:
    return HttpApi(
        connector=OpenAiCosts.name,
        vendor="OpenAI",
        base_url=BASE_URL,
        headers={"Authorization": f"Bearer {config.api_key}"},
        secrets=(config.api_key,),
        key_fix="Create a new Admin key on platform.openai.com under Settings > Organization > Admin keys and enter "
        "it in this connection. Project keys cannot read costs.",
        scope_fix="Use an Admin key with Usage: Read (api.usage.read). Names require api.management.read.",
    )


def _finding(title: str, attempt: Callable[[], object]) -> CheckFinding:
    try:
        attempt()
    except UserError as error:
        return CheckFinding(title, False, error.message)
    return CheckFinding(title, True)


def _buckets(api: HttpApi, start: date, end: date, groups: Sequence[str]) -> Iterator[_Bucket]:
    """Yield the days of [start, end) with their costs. Days outside belong to the request for their month."""
    params: list[tuple[str, str | int]] = [
        ("start_time", _seconds(start)),
        ("end_time", _seconds(min(end, clock.today() + timedelta(days=1)))),
        ("bucket_width", "1d"),
        ("limit", 180),
        *(("group_by[]", name) for name in groups),
    ]
    for page in token_pages(api, _COSTS, params, _CostsPage):
        yield from (bucket for bucket in page.data if start <= bucket.day < end)


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _buckets_by_group(api: HttpApi, month: date) -> Iterator[_Bucket]:
    """Return the days by the finest supported grouping. Raises RequestRefusal if the coarsest is refused too."""
    for groups in _GROUPINGS:
        buckets = _buckets(api, month, add_months(month, 1), groups)
        try:
            first = next(buckets, None)
        except RequestRefusal as error:
            if error.status != 400 or groups == _GROUPINGS[-1]:
                raise
            continue
        if first is not None:
            yield first
            yield from buckets
        return


def _daily_totals(api: HttpApi, start: date, end: date) -> dict[date, list[str]]:
    """Return a text per day with cost, by month; empty if no day has cost."""
    totals: dict[date, list[str]] = defaultdict(list)
    for bucket in _buckets(api, start, end, ()):
        if bucket.results:
            totals[month_start(bucket.day)].append(f"{bucket.day} {bucket.results}")
    return totals


def _fingerprint(days: Sequence[str]) -> str:
    return f"{_FORMAT}:{digest_of(days)}"


class _Names:
    """Readable names by ID, read when first needed; empty if the key may not read them."""

    def __init__(self, api: HttpApi) -> None:
        self.projects = cache(lambda: _readable_names(api, _PROJECTS, ("include_archived", "true")))
        self.people = cache(lambda: _readable_names(api, _USERS))
        self.keys = cache(
            lambda project_id: _readable_names(api, f"{_PROJECTS}/{path_part(project_id)}/api_keys")
        )


def _readable_names(api: HttpApi, path: str, *params: tuple[str, str | int]) -> dict[str, VendorObject]:
    try:
        return names_by_id(api, path, [("limit", 100), *params], "after")
    except (AccessError, RequestRefusal):
        return {}


def _row(day: date, cost: _Cost, value: Decimal, names: _Names) -> dict[str, str | None]:
    amount = exact_text(value)
    model, token_type = _model_of(cost.line_item or "")
    quantity, unit = _quantity_of(cost)
    project = names.projects().get(cost.project_id) if cost.project_id else None
    return {
        **_SELLER,
        **charge_day(day),
        **_actor_columns(cost, names),
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ContractedCost"), amount),
        "BillingCurrency": currency_code((cost.amount and cost.amount.currency) or ""),
        "ChargeDescription": cost.line_item,
        "SubAccountId": cost.project_id,
        "SubAccountName": project.name if project else None,
        "SkuId": cost.line_item,
        "SkuMeter": cost.line_item,
        "ConsumedQuantity": quantity,
        "ConsumedUnit": unit,
        "x_Model": model,
        "x_TokenType": token_type,
    }


def _actor_columns(cost: _Cost, names: _Names) -> dict[str, str | None]:
    person = names.people().get(cost.user_id) if cost.user_id else None
    key = names.keys(cost.project_id).get(cost.api_key_id) if cost.project_id and cost.api_key_id else None
    return {
        "x_UserEmail": person.email if person else None,
        "x_UserName": person.name if person else None,
        "x_UserId": cost.user_id,
        "x_ApiKeyName": key.name if key else None,
        "x_ApiKeyId": cost.api_key_id,
    }


def _model_of(line_item: str) -> tuple[str | None, str | None]:
    """Return model and token type of "gpt-6-astra, input_tokens"; each is None if a line item, such as a tool call, lacks it."""
    model, comma, kind = line_item.rpartition(", ")
    return (model, kind) if comma and kind.endswith("tokens") else (model or None, None)


_UNITS: Final = {"tokens": ("Tokens", 0), "1000_tokens": ("Tokens", 3)}
"""Name of each unit, and the power of ten that its quantity is multiplied by."""


def _quantity_of(cost: _Cost) -> tuple[str | None, str | None]:
    """Return the quantity; None if the line has no unit because it combines several."""
    if cost.quantity is None or not cost.quantity_unit:
        return None, None
    unit, shift = _UNITS.get(cost.quantity_unit, (cost.quantity_unit.replace("_", " ").capitalize(), 0))
    return exact_text(cost.quantity, shift=shift), unit


_SELLER: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ServiceProviderName", "ProviderName", "PublisherName", "InvoiceIssuerName"), "OpenAI"),
    "ServiceName": "OpenAI API",
    "ServiceCategory": "AI and Machine Learning",
    "ServiceSubcategory": "Generative AI",
    "ChargeCategory": "Usage",
    "ChargeFrequency": "Usage-Based",
}
