"""Recommendations of AWS Cost Optimization Hub by its API, with the credentials of a connection to AWS.

`ListRecommendations` in us-east-1, of the account that signs in and, for an organization's management account or delegated
administrator, of its members. Needs cost-optimization-hub:ListRecommendations on *. AWS refreshes it daily.
Source: docs.aws.amazon.com/cost-management/latest/APIReference/API_CostOptimizationHub_ListRecommendations.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.conf import settings

from finops.connections.aws import AwsBucketConfig, aws_credentials
from finops.connections.checks import check_list
from finops.connections.connector import CheckFinding, ConnectorConfig, SourceError
from finops.connections.transports.aws_errors import explain_aws
from finops.connections.transports.s3 import ATTEMPTS, CONNECT_SECONDS, READ_SECONDS
from finops.insights.savings.candidates import HUB
from finops.insights.savings.hub import hub_row
from finops.insights.savings.recommendation_api import (
    MAX_ROWS,
    BilledAccount,
    RecommendationApi,
    RecommendationList,
)
from finops.lib.errors import UserError

NAME: Final = "aws_cost_optimization_hub"
"""Its name in CONNECTOR_BASE_URLS."""
_REGION: Final = "us-east-1"
_PAGE: Final = 100

_COLUMNS: Final[Mapping[str, str]] = {
    "recommendationId": "recommendation_id",
    "accountId": "account_id",
    "region": "region",
    "resourceArn": "resource_arn",
    "currentResourceType": "current_resource_type",
    "recommendedResourceType": "recommended_resource_type",
    "estimatedMonthlySavings": "estimated_monthly_savings_after_discount",
    "estimatedMonthlyCost": "estimated_monthly_cost_after_discount",
    "currencyCode": "currency_code",
    "implementationEffort": "implementation_effort",
    "restartNeeded": "restart_needed",
    "rollbackPossible": "rollback_possible",
    "actionType": "action_type",
    "currentResourceSummary": "current_resource_summary",
    "recommendedResourceSummary": "recommended_resource_summary",
    "lastRefreshTimestamp": "last_refresh_timestamp",
    "recommendationLookbackPeriodInDays": "recommendation_lookback_period_in_days",
    "source": "recommendation_source",
}
"""The API's name of each column of the export."""


class HubApi(RecommendationApi):
    """AWS Cost Optimization Hub, for all accounts visible to the credentials."""

    rule = HUB
    is_by_account = False

    def fits(self, config: ConnectorConfig) -> bool:
        return isinstance(config, AwsBucketConfig) and not config.endpoint

    def recommendations(
        self, config: AwsBucketConfig, accounts: Sequence[BilledAccount]
    ) -> RecommendationList:
        """Return all open recommendations in the format of an export. Raises AccessError that names the permission,
        SourceUnavailable, and SourceError for more than an export may hold."""
        result = RecommendationList()
        for number, item in enumerate(_items(config), start=1):
            if number > MAX_ROWS:
                raise SourceError(
                    f"AWS has more than {MAX_ROWS:,} recommendations, the limit. None were read."
                )
            try:
                result.rows.append(hub_row(_export_columns(item)))
            except (UserError, ValueError) as problem:
                result.leave_out(f"Recommendation {number}: {problem}")
        result.rows = list({row.recommendation_id: row for row in result.rows}.values())
        return result

    def check(self, config: AwsBucketConfig) -> list[CheckFinding]:
        with check_list(is_optional=True) as checks:
            checks.attempt(f"Read recommendations of {HUB.label}", lambda: next(_items(config), None))
        return checks.findings


def _export_columns(item: Mapping[str, Any]) -> dict[str, Any]:
    columns = {_COLUMNS[name]: item[name] for name in _COLUMNS if name in item}
    return {**columns, "resource_arn": item.get("resourceArn") or item.get("resourceId")}


def _items(config: AwsBucketConfig) -> Iterator[Mapping[str, Any]]:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import get_session

    credentials = aws_credentials(config)
    client = get_session().create_client(
        "cost-optimization-hub",
        region_name=_REGION,
        endpoint_url=settings.CONNECTOR_BASE_URLS.get(NAME) or None,
        aws_access_key_id=credentials.key,
        aws_secret_access_key=credentials.secret,
        aws_session_token=credentials.token,
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"max_attempts": ATTEMPTS, "mode": "standard"},
            ignore_configured_endpoint_urls=True,
        ),
    )
    try:
        # botocore's paginator raises for a token that comes twice.
        for page in client.get_paginator("list_recommendations").paginate(
            PaginationConfig={"PageSize": _PAGE}
        ):
            yield from page.get("items", ())
    except (BotoCoreError, ClientError) as error:
        raise explain_aws(
            error,
            permission="cost-optimization-hub:ListRecommendations",
            resource="*",
            principal=credentials.principal,
            where="AWS Cost Optimization Hub",
        ) from error
