"""A trail's bucket on a real S3 server, with log files as CloudTrail delivers them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from finops.connections import services
from finops.connections.models import CostConnection
from tests.cast import Cast
from tests.finops.connections.conftest import S3TestBucket
from tests.s3 import KEY, REGION

ACCOUNT = "111122223333"
MAYA = {
    "type": "AssumedRole",
    "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/Admin/maya@example.com",
    "sessionContext": {"sessionIssuer": {"type": "Role", "userName": "Admin"}},
}
Row = dict[str, Any]


def record(number: int | str, moment: datetime, action: str, **more: Any) -> Row:
    """A record of a log file: it has no list of resources, other than an answer of LookupEvents."""
    return {
        "eventVersion": "1.11",
        "userIdentity": MAYA,
        "eventTime": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "eventSource": "ec2.amazonaws.com",
        "eventName": action,
        "awsRegion": "eu-west-1",
        "sourceIPAddress": "192.0.2.1",
        "requestParameters": None,
        "responseElements": None,
        "eventID": f"event-{number}",
        "readOnly": False,
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": ACCOUNT,
        "eventCategory": "Management",
        **more,
    }


def run_instances(number: int | str, moment: datetime, *names: str, **more: Any) -> Row:
    items = [{"instanceId": name, "imageId": "ami-1", "subnetId": "subnet-1"} for name in names]
    request = {"instancesSet": {"items": [{"imageId": "ami-1", "minCount": 1}]}, "instanceType": "t3.micro"}
    answer = {"reservationId": "r-1", "instancesSet": {"items": items}}
    return record(number, moment, "RunInstances", requestParameters=request, responseElements=answer, **more)


def log_file(records: Sequence[Row]) -> bytes:
    return gzip.compress(json.dumps({"Records": records}).encode())


def key_of(
    delivered: datetime, unique: str, *, account: str = ACCOUNT, region: str = "eu-west-1", parent: str = ""
) -> str:
    name = f"{account}_CloudTrail_{region}_{delivered:%Y%m%dT%H%M}Z_{unique}.json.gz"
    return f"AWSLogs/{parent}{account}/CloudTrail/{region}/{delivered:%Y/%m/%d}/{name}"


class TrailOfTests:
    """What CloudTrail delivers to the bucket."""

    def __init__(self, s3: S3TestBucket) -> None:
        self.s3 = s3

    def deliver(self, delivered: datetime, unique: str, *records: Row, **place: str) -> str:
        key = key_of(delivered, unique, **place)
        self.s3.put(key, log_file(records))
        return key


def bucket_values(s3: S3TestBucket, **more: object) -> dict[str, object]:
    return {
        "read_from": "trail_bucket",
        "bucket": s3.name,
        "bucket_region": REGION,
        "endpoint": s3.endpoint,
        "access": "access_key",
        "access_key_id": KEY,
        "secret_access_key": KEY,
        **more,
    }


def connect(cast: Cast, s3: S3TestBucket, **more: object) -> CostConnection:
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Trail",
        connector="aws_cloudtrail",
        values=bucket_values(s3, **more),
    )
