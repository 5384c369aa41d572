"""The resources that a CloudTrail record is about. Pure.

LookupEvents returns them; log files of a trail do not have them, so they are read from the action's parameters and
response. A creation concerns only the resource in the name of its action: `CreateVolume` from a snapshot creates a
volume. Source: docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html,
and log file examples of each service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from finops.change_events.event_rules import MAX_VALUES

_VERB: Final = re.compile(r"[A-Z][a-z]+(?=[A-Z])")
_CREATION: Final = re.compile(r"Run|Create|Allocate|Restore|Copy|Import|Launch")
_OF_A_NEW_ONE: Final = re.compile(r"s?(\d{8}(v\d)?|ReadReplica|From\w+|To\w+|WithTags)?")
"""The text that may follow the noun in the name of an action that creates the resource."""
_OF_ANOTHER: Final = re.compile(
    r"\w*(Snapshot|Endpoint|ParameterGroup|SubnetGroup|Permission|Url|Task|Attachment|Listener|Window|Association|Policy|Tags)"
)
"""The text that follows the noun in the name of an action on another resource: `DeleteDBClusterSnapshot` changes no cluster."""
_MAX_DEPTH: Final = 8
_MAX_NODES: Final = 20_000


class _Kind(NamedTuple):
    """A kind of resource. `fields` in lower case: `instanceid` at any depth, or `request.name` with its parent."""

    service: str
    nouns: tuple[str, ...]
    type: str
    fields: tuple[str, ...]


_KINDS: Final = (
    _Kind("ec2", ("Instance",), "AWS::EC2::Instance", ("instanceid",)),
    _Kind("ec2", ("Volume",), "AWS::EC2::Volume", ("volumeid",)),
    _Kind("ec2", ("Snapshot",), "AWS::EC2::Snapshot", ("snapshotid",)),
    _Kind("ec2", ("NatGateway",), "AWS::EC2::NatGateway", ("natgatewayid",)),
    _Kind("ec2", ("VpcEndpoint",), "AWS::EC2::VPCEndpoint", ("vpcendpointid",)),
    _Kind("ec2", ("TransitGateway",), "AWS::EC2::TransitGateway", ("transitgatewayid",)),
    _Kind("s3", ("Bucket",), "AWS::S3::Bucket", ("bucketname",)),
    _Kind("rds", ("DBInstance",), "AWS::RDS::DBInstance", ("dbinstanceidentifier",)),
    _Kind("rds", ("DBCluster",), "AWS::RDS::DBCluster", ("dbclusteridentifier",)),
    _Kind("rds", ("DBSnapshot",), "AWS::RDS::DBSnapshot", ("dbsnapshotidentifier",)),
    _Kind(
        "dynamodb", ("Table",), "AWS::DynamoDB::Table", ("request.tablename", "tabledescription.tablename")
    ),
    _Kind(
        "lambda", ("Function",), "AWS::Lambda::Function", ("request.functionname", "response.functionname")
    ),
    _Kind("ecs", ("Cluster",), "AWS::ECS::Cluster", ("clustername", "request.cluster")),
    _Kind("ecs", ("Service",), "AWS::ECS::Service", ("servicename", "request.service")),
    _Kind("eks", ("Cluster",), "AWS::EKS::Cluster", ("request.name", "cluster.name")),
    _Kind("eks", ("Nodegroup",), "AWS::EKS::Nodegroup", ("nodegroupname",)),
    _Kind("elasticache", ("CacheCluster",), "AWS::ElastiCache::CacheCluster", ("cacheclusterid",)),
    _Kind("redshift", ("Cluster",), "AWS::Redshift::Cluster", ("clusteridentifier",)),
    _Kind("es", ("Domain", "ElasticsearchDomain"), "AWS::OpenSearchService::Domain", ("domainname",)),
    _Kind("kinesis", ("Stream", "ShardCount"), "AWS::Kinesis::Stream", ("request.streamname",)),
    _Kind("kms", ("Key",), "AWS::KMS::Key", ("request.keyid", "keymetadata.keyid")),
    _Kind("sagemaker", ("Endpoint",), "AWS::SageMaker::Endpoint", ("request.endpointname",)),
    _Kind(
        "sagemaker",
        ("NotebookInstance",),
        "AWS::SageMaker::NotebookInstance",
        ("request.notebookinstancename",),
    ),
    _Kind("elasticfilesystem", ("FileSystem",), "AWS::EFS::FileSystem", ("filesystemid",)),
    _Kind(
        "elasticloadbalancing",
        ("LoadBalancer",),
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        ("loadbalancerarn",),
    ),
    _Kind(
        "autoscaling",
        ("AutoScalingGroup", "DesiredCapacity"),
        "AWS::AutoScaling::AutoScalingGroup",
        ("request.autoscalinggroupname",),
    ),
    _Kind(
        "cloudfront", ("Distribution",), "AWS::CloudFront::Distribution", ("request.id", "distribution.id")
    ),
    _Kind("sqs", ("Queue",), "AWS::SQS::Queue", ("queuename", "queueurl")),
    _Kind("guardduty", ("Detector",), "AWS::GuardDuty::Detector", ("detectorid",)),
    _Kind("backup", ("BackupVault",), "AWS::Backup::BackupVault", ("backupvaultname",)),
    _Kind("logs", ("LogGroup",), "AWS::Logs::LogGroup", ("request.loggroupname",)),
)


def resources_of(source: str, action: str, request: Any, response: Any) -> list[tuple[str, str]]:
    """Return types and names of the resources that the action created or changed. `source` is for example
    `ec2.amazonaws.com`; `request` and `response` are parsed JSON."""
    kind = _kind_of(source.partition(".")[0], action)
    if kind is None:
        return []
    names: dict[str, None] = {}
    for parent, key, value in (*_texts("request", request), *_texts("response", response)):
        if key in kind.fields or f"{parent}.{key}" in kind.fields:
            names.setdefault(_plain_name(kind.service, value))
    return [(kind.type, name) for name in names][:MAX_VALUES]


def _kind_of(service: str, action: str) -> _Kind | None:
    verb = _VERB.match(action)
    if verb is None:
        return None
    object_text = action[verb.end() :]
    is_creation = _CREATION.fullmatch(verb.group()) is not None
    for kind in _KINDS:
        for noun in kind.nouns:
            if kind.service == service and object_text.startswith(noun):
                after = object_text.removeprefix(noun)
                is_own = _OF_A_NEW_ONE.fullmatch(after) if is_creation else not _OF_ANOTHER.match(after)
                return kind if is_own else None
    return None


def _texts(parent: str, value: Any) -> Iterator[tuple[str, str, str]]:
    """Yield every text of an object with its key and the key of its parent, in lower case."""
    remaining = _MAX_NODES
    pending: list[tuple[str, Any, int]] = [(parent, value, 0)]
    while pending and remaining > 0:
        name, node, depth = pending.pop()
        if isinstance(node, dict):
            for key, each in node.items():
                remaining -= 1
                if isinstance(each, str) and each:
                    yield name, key.lower(), each
                elif depth < _MAX_DEPTH:
                    pending.append((key.lower(), each, depth + 1))
        elif isinstance(node, list):
            remaining -= len(node)
            pending += (
                [(name, each, depth + 1) for each in reversed(node[:remaining])] if depth < _MAX_DEPTH else []
            )


def _plain_name(service: str, value: str) -> str:
    """Return the name at the end of a queue's URL or a function's partial ARN; other values unchanged."""
    if service == "sqs":
        return value.rpartition("/")[2]
    if service == "lambda" and not value.startswith("arn:"):
        return value.rpartition(":function:")[2]
    return value
