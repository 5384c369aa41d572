"""The recommendation APIs, which of them a connection can use, and for which accounts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from finops.connections.aws import AwsBucketConfig
from finops.connections.azure import AzureBlobConfig
from finops.connections.connector import CheckFinding, ConnectorConfig
from finops.connections.connectors.bigquery import BigQueryConfig
from finops.connections.google import GoogleBucketConfig
from finops.costs.models import CostSource
from finops.costs.queries.sources import load_sources
from finops.insights.cost_scope import CostReader
from finops.insights.savings.advisor_api import AdvisorApi
from finops.insights.savings.hub_api import HubApi
from finops.insights.savings.lake import BilledAccounts
from finops.insights.savings.recommendation_api import MAX_ACCOUNTS, BilledAccount, RecommendationApi
from finops.insights.savings.recommender_api import RecommenderApi
from finops.lib import clock
from finops.lib.periods import DateRange

APIS: Final[tuple[RecommendationApi, ...]] = (HubApi(), AdvisorApi(), RecommenderApi())
_CONFIGS: Final = (AwsBucketConfig, AzureBlobConfig, GoogleBucketConfig, BigQueryConfig)
_DAYS: Final = 62
"""Accounts without cost for this many days are not read."""


def recommendation_api_of(config: ConnectorConfig) -> RecommendationApi | None:
    """Return the API that the config's credentials can sign in to; None if there is none."""
    return next((api for api in APIS if api.fits(config)), None)


def may_have_api(config_type: type[Any]) -> bool:
    """Return whether connections with such a config can have an API."""
    return issubclass(config_type, _CONFIGS)


def check_recommendations(config: ConnectorConfig) -> list[CheckFinding]:
    """Return the findings of *Test connection* about recommendations; all of them are optional."""
    api = recommendation_api_of(config)
    return api.check(config) if api else []


def billed_accounts(source: CostSource) -> list[BilledAccount]:
    """Return the sub accounts of the source's newest bill, the MAX_ACCOUNTS costliest. One lake query, none without a
    bill."""
    sources = load_sources(source.account)
    today = clock.today()
    days = DateRange(today - timedelta(days=_DAYS - 1), today)
    build = BilledAccounts(str(source.pk), MAX_ACCOUNTS)
    rows = CostReader(source.account, sources).run(days, build, allow_rollups=False).to_pylist()
    return [
        BilledAccount(row["account_id"], row["account_name"] or "", row["billing_account"] or "")
        for row in rows
    ]
