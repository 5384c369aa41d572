"""AWS CloudTrail's management events: which of them are change events, their actors, and the resources of the bill
that they change. Pure.

Sources: docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html,
/cloudtrail-event-reference-user-identity.html, and service authorization reference (forms of ARNs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from finops.change_events.event_rules import MAX_VALUE, MAX_VALUES
from finops.connections.transports.event_lines import PulledEvent

_ARN_OF_TYPE: Final[Mapping[str, str]] = {
    "AWS::EC2::Instance": "ec2:{region}:{account}:instance/{name}",
    "AWS::EC2::Volume": "ec2:{region}:{account}:volume/{name}",
    "AWS::EC2::Snapshot": "ec2:{region}:{account}:snapshot/{name}",
    "AWS::EC2::NatGateway": "ec2:{region}:{account}:natgateway/{name}",
    "AWS::EC2::VPCEndpoint": "ec2:{region}:{account}:vpc-endpoint/{name}",
    "AWS::EC2::TransitGateway": "ec2:{region}:{account}:transit-gateway/{name}",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::RDS::DBInstance": "rds:{region}:{account}:db:{name}",
    "AWS::RDS::DBCluster": "rds:{region}:{account}:cluster:{name}",
    "AWS::RDS::DBSnapshot": "rds:{region}:{account}:snapshot:{name}",
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::ECS::Cluster": "ecs:{region}:{account}:cluster/{name}",
    "AWS::ECS::Service": "ecs:{region}:{account}:service/{name}",
    "AWS::EKS::Cluster": "eks:{region}:{account}:cluster/{name}",
    "AWS::EKS::Nodegroup": "eks:{region}:{account}:nodegroup/{name}",
    "AWS::ElastiCache::CacheCluster": "elasticache:{region}:{account}:cluster:{name}",
    "AWS::Redshift::Cluster": "redshift:{region}:{account}:cluster:{name}",
    "AWS::Elasticsearch::Domain": "es:{region}:{account}:domain/{name}",
    "AWS::OpenSearchService::Domain": "es:{region}:{account}:domain/{name}",
    "AWS::Kinesis::Stream": "kinesis:{region}:{account}:stream/{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/{name}",
    "AWS::SageMaker::Endpoint": "sagemaker:{region}:{account}:endpoint/{name}",
    "AWS::SageMaker::NotebookInstance": "sagemaker:{region}:{account}:notebook-instance/{name}",
    "AWS::EFS::FileSystem": "elasticfilesystem:{region}:{account}:file-system/{name}",
    "AWS::ElasticLoadBalancingV2::LoadBalancer": "elasticloadbalancing:{region}:{account}:loadbalancer/{name}",
    "AWS::AutoScaling::AutoScalingGroup": "autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/{name}",
    "AWS::CloudFront::Distribution": "cloudfront::{account}:distribution/{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
    "AWS::GuardDuty::Detector": "guardduty:{region}:{account}:detector/{name}",
    "AWS::Backup::BackupVault": "backup:{region}:{account}:backup-vault:{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}",
}
"""Types of resources with cost, and the form of their ARN in bills."""

_VERBS: Final = re.compile(
    r"(Run|Create|Allocate|Restore|Copy|Import|Launch|Start|Stop|Terminate|Delete|Release|Modify|Update|Resize|Purchase|Put|Set)[A-Z]"
)
_NOISE: Final = re.compile(
    r"(CreateTags|DeleteTags|CreateLogStream|CreateNetworkInterface|DeleteNetworkInterface|Put\w*(Policy|Acl|Tagging|Events)|"
    r"UpdateInstanceInformation|Start(Query|Session|BuildBatch)|CreateGrant|Update\w*Tags)\w*"
)
_INSTANCE: Final = re.compile(r"i-[0-9a-f]{8,17}")


class _SessionIssuer(msgspec.Struct, frozen=True, rename="camel"):
    user_name: str = ""


class _SessionContext(msgspec.Struct, frozen=True, rename="camel"):
    session_issuer: _SessionIssuer | None = None


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    arn: str = ""
    user_name: str = ""
    invoked_by: str = ""
    session_context: _SessionContext | None = None


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    event_name: str
    event_source: str
    aws_region: str
    user_identity: _Identity = _Identity()
    recipient_account_id: str = ""
    error_code: str = ""


class TrailResource(msgspec.Struct, frozen=True):
    type: str
    name: str


def is_change(action: str, error_code: str) -> bool:
    """Return whether a call succeeded, and created or changed something that may have cost."""
    return not error_code and _VERBS.match(action) is not None and not _NOISE.fullmatch(action)


def change_event(
    event_id: str,
    occurred_at: datetime,
    record_text: str | bytes | msgspec.Raw,
    resources: Iterable[TrailResource],
    account: str = "",
) -> PulledEvent | None:
    """Return the change event of a record; None for a failed or reading call, or if no resource has cost. Raises
    msgspec.DecodeError for an invalid record. `account` is added to the event's scope, for records of several accounts.

    The event ID begins with the action of the API, which distinguishes creations from changes
    (`finops.change_events.resource_actors`).
    """
    record = msgspec.json.decode(record_text, type=_Record)
    name = record.event_name
    if not is_change(name, record.error_code):
        return None
    billable = [each for each in resources if each.name and each.type in _ARN_OF_TYPE]
    values = list(dict.fromkeys(_bill_names(billable, record)))[:MAX_VALUES]
    if not values:
        return None
    more = len({each.name for each in billable}) - 1
    more_clause = f" and {more} more" if more else ""
    return PulledEvent(
        occurred_at=occurred_at.astimezone(UTC),
        kind="purchase" if name.startswith("Purchase") else "change",
        title=f"{name} {billable[0].name.rpartition('/')[2]}{more_clause}",
        event_id=f"{name}/{event_id}",
        actor=actor_of(record.user_identity),
        url=f"https://{record.aws_region}.console.aws.amazon.com/cloudtrailv2/home?region={record.aws_region}#/events/{event_id}",
        scope={"resource": values, **({"account": [account]} if account else {})},
    )


def actor_of(identity: _Identity) -> str:
    """Return a person, a session and its role (`maya@example.com, role Admin`), `root`, or the AWS service that acted."""
    if identity.invoked_by.endswith(".amazonaws.com") or identity.type == "AWSService":
        return identity.invoked_by or "an AWS service"
    if identity.type == "Root":
        return "root"
    if identity.user_name:
        return identity.user_name
    session = identity.arn.rpartition("/")[2]
    issuer = identity.session_context.session_issuer if identity.session_context else None
    role = issuer.user_name if issuer else ""
    if _INSTANCE.fullmatch(session):
        session = f"instance {session}"
    return f"{session}, role {role}" if session and role else session or role


def _bill_names(resources: Iterable[TrailResource], record: _Record) -> Iterator[str]:
    """Yield the names of each resource that bills may use: its ID and its ARN."""
    partition = _partition(record.aws_region)
    for each in resources:
        names = [each.name]
        if not each.name.startswith("arn:"):
            place = {"region": record.aws_region, "account": record.recipient_account_id, "name": each.name}
            names.append(f"arn:{partition}:{_ARN_OF_TYPE[each.type].format(**place)}")
        yield from (name for name in names if len(name) <= MAX_VALUE)


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
