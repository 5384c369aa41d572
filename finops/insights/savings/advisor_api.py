"""Cost recommendations of Azure Advisor by Azure Resource Manager, with the app registration of a connection to Azure.

`GET /subscriptions/{id}/providers/Microsoft.Advisor/recommendations` of each subscription in the bill; needs
Microsoft.Advisor/recommendations/read, which Reader has. Azure refreshes them daily. Advisor lists one purchase up to six times,
by term (1 and 3 years) and lookback (7, 30 and 60 days), and reservations beside a savings plan for the same usage: those are
alternatives (`provider_recommendations`). What people dismissed or postponed at Azure is not open.
Source: learn.microsoft.com/rest/api/advisor/recommendations/list (2023-01-01), and
learn.microsoft.com/azure/advisor/advisor-how-to-calculate-total-cost-savings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from finops.connections.azure import AzureBlobConfig, is_of_azure, open_management
from finops.connections.checks import check_list
from finops.connections.connector import AccessError, CheckFinding, ConnectorConfig, SourceError
from finops.connections.transports.http import HttpApi, path_part
from finops.insights.savings.candidates import ADVISOR
from finops.insights.savings.recommendation_api import (
    LONGEST,
    BilledAccount,
    RecommendationApi,
    RecommendationList,
    RecommendationRow,
    amount_of,
    days_of,
    moment_of,
    plain_text,
    read_each,
    share_of_amount,
)
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError

NAME: Final = "azure_advisor"
"""Its name in CONNECTOR_BASE_URLS."""
PERMISSION: Final = "Microsoft.Advisor/recommendations/read"
_VERSION: Final = "2023-01-01"
_SUBSCRIPTIONS_VERSION: Final = "2022-12-01"
_GUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COMPUTE: Final = frozenset({"virtualmachines", "dedicatedhost", "appservice"})
"""Types of reserved resources whose usage a savings plan for compute covers too."""
_VIRTUAL_MACHINES: Final = "84b1a508-fc21-49da-979e-96894f1665df"
"""Type id of reserved virtual machines, whose recommendations may name no resource type."""
_PLAN: Final = "Savings plan for compute"


class _Description(msgspec.Struct, frozen=True):
    problem: str = ""
    solution: str = ""


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    resource_id: str | None = None


class _Properties(msgspec.Struct, frozen=True, rename="camel"):
    category: str = ""
    impact: str = ""
    impacted_field: str | None = None
    impacted_value: str | None = None
    last_updated: str = ""
    recommendation_type_id: str = ""
    short_description: _Description = _Description()
    resource_metadata: _Resource | None = None
    extended_properties: dict[str, Any] | None = None
    suppression_ids: list[str] | None = None
    tracked: bool | None = None


class _Item(msgspec.Struct, frozen=True):
    name: str
    properties: _Properties


class _Page(msgspec.Struct, frozen=True, rename="camel"):
    value: list[_Item]
    next_link: str | None = None


class _Subscription(msgspec.Struct, frozen=True, rename="camel"):
    subscription_id: str


class _Subscriptions(msgspec.Struct, frozen=True):
    value: list[_Subscription]


class AdvisorApi(RecommendationApi):
    """Azure Advisor, category Cost."""

    rule = ADVISOR

    def fits(self, config: ConnectorConfig) -> bool:
        return isinstance(config, AzureBlobConfig) and is_of_azure(config)

    def recommendations(
        self, config: AzureBlobConfig, accounts: Sequence[BilledAccount]
    ) -> RecommendationList:
        subscriptions = [each for each in accounts if _GUID.search(each.id)]
        if not subscriptions:
            return RecommendationList()
        api = _open(config)
        return read_each(ADVISOR.label, subscriptions, lambda each: _list(api, each))

    def check(self, config: AzureBlobConfig) -> list[CheckFinding]:
        with check_list(is_optional=True) as checks:
            api = checks.attempt(f"Sign in to {ADVISOR.label}", lambda: _open(config).for_check())
            checks.attempt(f"Read recommendations of {ADVISOR.label}", lambda: _try(api))
        return checks.findings


def _open(config: AzureBlobConfig) -> HttpApi:
    base_url, credential = open_management(config)
    return HttpApi(
        connector=NAME,
        vendor=ADVISOR.label,
        base_url=base_url,
        key_fix="Add a new client secret under Certificates & secrets of the app registration, and enter its value.",
        scope_fix=f"Assign {credential.principal} the role Reader on the subscription ({PERMISSION}).",
        headers=dict(credential.headers()),
        secrets=(config.client_secret,),
    )


def _try(api: HttpApi) -> None:
    """Call the API. Raises AccessError if no subscription may be read."""
    subscriptions = api.get("/subscriptions", [("api-version", _SUBSCRIPTIONS_VERSION)], _Subscriptions).value
    if not subscriptions:
        raise AccessError(f"It sees no subscription. {api.scope_fix}")
    _page(api, subscriptions[0].subscription_id, "")


def _page(api: HttpApi, subscription: str, token: str) -> _Page:
    path = f"/subscriptions/{path_part(subscription)}/providers/Microsoft.Advisor/recommendations"
    params: list[tuple[str, str | int]] = [("api-version", _VERSION), ("$filter", "Category eq 'Cost'")]
    return api.get(path, [*params, *([("$skiptoken", token)] if token else [])], _Page)


def _next_token(page: _Page) -> str:
    """Return the token of the next page's link and ignore its address: the vendor must not choose the server that
    gets the credential."""
    if not page.next_link:
        return ""
    tokens = {name.lower(): values for name, values in parse_qs(urlsplit(page.next_link).query).items()}
    if "$skiptoken" not in tokens:
        raise SourceError(f"{ADVISOR.label} returned a next page without a token. Update this console.")
    return tokens["$skiptoken"][0]


def _list(api: HttpApi, account: BilledAccount) -> RecommendationList:
    match = _GUID.search(account.id)
    subscription = match[0].lower() if match else account.id
    result = RecommendationList()
    rows: dict[str, RecommendationRow] = {}
    for page in api.pages(lambda token: _page(api, subscription, token), _next_token):
        for item in page.value:
            if not _is_open(item.properties):
                continue
            try:
                row = _row(item, account)
            except (UserError, ValueError) as problem:
                result.leave_out(f"{plain_text(item.properties.short_description.problem, 100)}: {problem}")
                continue
            rows[row.recommendation_id] = row
    result.rows = list(rows.values())
    return result


def _is_open(properties: _Properties) -> bool:
    return (
        properties.category.casefold() == "cost" and not properties.suppression_ids and not properties.tracked
    )


def _row(item: _Item, account: BilledAccount) -> RecommendationRow:
    """Return a row. Raises UserError for a recommendation without a saving or currency."""
    properties, more = item.properties, item.properties.extended_properties or {}
    commitment = _commitment(properties, more)
    saving, formula = _monthly(more)
    days, description = days_of(more.get("lookbackPeriod")), properties.short_description
    resource = "" if commitment else (properties.resource_metadata or _Resource()).resource_id or ""
    if not commitment and _is_subscription(resource):
        resource = ""
    prices = "your prices" if commitment else "retail prices"
    kind = _short_type(properties.impacted_field or "")
    return RecommendationRow(
        rule=ADVISOR.name,
        recommendation_id=plain_text(item.name, 300),
        action=_action(commitment, description),
        resource_id=resource[:LONGEST],
        resource_type=plain_text(commitment or kind, 100),
        current=plain_text(more.get("currentSku") or more.get("currentSkuName"), 300),
        recommended=_target(commitment, more) or plain_text(description.solution or description.problem, 300),
        sub_account=account.id[:100],
        sub_account_name=account.name[:255],
        region=plain_text(more.get("region") or more.get("location"), 60),
        lookback_days=days,
        term=plain_text(more.get("term"), 10) if commitment else "",
        commitment=commitment,
        is_shared=str(more.get("scope", "")).casefold() == "shared",
        covers_compute=bool(commitment) and _is_compute(commitment, properties, more),
        monthly_saving=saving,
        currency=currency_code(plain_text(more.get("savingsCurrency"), 20), field="savingsCurrency"),
        formula=f"Azure's estimate at {prices}{f', by the usage of {days} days' if days else ''}: {formula}.",
        refreshed_at=moment_of(properties.last_updated),
    )


def _monthly(more: dict[str, Any]) -> tuple[Decimal, str]:
    """Return a twelfth of the yearly saving if Azure gives one; else the monthly saving. Raises UserError for
    neither."""
    annual = amount_of(more, "annualSavingsAmount")
    amount = annual if annual is not None else amount_of(more, "savingsAmount")
    if amount is None:
        raise UserError("it names no amount.")
    if amount < 0:
        raise UserError(f"its saving is {amount}, less than 0.")
    if annual is None:
        return amount, "its saving of a month"
    return share_of_amount(annual, 1, 12), f"{annual.normalize():f} a year ÷ 12"


def _commitment(properties: _Properties, more: dict[str, Any]) -> str:
    """Return what the commitment covers, whatever its term; empty if it is not a commitment."""
    description = f"{properties.short_description.problem} {properties.short_description.solution}".casefold()
    if "savings plan" in description:
        return _PLAN
    kind = str(properties.impacted_field or "").casefold()
    if not more.get("term") and "reserved" not in kind:
        return ""
    parts = (
        more.get("reservedResourceType") or more.get("reservationType"),
        more.get("displaySKU") or more.get("sku") or more.get("vmSize"),
        more.get("region") or more.get("location"),
    )
    named = " ".join(plain_text(each, 90) for each in parts if each)
    return named or properties.recommendation_type_id or "Reservation"


def _is_compute(commitment: str, properties: _Properties, more: dict[str, Any]) -> bool:
    kind = str(more.get("reservedResourceType") or more.get("reservationType") or "").casefold()
    return (
        commitment == _PLAN
        or kind in _COMPUTE
        or (not kind and properties.recommendation_type_id.casefold() == _VIRTUAL_MACHINES)
    )


def _action(commitment: str, description: _Description) -> str:
    if commitment:
        return "PurchaseSavingsPlans" if commitment == _PLAN else "PurchaseReservedInstances"
    return plain_text(description.solution or description.problem, 60)


def _target(commitment: str, more: dict[str, Any]) -> str:
    """Return the recommended state: the size, or the amount and term of a commitment."""
    if not commitment:
        return plain_text(more.get("targetSku") or more.get("recommendedSkuName"), 300)
    count = plain_text(more.get("displayQty") or more.get("qty") or more.get("targetResourceCount"), 20)
    return f"{count} of {commitment}" if count else commitment


def _is_subscription(resource: str) -> bool:
    return resource.strip("/").count("/") <= 1


def _short_type(name: str) -> str:
    """Return the last part of a type: Microsoft.Compute/virtualMachines gives virtualMachines."""
    return name.rpartition("/")[2]
