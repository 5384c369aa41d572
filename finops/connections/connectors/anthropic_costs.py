"""Anthropic: an organization's daily cost of Claude by workspace, API key, person, model and token type.

The Usage and cost analytics API (`/v1/organizations/analytics/cost`, beta) if the key may read it, else the older
`cost_report`, which has workspaces and models but no API keys and no people. Both return amounts after discounts and
before credits, in fractional cents as text; neither has tax or credits, which are only on Anthropic's invoice.

A check reads the daily totals of this month and the one before (two small requests) and compares them: a change of
any day reads its month again. Older months are final: they are read once, after they became two months old. Facts are
from Anthropic's API reference and the types of its Python SDK 2.12 (group_by takes at most 5 dimensions besides
cost_type and token_type; at most 31 days per request; the last 365 days, from 2026-01-01).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, ClassVar, Final, Literal

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
from finops.connections.transports.http import HttpApi
from finops.connections.transports.pages import digest_of, names_by_id
from finops.connections.vendor_apis.anthropic import (
    ANALYTICS,
    LEGACY,
    WORKSPACES,
    ClaudeActor,
    ClaudeCost,
    ClaudeGroup,
    ClaudeNames,
    analytics_costs,
    daily_totals,
    names_of,
    report_costs,
)
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_start

BASE_URL: Final = "https://api.anthropic.com"
_SETTLED: Final = "settled"
_FORMAT: Final = "1"
"""Part of every fingerprint. Change it to read all months again after the form of the rows changed."""
_FIRST_DAY: Final = date(2026, 1, 1)
_HISTORY: Final = timedelta(days=365)
_CENTS: Final = -2

_GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "Claude Console": ("workspace_id", "api_key_id", "actor", "model", "service_tier"),
    "Claude Enterprise": ("product", "actor", "model"),
}

COLUMNS: Final = (
    *("BilledCost", "EffectiveCost", "ContractedCost", "ListCost", "BillingCurrency"),
    *("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeFrequency", "ChargeDescription"),
    *("ServiceProviderName", "ProviderName", "PublisherName", "InvoiceIssuerName"),
    *("ServiceName", "ServiceCategory", "ServiceSubcategory", "BillingAccountId", "BillingAccountName"),
    *("SubAccountId", "SubAccountName", "SkuId", "SkuMeter", "ConsumedQuantity", "ConsumedUnit"),
    *("x_Model", "x_TokenType", "x_ServiceTier", "x_Product", "x_CostType", "x_ContextWindow"),
    *("x_UserEmail", "x_UserName", "x_UserId", "x_IamPrincipal", "x_ApiKeyName", "x_ApiKeyId"),
)


class AnthropicConfig(ConnectorConfig, frozen=True):
    """What a person enters."""

    api_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="API key",
            description="An Admin key, or a key with the scope read:analytics.",
            examples=["sk-ant-admin01-…"],
            min_length=20,
            max_length=400,
            pattern=HEADER_PATTERN,
        ),
    ]
    organization: Annotated[
        Literal["Claude Console", "Claude Enterprise"],
        msgspec.Meta(
            title="Organization",
            description="Console costs are split by workspace, key and person; Enterprise by product and person.",
        ),
    ] = "Claude Console"


class AnthropicCosts(Connector[AnthropicConfig]):
    name = "anthropic_costs"
    title = "Anthropic"
    provider = "Anthropic"
    icon = "sparkles"
    docs_url = "https://platform.claude.com/docs/en/manage-claude/usage-cost-analytics-api"
    description = "Claude costs by workspace, API key, person, model and token type."
    changes_while_read = True
    order: ClassVar[int] = 50
    Config = AnthropicConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Open the organization's keys",
                "In the Claude Console, open Settings > Admin keys (role: Admin). In Claude Enterprise, open "
                "Organization settings > API keys (role: Owner).",
            ),
            SetupStep(
                "Create a key",
                "Create an Admin key, or a key with the scope read:analytics. Names of workspaces and API keys "
                "require an Admin key.",
            ),
            SetupStep("Enter the key", "Stored encrypted and never shown again."),
        )

    def check(self, config: AnthropicConfig) -> list[CheckFinding]:
        api = _api(config).for_check()
        title = "Read costs"
        try:
            kind, _days = daily_totals(api, month_start(clock.today()))
            if kind == LEGACY:
                title = "Read costs by workspace and model. API keys and people need a key with the scope read:analytics"
        except UserError as error:
            return [CheckFinding(title, False, error.message)]
        try:
            names_by_id(api, WORKSPACES, [("limit", 1000)], "after_id")
            of_names = "Read names of workspaces and API keys"
        except AccessError:
            of_names = "Ids of workspaces and API keys are shown, since names need an Admin key"
        except UserError as error:
            return [CheckFinding(title, True), CheckFinding("Read names of workspaces", False, error.message)]
        return [CheckFinding(title, True), CheckFinding(of_names, True)]

    def months(self, config: AnthropicConfig) -> list[BillMonth]:
        api, this_month = _api(config), month_start(clock.today())
        kind, days = daily_totals(api, this_month)
        months = [BillMonth(this_month, _fingerprint(kind, days))]
        for month in _earlier_months(kind, this_month):
            if month == add_months(this_month, -1):
                _kind, days = daily_totals(api, month, kind)
                months.append(BillMonth(month, _fingerprint(kind, days)))
            else:
                months.append(BillMonth(month, f"{kind}:{_FORMAT}:{_SETTLED}"))
        return months

    def fetch(self, config: AnthropicConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        api = _api(config).for_fetch(fetch)
        path = fetch.folder / f"anthropic-{month.month:%Y-%m}.parquet"
        names = names_of(api)
        of_report = month.fingerprint.startswith(LEGACY)
        costs = (
            report_costs(api, month.month)
            if of_report
            else analytics_costs(api, month.month, _GROUPS[config.organization])
        )
        with focus_rows(path, month.month, COLUMNS) as rows:
            for cost in costs:
                rows.add(_row(cost, names, config.organization))
        return file_of(path, rows.rows)


def _api(config: AnthropicConfig) -> HttpApi:
    return HttpApi(
        connector=AnthropicCosts.name,
        vendor="Anthropic",
        base_url=BASE_URL,
        headers={
            "x-api-key": config.api_key,
            "anthropic-version": "2023-06-01",
            "anthropic-beta": "analytics-usage-cost-2026-08-24",
        },
        secrets=(config.api_key,),
        key_fix="Create a new key in the Claude Console under Settings > Admin keys and enter it in this connection.",
        scope_fix="Use an Admin key or a key with the scope read:analytics. Workspace keys cannot read costs.",
    )


def _earlier_months(kind: str, this_month: date) -> list[date]:
    """Return the earlier months that the API has completely, newest first. The first hours of the 365th day are no
    longer available."""
    first = _FIRST_DAY if kind == ANALYTICS else date.min
    months = [add_months(this_month, -back) for back in range(1, 13)]
    return [month for month in months if month >= first and month > clock.today() - _HISTORY]


def _fingerprint(kind: str, days: Sequence[str]) -> str:
    return f"{kind}:{_FORMAT}:{digest_of(days)}"


def _row(cost: ClaudeCost, names: ClaudeNames, organization: str) -> dict[str, str | None]:
    """Return a FOCUS row. `amount` is after discounts: billed, effective and contracted cost; `list_amount` is before them."""
    group, money = cost.group, cost.money
    amount = exact_text(money.amount, shift=_CENTS)
    kind = group.token_type or group.cost_type
    workspace = names.workspaces.get(group.workspace_id or "")
    return {
        **_SELLER,
        **charge_day(cost.day),
        **_actor_columns(group, names),
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ContractedCost"), amount),
        "ListCost": None if money.list_amount is None else exact_text(money.list_amount, shift=_CENTS),
        "BillingCurrency": currency_code(money.currency),
        "ChargeDescription": group.description or " ".join(filter(None, (group.model, _plain(kind)))) or None,
        "ServiceName": "Claude API" if organization == "Claude Console" else organization,
        "BillingAccountId": names.organization.id if names.organization else None,
        "BillingAccountName": names.organization.name if names.organization else None,
        "SubAccountId": group.workspace_id,
        "SubAccountName": workspace.name if workspace else None,
        "SkuId": "/".join(filter(None, (group.model, kind))) or None,
        "SkuMeter": _plain(kind),
        "ConsumedQuantity": None if cost.quantity is None else str(cost.quantity),
        "ConsumedUnit": None if cost.quantity is None else "Tokens" if group.token_type else "Searches",
        "x_Model": group.model,
        "x_TokenType": group.token_type,
        "x_ServiceTier": group.service_tier,
        "x_Product": group.product,
        "x_CostType": group.cost_type,
        "x_ContextWindow": group.context_window,
    }


def _actor_columns(group: ClaudeGroup, names: ClaudeNames) -> dict[str, str | None]:
    """Return the columns of the person, service account or cloud identity, and of the key that authenticated."""
    actor = group.actor or ClaudeActor()
    key_id = group.api_key_id or actor.api_key_id
    key = names.api_keys.get(key_id or "")
    return {
        "x_UserEmail": actor.email_address,
        "x_UserName": actor.name,
        "x_UserId": actor.user_id or actor.service_account_id,
        "x_IamPrincipal": actor.subject,
        "x_ApiKeyName": key.name if key else None,
        "x_ApiKeyId": key_id,
    }


_SELLER: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("ServiceProviderName", "ProviderName", "PublisherName", "InvoiceIssuerName"), "Anthropic"
    ),
    "ServiceCategory": "AI and Machine Learning",
    "ServiceSubcategory": "Generative AI",
    "ChargeCategory": "Usage",
    "ChargeFrequency": "Usage-Based",
}


def _plain(kind: str | None) -> str | None:
    """Return a token type as words, for example of "cache_creation.ephemeral_5m_input_tokens"."""
    return kind.rpartition(".")[2].replace("_", " ").capitalize() if kind else None
