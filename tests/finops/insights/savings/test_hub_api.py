"""Recommendations of AWS Cost Optimization Hub by its API: as an export has them, each resource once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections import services as connections
from finops.connections.connector import AccessError, SourceError
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving
from finops.insights.savings import hub_api
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsQuery
from finops.insights.savings.services import refresh_recommendations, refreshable_sources
from finops.insights.tasks import refresh_recommendations_of
from tests.cast import ACTOR, Cast
from tests.factories.costs import store_lines
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply, replay_server
from tests.finops.insights.savings.bills import volume
from tests.finops.insights.savings.hub_files import VOLUME_ARN

TARGET = "CostOptimizationHubService.ListRecommendations"


def item(number: int, **values: Any) -> dict[str, Any]:
    """A volume that may shrink, as the API has it."""
    return {
        "recommendationId": f"rec-{number}",
        "accountId": "111",
        "region": "eu-west-1",
        "resourceId": f"vol-{number}",
        "resourceArn": f"arn:aws:ec2:eu-west-1:111:volume/vol-{number}",
        "currentResourceType": "EbsVolume",
        "recommendedResourceType": "EbsVolume",
        "estimatedMonthlySavings": 120.25,
        "estimatedMonthlyCost": 300.5,
        "currencyCode": "USD",
        "implementationEffort": "VeryLow",
        "restartNeeded": False,
        "rollbackPossible": True,
        "actionType": "Rightsize",
        "currentResourceSummary": "gp2 900 GB",
        "recommendedResourceSummary": "gp3 500 GB",
        "lastRefreshTimestamp": 1774000000,
        "recommendationLookbackPeriodInDays": 14,
        "source": "ComputeOptimizer",
        **values,
    }


class HubApi:
    """`items` are what is open; two a page."""

    def __init__(self, replay: ReplayServer) -> None:
        self.items = [item(1), item(2), item(3)]
        self.denied = False
        self.replay = replay
        replay.routes["/"] = self._list

    def _list(self, request: ReplayRequest) -> Reply:
        assert request.headers["x-amz-target"] == TARGET
        if self.denied:
            return Reply.of_json({"__type": "AccessDeniedException", "message": "not authorized"}, 400)
        start = int(json.loads(request.body).get("nextToken", "0"))
        more = {"nextToken": str(start + 2)} if start + 2 < len(self.items) else {}
        return Reply.of_json({"items": self.items[start : start + 2], **more})


@pytest.fixture
def api(settings: Settings) -> Iterator[HubApi]:
    with replay_server() as server:
        settings.CONNECTOR_BASE_URLS = {"aws_cost_optimization_hub": server.url}
        yield HubApi(server)


def connect_aws(cast: Cast, name: str, **values: str) -> CostSource:
    access = {
        "access": "access_key",
        "access_key_id": "AKIAEXAMPLE",
        "secret_access_key": "a-secret",
        **values,
    }
    row = connections.create_connection(
        account=cast.account,
        actor=cast.actor,
        name=name,
        connector="aws_data_exports",
        values={"bucket": "acme-exports", **access},
    )
    return row.cost_source


def test_all_pages_become_the_sources_recommendations(api: HubApi, acme: Account, cast: Cast) -> None:
    """Of the volume that our own rule would save 60 USD on, AWS's recommendation counts instead."""
    source = connect_aws(cast, "AWS")
    store_lines(acme, source, volume("10"))
    assert {each.monthly_saving for each in list_savings(acme, SavingsQuery()).totals} == {Decimal(60)}
    result = refresh_recommendations(source=source, actor=ACTOR)
    assert result is not None
    assert (result.kept, result.left_out) == (3, 0)
    row = ImportedSaving.objects.get(recommendation_id="rec-1")
    assert (row.monthly_saving, row.monthly_cost) == (Decimal("120.25"), Decimal("300.5"))
    assert (row.resource_id, row.sub_account, row.currency) == (VOLUME_ARN, "111", "USD")
    assert f"{row.refreshed_at:%Y-%m-%d}" == "2026-03-20"
    answer = list_savings(acme, SavingsQuery())
    assert {each.monthly_saving for each in answer.totals} == {Decimal("360.75")}


def test_more_than_the_limit_keeps_what_there_was_and_says_that_none_were_read(
    api: HubApi, acme: Account, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = connect_aws(cast, "AWS")
    refresh_recommendations(source=source, actor=ACTOR)
    monkeypatch.setattr(hub_api, "MAX_ROWS", 2)
    with pytest.raises(SourceError, match=r"more than 2 recommendations, the limit\. None were read\."):
        refresh_recommendations(source=source, actor=ACTOR)
    assert ImportedSaving.objects.count() == 3


def test_a_saving_done_at_aws_is_closed_by_the_next_refresh(api: HubApi, acme: Account, cast: Cast) -> None:
    source = connect_aws(cast, "AWS")
    refresh_recommendations(source=source, actor=ACTOR)
    api.items = [item(2)]
    refresh_recommendations(source=source, actor=ACTOR)
    assert [row.recommendation_id for row in ImportedSaving.objects.all()] == ["rec-2"]


def test_two_connections_to_one_organization_count_each_resource_once(
    api: HubApi, acme: Account, cast: Cast
) -> None:
    first, second = connect_aws(cast, "FOCUS"), connect_aws(cast, "CUR")
    refresh_recommendations(source=first, actor=ACTOR)
    api.items = [{**each, "recommendationId": f"new-{each['recommendationId']}"} for each in api.items] + [
        item(4)
    ]
    refresh_recommendations(source=second, actor=ACTOR)
    assert ImportedSaving.objects.filter(source=first).count() == 3
    assert [row.recommendation_id for row in ImportedSaving.objects.filter(source=second)] == ["rec-4"]


def test_a_role_that_may_not_read_them_keeps_what_there_was(api: HubApi, acme: Account, cast: Cast) -> None:
    source = connect_aws(cast, "AWS")
    refresh_recommendations(source=source, actor=ACTOR)
    api.denied = True
    with pytest.raises(AccessError) as error:
        refresh_recommendations(source=source, actor=ACTOR)
    assert "is not allowed cost-optimization-hub:ListRecommendations on *" in error.value.message
    assert "a-secret" not in error.value.message
    refresh_recommendations_of(acme.pk, source.pk)
    assert ImportedSaving.objects.count() == 3


def test_an_item_that_says_no_saving_is_left_out_and_named(api: HubApi, acme: Account, cast: Cast) -> None:
    api.items = [
        item(1),
        {name: value for name, value in item(2).items() if name != "estimatedMonthlySavings"},
    ]
    result = refresh_recommendations(source=connect_aws(cast, "AWS"), actor=ACTOR)
    assert result is not None
    assert (result.kept, result.left_out) == (1, 1)
    assert result.problems[0].startswith("Recommendation 2: ")


def test_sources_that_are_not_of_aws_are_left_alone(api: HubApi, acme: Account, cast: Cast) -> None:
    uploaded = CostSource.objects.create(account=acme, name="Uploaded")
    elsewhere = connect_aws(cast, "MinIO", endpoint="https://s3.example.com")
    fetched = connect_aws(cast, "AWS")
    for source in (uploaded, elsewhere):
        assert refresh_recommendations(source=source, actor=ACTOR) is None
    assert api.replay.requests == []
    assert (acme.pk, fetched.pk) in refreshable_sources()
    assert (acme.pk, uploaded.pk) not in refreshable_sources()
