"""Cost recommendations of Google Recommender by its API, with the service account of a connection to Google Cloud.

Of each project in the bill: where it has recommendations (`projects.locations.list`, v1beta1), then those of each cost
recommender there (v1); of the billing account its spend-based commitments. Needs recommender.locations.list and
recommender.*Recommendations.list, which Recommender Viewer has. What was applied, failed or was dismissed at Google is not open;
CLAIMED is: somebody is at it, and the bill has not changed. Costs are projected over `duration`, negative where they save.
Source: docs.cloud.google.com/recommender/docs/reference/rest/v1/projects.locations.recommenders.recommendations and
docs.cloud.google.com/recommender/docs/recommenders.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import CheckFinding, ConnectorConfig, SourceError
from finops.connections.connectors.bigquery import BigQueryConfig
from finops.connections.google import GoogleBucketConfig, ServiceAccountToken, google_credential
from finops.connections.transports.http import HttpApi, PermissionRefusal, path_part
from finops.connections.transports.rest_bucket import RestCredential
from finops.connections.vendor_apis.service_account import GoogleServiceAccount
from finops.insights.savings.candidates import RECOMMENDER
from finops.insights.savings.recommendation_api import (
    LONGEST,
    BilledAccount,
    RecommendationApi,
    RecommendationList,
    RecommendationRow,
    amount_of,
    moment_of,
    plain_text,
    read_each,
    share_of_amount,
)
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError

NAME: Final = "google_recommender"
"""Its name in CONNECTOR_BASE_URLS."""
API_URL: Final = "https://recommender.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
"""The only scope that the API accepts."""
_OPEN: Final = ("ACTIVE", "CLAIMED")
_CLAIMED: Final = "Claimed at Google: someone is applying it."
_FILTER: Final = " OR ".join(f"stateInfo.state = {state}" for state in _OPEN)
_PAGE: Final = 200
_NANOS: Final = 10**9
_MONTH_SECONDS: Final = 30 * 86_400
_PROJECT: Final = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_BILLING_ACCOUNT: Final = re.compile(r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}")
_YEARS: Final = re.compile(r"\b([13])[ -]years?\b", re.IGNORECASE)

ZONE, REGION, GLOBAL = "zone", "region", "global"
USAGE_COMMITMENTS: Final = "google.compute.commitment.UsageCommitmentRecommender"
SPEND_COMMITMENTS: Final = "google.cloudbilling.commitment.SpendBasedCommitmentRecommender"
RECOMMENDERS: Final[dict[str, tuple[str, ...]]] = {
    "google.bigquery.capacityCommitments.Recommender": (REGION,),
    "google.cloudsql.instance.IdleRecommender": (REGION,),
    "google.cloudsql.instance.OverprovisionedRecommender": (REGION,),
    "google.compute.IdleResourceRecommender": (ZONE,),
    "google.compute.RightSizeResourceRecommender": (ZONE,),
    "google.compute.address.IdleResourceRecommender": (REGION, GLOBAL),
    "google.compute.disk.IdleResourceRecommender": (ZONE, REGION),
    "google.compute.image.IdleResourceRecommender": (GLOBAL,),
    "google.compute.instance.IdleResourceRecommender": (ZONE,),
    "google.compute.instance.MachineTypeRecommender": (ZONE,),
    "google.compute.instanceGroupManager.MachineTypeRecommender": (ZONE, REGION),
    "google.run.service.CostRecommender": (REGION,),
    USAGE_COMMITMENTS: (REGION,),
}
"""Cost recommenders of a project, and the kinds of location that have them."""


class _Location(msgspec.Struct, frozen=True, rename="camel"):
    location_id: str = ""


class _Locations(msgspec.Struct, frozen=True, rename="camel"):
    locations: list[_Location] = []
    next_page_token: str = ""


class _Money(msgspec.Struct, frozen=True, rename="camel"):
    currency_code: str = ""
    units: str | int = 0
    nanos: int = 0


class _CostProjection(msgspec.Struct, frozen=True, rename="camel"):
    cost: _Money | None = None
    cost_in_local_currency: _Money | None = None
    duration: str = ""


class _Impact(msgspec.Struct, frozen=True, rename="camel"):
    category: str = ""
    cost_projection: _CostProjection | None = None


class _Operation(msgspec.Struct, frozen=True, rename="camel"):
    resource: str = ""


class _OperationGroup(msgspec.Struct, frozen=True):
    operations: list[_Operation] = []


class _Content(msgspec.Struct, frozen=True, rename="camel"):
    operation_groups: list[_OperationGroup] = []
    overview: dict[str, Any] = {}


class _State(msgspec.Struct, frozen=True):
    state: str = ""


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    description: str = ""
    recommender_subtype: str = ""
    last_refresh_time: str = ""
    primary_impact: _Impact = _Impact()
    content: _Content = _Content()
    state_info: _State = _State()
    target_resources: list[str] = []
    xor_group_id: str = ""


class _Page(msgspec.Struct, frozen=True, rename="camel"):
    recommendations: list[_Item] = []
    next_page_token: str = ""


class RecommenderApi(RecommendationApi):
    """Google Recommender, recommenders of cost."""

    rule = RECOMMENDER

    def fits(self, config: ConnectorConfig) -> bool:
        return isinstance(config, GoogleBucketConfig | BigQueryConfig)

    def recommendations(
        self, config: GoogleBucketConfig | BigQueryConfig, accounts: Sequence[BilledAccount]
    ) -> RecommendationList:
        projects = [each for each in accounts if _PROJECT.fullmatch(each.id)]
        if not projects:
            return RecommendationList()
        api = _open(config)
        result = read_each(RECOMMENDER.label, projects, lambda each: _of_project(api, each))
        payers = sorted(
            {each.billing_account for each in projects if _BILLING_ACCOUNT.fullmatch(each.billing_account)}
        )
        for payer in payers:
            _add_commitments(result, api, BilledAccount(payer))
        return result

    def check(self, config: GoogleBucketConfig | BigQueryConfig) -> list[CheckFinding]:
        with check_list(is_optional=True) as checks:
            api = checks.attempt(f"Sign in to {RECOMMENDER.label}", lambda: _open(config).for_check())
            project = GoogleServiceAccount.read(config.key).project_id if config.key else ""
            if project:
                title = f"List locations with recommendations of {project} (recommender.locations.list)"
                checks.attempt(title, lambda: _locations(api, project))
        return checks.findings


def _credential(config: GoogleBucketConfig | BigQueryConfig) -> RestCredential:
    if isinstance(config, GoogleBucketConfig):
        return google_credential(config, SCOPE, NAME)
    return ServiceAccountToken(GoogleServiceAccount.read(config.key), SCOPE, NAME)


def _open(config: GoogleBucketConfig | BigQueryConfig) -> HttpApi:
    credential = _credential(config)
    return HttpApi(
        connector=NAME,
        vendor=RECOMMENDER.label,
        base_url=API_URL,
        key_fix="Create a new key of the service account and enter it in this connection.",
        scope_fix=f"Grant {credential.principal} Recommender Viewer (roles/recommender.viewer) on the project, and enable the "
        "Recommender API (recommender.googleapis.com) in the service account's own.",
        headers=dict(credential.headers()),
        secrets=(config.key,),
    )


def _locations(api: HttpApi, project: str) -> list[str]:
    path = f"/v1beta1/projects/{path_part(project)}/locations"

    def page_of(token: str) -> _Locations:
        return api.get(path, [("pageToken", token)] if token else [], _Locations)

    pages = api.pages(page_of, lambda page: page.next_page_token)
    return sorted({each.location_id for page in pages for each in page.locations} - {""})


def _kind(location: str) -> str:
    if location == GLOBAL:
        return GLOBAL
    return ZONE if re.search(r"-[a-z]$", location) else REGION


def _of_project(api: HttpApi, project: BilledAccount) -> RecommendationList:
    result = RecommendationList()
    parent = f"projects/{path_part(project.id)}"
    for location in _locations(api, project.id):
        for recommender, kinds in RECOMMENDERS.items():
            if _kind(location) in kinds:
                _add_rows(result, api, parent, location, recommender, project)
    return result


def _add_commitments(result: RecommendationList, api: HttpApi, payer: BilledAccount) -> None:
    """Add the recommendations of a billing account, which are bought for all of its projects. Without permission the
    billing account is reported as not read."""
    more = dataclasses.replace(
        api,
        scope_fix="Grant the service account roles/recommender.billingAccountCudViewer on the billing account.",
    )
    recommendations = RecommendationList()
    try:
        _add_rows(recommendations, more, f"billingAccounts/{payer.id}", GLOBAL, SPEND_COMMITMENTS, payer)
    except (PermissionRefusal, SourceError) as error:
        result.unread[payer.id] = f"Commitments of the billing account {payer.id}: {error.message}"
        result.accounts += 1
    else:
        result.add(recommendations, RECOMMENDER.label)


def _items(api: HttpApi, path: str) -> Iterator[_Item]:
    def page_of(token: str) -> _Page:
        params: list[tuple[str, str | int]] = [("pageSize", _PAGE), ("filter", _FILTER)]
        return api.get(path, [*params, *([("pageToken", token)] if token else [])], _Page)

    for page in api.pages(page_of, lambda page: page.next_page_token):
        yield from page.recommendations


def _add_rows(
    result: RecommendationList,
    api: HttpApi,
    parent: str,
    location: str,
    recommender: str,
    account: BilledAccount,
) -> None:
    rows: dict[str, RecommendationRow] = {}
    path = f"/v1/{parent}/locations/{path_part(location)}/recommenders/{recommender}/recommendations"
    for item in _items(api, path):
        if item.state_info.state not in _OPEN or item.primary_impact.category != "COST":
            continue
        try:
            row = _row(item, location, recommender, account)
        except (UserError, ValueError, ArithmeticError) as problem:
            result.leave_out(f"{plain_text(item.description, 100)}: {problem}")
            continue
        if row is not None:
            rows[row.recommendation_id] = row
    result.rows += rows.values()


def _row(item: _Item, location: str, recommender: str, account: BilledAccount) -> RecommendationRow | None:
    """Return a row; None for a recommendation that costs more than it saves. Raises UserError for one without an
    amount, a duration or a currency."""
    money, cost, seconds = _projection(item)
    if cost > 0:
        return None
    is_shared = recommender == SPEND_COMMITMENTS
    is_commitment = is_shared or recommender == USAGE_COMMITMENTS
    identity = item.name.rpartition("/")[2]
    kind = "Spend commitment" if is_shared else "Committed use"
    resource = "" if is_commitment else _resource(item)
    description = plain_text(item.description, 300)
    years = _YEARS.search(description)
    return RecommendationRow(
        rule=RECOMMENDER.name,
        recommendation_id=plain_text(item.name, 300),
        action=plain_text(item.recommender_subtype or recommender.rpartition(".")[2], 60),
        resource_id=resource[:LONGEST],
        resource_type=kind if is_commitment else _resource_type(resource) or recommender.split(".")[1],
        recommended=description if item.state_info.state == "ACTIVE" else f"{description} {_CLAIMED}",
        sub_account="" if is_shared else account.id[:100],
        sub_account_name="" if is_shared else account.name[:255],
        region="" if location == GLOBAL else location[:60],
        term=f"P{years[1]}Y" if is_commitment and years else "",
        commitment=f"{kind}, {location}, {item.xor_group_id or identity}"[:300] if is_commitment else "",
        is_shared=is_shared,
        covers_compute=recommender == USAGE_COMMITMENTS
        or (is_shared and "compute" in description.casefold()),
        monthly_saving=share_of_amount(-cost, _MONTH_SECONDS, seconds),
        currency=currency_code(plain_text(money.currency_code, 20), field="currencyCode"),
        formula=f"Google's estimate at list or contract prices, as the service account may see: {-cost.normalize():f} in "
        f"{Decimal(seconds) / 86_400:f} days, as 30 days.",
        refreshed_at=moment_of(item.last_refresh_time),
    )


def _projection(item: _Item) -> tuple[_Money, Decimal, int]:
    """Return the projection of a recommendation: in the billing account's own currency if Google gives it, the amount
    and its seconds. Raises UserError if one is missing."""
    projection = item.primary_impact.cost_projection or _CostProjection()
    money = projection.cost_in_local_currency or projection.cost
    seconds = projection.duration.removesuffix("s").partition(".")[0]
    if money is None:
        raise UserError("it names no cost.")
    if not seconds.isdigit() or int(seconds) <= 0:
        raise UserError("it names no duration.")
    if abs(money.nanos) >= _NANOS:
        raise UserError(f"its cost has {money.nanos} nanos.")
    cost = Decimal(int(money.units)) + Decimal(money.nanos) / _NANOS
    return money, amount_of({"cost": cost}, "cost") or Decimal(0), int(seconds)


def _resource(item: _Item) -> str:
    """Return the full name of its resource; empty if Google names none."""
    operations = (each for group in item.content.operation_groups for each in group.operations)
    overview = item.content.overview
    named = [*item.target_resources, *(each.resource for each in operations)]
    named += [str(overview.get(key) or "") for key in ("resource", "resourceName")]
    return next((each for each in named if each.startswith("//")), "")


def _resource_type(resource: str) -> str:
    """Return the type of a resource name: //compute.googleapis.com/projects/p/zones/z/instances/vm gives instances."""
    parts = resource.split("/")
    return plain_text(parts[-2], 100) if len(parts) > 2 else ""
