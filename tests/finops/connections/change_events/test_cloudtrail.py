"""AWS CloudTrail as a source of change events, from a server that answers LookupEvents as AWS documents it; and the actors of cost that
comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import resource_actors
from finops.connections import services
from finops.connections.connector import AccessError
from finops.connections.connectors import connector_of
from finops.connections.connectors.aws_cloudtrail import CloudTrailConfig
from finops.connections.models import CostConnection
from finops.connections.vendor_apis.cloudtrail import TrailResource, change_event
from finops.costs.queries.sources import load_sources
from finops.insights.actor_coverage import ActorCoverage, actor_coverage
from finops.insights.cost_scope import CostReader
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON
from tests.finops.connections.change_events.code_hosts import march_time, titles
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now

pytestmark = pytest.mark.django_db(transaction=True)

TARGET = "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.LookupEvents"
ACCOUNT = "111122223333"
SSO = {
    "type": "AssumedRole",
    "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/Admin/maya@example.com",
    "sessionContext": {"sessionIssuer": {"type": "Role", "userName": "Admin"}},
}
SCALING = {"type": "AWSService", "invokedBy": "autoscaling.amazonaws.com"}
Row = dict[str, Any]


def record(name: str, identity: Row = SSO, **more: Any) -> str:
    return json.dumps(
        {
            "eventVersion": "1.11",
            "eventName": name,
            "eventSource": "ec2.amazonaws.com",
            "awsRegion": "eu-west-1",
            "recipientAccountId": ACCOUNT,
            "userIdentity": identity,
            "readOnly": False,
            **more,
        }
    )


def instance_arn(name: str) -> str:
    return f"arn:aws:ec2:eu-west-1:{ACCOUNT}:instance/{name}"


class Trail:
    """The event history of one region; two events a page, the newest first."""

    def __init__(self, replay: ReplayServer) -> None:
        self.events: list[Row] = []
        self.denied = False
        replay.routes["/"] = self._look_up

    def add(self, number: int, moment: datetime, name: str, *resources: str, **more: Any) -> None:
        row = {
            "EventId": f"event-{number}",
            "EventName": name,
            "EventTime": moment.timestamp(),
            "Resources": [{"ResourceType": "AWS::EC2::Instance", "ResourceName": each} for each in resources],
            "CloudTrailEvent": record(name, **more),
        }
        self.events.append(row)
        self.events.sort(key=lambda each: -each["EventTime"])

    def _look_up(self, request: ReplayRequest) -> Reply:
        assert request.headers["x-amz-target"] == TARGET
        if self.denied:
            return Reply.of_json({"__type": "AccessDeniedException", "message": "not authorized"}, 400)
        lookup = json.loads(request.body)
        assert lookup["LookupAttributes"] == [{"AttributeKey": "ReadOnly", "AttributeValue": "false"}]
        assert lookup["StartTime"] >= (NOON - timedelta(days=90)).timestamp()
        rows = [each for each in self.events if lookup["StartTime"] <= each["EventTime"] <= lookup["EndTime"]]
        start = int(lookup.get("NextToken", "0"))
        more = {"NextToken": str(start + 2)} if start + 2 < len(rows) else {}
        return Reply.of_json({"Events": rows[start : start + 2], **more})


@pytest.fixture
def trail(replay: ReplayServer, settings: Settings) -> Iterator[Trail]:
    """March: an instance that a person runs and a service resizes, one that is only changed, and what is no change event."""
    settings.CONNECTOR_BASE_URLS = {"aws_cloudtrail": replay.url}
    with clock.frozen(NOON):
        history = Trail(replay)
        history.add(1, march_time("10T09:00"), "RunInstances", "i-0001", "i-0002")
        history.add(2, march_time("11T09:00"), "ModifyInstanceAttribute", "i-0001", identity=SCALING)
        history.add(3, march_time("12T09:00"), "StopInstances", "i-0003")
        history.add(4, march_time("13T09:00"), "CreateTags", "i-0003")
        history.add(5, march_time("13T10:00"), "RunInstances", "i-0009", errorCode="UnauthorizedOperation")
        history.add(6, march_time("13T11:00"), "AssumeRoleWithSAML")
        yield history


def connect(cast: Cast) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="CloudTrail",
        connector="aws_cloudtrail",
        values={
            "regions": "eu-west-1",
            "access": "access_key",
            "access_key_id": "AKIAEXAMPLE",
            "secret_access_key": "a-secret",
        },
    )


def sync(cast: Cast, connection: CostConnection) -> Any:
    with account_scope(cast.account):
        return sync_now(connection)


def test_creations_and_changes_of_resources_become_events_once(cast: Cast, trail: Trail) -> None:
    connection = connect(cast)
    sync_run = sync(cast, connection)

    assert (sync_run.status, sync_run.error) == ("done", "")
    assert titles(cast) == [
        "RunInstances i-0001 and 1 more",
        "ModifyInstanceAttribute i-0001",
        "StopInstances i-0003",
    ]
    with account_scope(cast.account):
        created = ChangeEvent.objects.get(external_id="RunInstances/event-1")
    assert (created.kind, created.actor) == ("change", "maya@example.com, role Admin")
    assert created.occurred_at == march_time("10T09:00")
    assert created.scope == {
        "resource": ["i-0001", instance_arn("i-0001"), "i-0002", instance_arn("i-0002")],
    }
    assert created.url.endswith("#/events/event-1")

    assert set(actions(sync(cast, connection)).values()) == {"unchanged"}
    trail.add(7, march_time("14T09:00"), "TerminateInstances", "i-0003")
    assert actions(sync(cast, connection))["2026-03"] == "imported"
    assert titles(cast)[-1] == "TerminateInstances i-0003"


def test_a_missing_permission_is_named(cast: Cast, trail: Trail) -> None:
    trail.denied = True

    sync_run = sync(cast, connect(cast))

    assert sync_run.status == "failed"
    assert "cloudtrail:LookupEvents" in sync_run.error
    connector = connector_of("aws_cloudtrail")
    config = CloudTrailConfig(
        regions="eu-west-1", access="access_key", access_key_id="A", secret_access_key="s"
    )
    assert "cloudtrail:LookupEvents" in connector.check(config)[-1].fix
    with pytest.raises(AccessError):
        connector.months(config)


def test_cost_has_actors_with_their_confidence(cast: Cast, trail: Trail) -> None:
    """Of 100 USD without an actor in the bill, 60 are of resources that events name; the line with an actor is none of them."""
    day = date(2026, 3, 15)

    def usage(amount: int, resource: str | None, **more: Any) -> Any:
        return cost(day, amount, provider="AWS", service="Amazon EC2", resource_id=resource, **more)

    with account_scope(cast.account):
        add_source(
            cast.account,
            [
                usage(35, instance_arn("i-0001")),
                usage(25, "i-0003"),
                usage(30, instance_arn("i-7777")),
                usage(10, None),
                usage(900, "i-0002", actor="omar@example.com"),
            ],
        )
    connection = connect(cast)
    sync(cast, connection)

    with account_scope(cast.account):
        actors = resource_actors()
        rows = actor_coverage(CostReader(cast.account, load_sources(cast.account)))
    assert {
        name: (each.actor, each.confidence) for name, each in actors.items() if name.startswith("i-")
    } == {
        "i-0001": ("maya@example.com, role Admin", "high"),
        "i-0002": ("maya@example.com, role Admin", "high"),
        "i-0003": ("maya@example.com, role Admin", "medium"),
    }
    assert rows == [ActorCoverage("AWS", "USD", Decimal(100), Decimal(60))]
    assert rows[0].share == Decimal("0.6")

    client = signed_in(cast.viewer)
    page = client.get(f"/a/acme/connections/events/{connection.target_id}/").content.decode()
    assert "60%" in page
    question = {"start_date": str(day), "end_date": str(day), "f0": "resource", "f0v": "i-0003"}
    explorer = client.get("/a/acme/cost-explorer/", question).content.decode()
    assert "maya@example.com, role Admin changed the resource; its creation is not known." in explorer
    assert "Confidence: medium" in explorer


@pytest.mark.parametrize(
    ("identity", "actor"),
    [
        ({"type": "IAMUser", "userName": "sofia", "arn": "arn:aws:iam::1:user/sofia"}, "sofia"),
        ({"type": "Root", "arn": "arn:aws:iam::1:root"}, "root"),
        (SSO, "maya@example.com, role Admin"),
        (
            {"type": "AssumedRole", "arn": "arn:aws:sts::1:assumed-role/Node/i-0123456789abcdef0"},
            "instance i-0123456789abcdef0",
        ),
        (SCALING, "autoscaling.amazonaws.com"),
        ({"type": "AWSAccount", "principalId": "AROA"}, ""),
    ],
)
def test_who_acted_is_a_person_a_session_or_a_service(identity: Row, actor: str) -> None:
    event = change_event(
        "1",
        datetime(2026, 3, 1, tzinfo=UTC),
        record("RunInstances", identity),
        [TrailResource("AWS::EC2::Instance", "i-1")],
    )

    assert event is not None
    assert event.actor == actor


@pytest.mark.parametrize("regions", ["", "europe", "eu-west-1, nowhere"])
def test_regions_are_named_as_aws_does(regions: str) -> None:
    with pytest.raises(ValueError, match=r"is no region|Enter 1 to 30 regions"):
        CloudTrailConfig(regions=regions)
