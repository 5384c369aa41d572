"""Replays of GitHub and AWS CloudTrail for Lumenly: pulled events from files, without a vendor's account.

Each file has the events of a month as the connectors of GitHub and CloudTrail write them; records of CloudTrail are parsed by its own
connector (`finops.connections.vendor_apis.cloudtrail`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.change_events.models import ChangeEvent
from finops.connections.models import CostConnection
from finops.connections.services import create_connection
from finops.connections.vendor_apis.cloudtrail import TrailResource, change_event
from finops.demo.change_events import PULLED_KINDS, SOURCE_NAME, events_on
from finops.demo.company import fraction, person
from finops.demo.deliveries import DAILY, complete_sync, folder_of
from finops.demo.fleet import lines_of
from finops.demo.layouts import replace_file
from finops.demo.lines import ResourceLine
from finops.lib.errors import UserError
from finops.lib.periods import DateRange

GITHUB: Final = "GitHub (replay)"
CLOUDTRAIL: Final = "AWS CloudTrail (replay)"

_CREATIONS: Final = {
    "instance": ("AWS::EC2::Instance", "RunInstances"),
    "volume": ("AWS::EC2::Volume", "CreateVolume"),
    "nat-gateway": ("AWS::EC2::NatGateway", "CreateNatGateway"),
    "ebs-snapshot": ("AWS::EC2::Snapshot", "CreateSnapshot"),
    "s3-bucket": ("AWS::S3::Bucket", "CreateBucket"),
    "rds-instance": ("AWS::RDS::DBInstance", "CreateDBInstance"),
    "dynamodb-table": ("AWS::DynamoDB::Table", "CreateTable"),
    "lambda-function": ("AWS::Lambda::Function", "CreateFunction20150331"),
    "eks-cluster": ("AWS::EKS::Cluster", "CreateCluster"),
    "redshift-cluster": ("AWS::Redshift::Cluster", "CreateCluster"),
    "cache-node": ("AWS::ElastiCache::CacheCluster", "CreateCacheCluster"),
    "load-balancer": ("AWS::ElasticLoadBalancingV2::LoadBalancer", "CreateLoadBalancer"),
    "cloudfront-distribution": ("AWS::CloudFront::Distribution", "CreateDistribution"),
    "sqs-queue": ("AWS::SQS::Queue", "CreateQueue"),
    "detector": ("AWS::GuardDuty::Detector", "CreateDetector"),
    "vault": ("AWS::Backup::BackupVault", "CreateBackupVault"),
    "opensearch-node": ("AWS::OpenSearchService::Domain", "CreateDomain"),
}
"""CloudTrail's resource type and API action, by the type in the ARN."""
_OLDER: Final = 0.15
"""Share of the resources that are older than the events that CloudTrail had when it was connected."""
_SPREAD_DAYS: Final = 20
_PEOPLE: Final = ("maya.okafor", "sofia.rossi", "omar.haddad")


def ensure_replays(account: Account, actor: Actor, first: date, last: date) -> int:
    """Write new events and sync both sources of the account in scope; returns the number of stored events. Does nothing for a demo that
    was loaded before the replays existed, or if a source was deleted. Raises UserError for a sync that fails."""
    pushed = ChangeEvent.objects.filter(source__name=SOURCE_NAME, kind__in=PULLED_KINDS)
    if pushed.exists():
        return 0
    is_first = not CostConnection.objects.filter(event_source__isnull=False).exists()
    rows = 0
    for name, folder, events in (
        (GITHUB, "github", _github_events(first, last)),
        (CLOUDTRAIL, "cloudtrail", _trail_events(first, last)),
    ):
        newest = _write(folder_of(folder), events)
        stored = ChangeEvent.objects.filter(source__name=name).first()
        if stored is not None and stored.occurred_at >= newest:
            continue
        connection = CostConnection.objects.filter(event_source__name=name).first()
        if connection is None and is_first:
            connection = create_connection(
                account=account,
                actor=actor,
                name=name,
                connector="folder_events",
                values={"folder": str(folder_of(folder))},
                interval_minutes=DAILY,
            )
        if connection is not None:
            sync = complete_sync(connection, actor)
            if sync.error:
                raise UserError(f"{name}: {sync.error}")
            rows += sync.rows
    return rows


def _github_events(first: date, last: date) -> Iterator[dict[str, Any]]:
    for event in events_on(DateRange(first, last)):
        if event["kind"] in PULLED_KINDS:
            yield {**event, "url": f"https://github.com/lumenly/deliveries/actions?query={event['event_id']}"}


def _trail_events(first: date, last: date) -> Iterator[dict[str, Any]]:
    """Yield the creation of each resource, in the first days after CloudTrail was connected."""
    seen = set()
    for line in lines_of("aws"):
        kind = line.resource_id.split(":", 5)[5].partition("/")[0]
        if line.resource_id in seen or kind not in _CREATIONS or fraction("trail", line.resource_id) < _OLDER:
            continue
        seen.add(line.resource_id)
        moment = _moment(line, first)
        if moment.date() <= last:
            yield _trail_event(line, moment, *_CREATIONS[kind])


def _moment(line: ResourceLine, first: date) -> datetime:
    minutes = int(fraction("trail-time", line.resource_id) * _SPREAD_DAYS * 24 * 60)
    return datetime.combine(first, time(tzinfo=UTC)) + timedelta(minutes=minutes)


def _trail_event(line: ResourceLine, moment: datetime, kind: str, action: str) -> dict[str, Any]:
    record = {
        "eventVersion": "1.11",
        "eventName": action,
        "eventSource": "ec2.amazonaws.com",
        "awsRegion": line.region,
        "recipientAccountId": line.sub_account.id,
        "userIdentity": _identity(line),
        "readOnly": False,
    }
    event_id = f"{int(fraction('trail-id', line.resource_id) * 10**15):015d}"
    event = change_event(event_id, moment, json.dumps(record), [TrailResource(kind, line.resource_id)])
    if event is None:
        raise ValueError(f"{action} of {line.resource_id} is no change event.")
    fields: dict[str, Any] = msgspec.json.decode(event.line)
    return fields


def _identity(line: ResourceLine) -> dict[str, Any]:
    """Return the identity that created the resource: Auto Scaling for temporary machines, else a person or the pipeline."""
    if line.pool_size and line.rank >= line.pool_size:
        return {"type": "AWSService", "invokedBy": "autoscaling.amazonaws.com"}
    place = int(fraction("trail-actor", line.workload) * (len(_PEOPLE) + 1))
    session, role = ("terraform-ci", "Deploy") if place == len(_PEOPLE) else (person(_PEOPLE[place]), "Admin")
    return {
        "type": "AssumedRole",
        "arn": f"arn:aws:sts::{line.sub_account.id}:assumed-role/{role}/{session}",
        "sessionContext": {"sessionIssuer": {"type": "Role", "userName": role}},
    }


def _write(folder: Path, events: Iterable[dict[str, Any]]) -> datetime:
    """Write one file for each month, and return the time of the newest event. An unchanged file is not written, so that its
    fingerprint stays."""
    lines: dict[str, list[bytes]] = defaultdict(list)
    newest = datetime.min.replace(tzinfo=UTC)
    for event in events:
        lines[event["occurred_at"][:7]].append(msgspec.json.encode(event))
        newest = max(newest, datetime.fromisoformat(event["occurred_at"]))
    folder.mkdir(parents=True, exist_ok=True)
    for month, own in lines.items():
        replace_file(folder / f"{month}.jsonl", b"\n".join(own) + b"\n")
    return newest
