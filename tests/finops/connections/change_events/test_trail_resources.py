"""The resources that a record of AWS CloudTrail is about, by its action's request and response."""

from __future__ import annotations

from typing import Any

import pytest

from finops.connections.vendor_apis.trail_resources import resources_of


@pytest.mark.parametrize(
    ("source", "action", "request_", "response", "names"),
    [
        (
            "ec2",
            "CreateVolume",
            {"snapshotId": "snap-1", "size": "10"},
            {"volumeId": "vol-1", "snapshotId": "snap-1"},
            ["vol-1"],
        ),
        ("ec2", "CreateSnapshot", {"volumeId": "vol-1"}, {"snapshotId": "snap-1"}, ["snap-1"]),
        ("ec2", "ModifyVolume", {"ModifyVolumeRequest": {"VolumeId": "vol-1", "Size": 20}}, None, ["vol-1"]),
        (
            "ec2",
            "CreateNatGateway",
            {"CreateNatGatewayRequest": {"SubnetId": "subnet-1"}},
            {"CreateNatGatewayResponse": {"natGateway": {"natGatewayId": "nat-1"}}},
            ["nat-1"],
        ),
        ("ec2", "CreateInstanceExportTask", {"instanceId": "i-1"}, None, []),
        ("ec2", "CreateTransitGatewayVpcAttachment", {"transitGatewayId": "tgw-1"}, None, []),
        (
            "rds",
            "CreateDBInstance",
            {"dBInstanceIdentifier": "db1"},
            {"dBInstanceIdentifier": "db1"},
            ["db1"],
        ),
        (
            "rds",
            "RestoreDBInstanceFromDBSnapshot",
            {"dBInstanceIdentifier": "db2", "dBSnapshotIdentifier": "s"},
            None,
            ["db2"],
        ),
        ("rds", "DeleteDBClusterSnapshot", {}, {"dBClusterIdentifier": "c1"}, []),
        (
            "dynamodb",
            "CreateTable",
            {"tableName": "orders"},
            {"tableDescription": {"tableName": "orders"}},
            ["orders"],
        ),
        (
            "lambda",
            "CreateFunction20150331",
            {"functionName": "f"},
            {"functionName": "f", "layers": []},
            ["f"],
        ),
        (
            "lambda",
            "UpdateFunctionCode20150331v2",
            {"functionName": "111122223333:function:f"},
            {"functionName": "f"},
            ["f"],
        ),
        ("ecs", "UpdateService", {"cluster": "main", "service": "web"}, None, ["web"]),
        ("eks", "CreateCluster", {"name": "k8s"}, {"cluster": {"name": "k8s"}}, ["k8s"]),
        (
            "cloudfront",
            "CreateDistribution",
            {"distributionConfig": {"origins": {"items": [{"id": "origin"}]}}},
            {"distribution": {"id": "E1"}},
            ["E1"],
        ),
        (
            "sqs",
            "CreateQueue",
            {"queueName": "q"},
            {"queueUrl": "https://sqs.eu-west-1.amazonaws.com/1/q"},
            ["q"],
        ),
        (
            "autoscaling",
            "SetDesiredCapacity",
            {"autoScalingGroupName": "web", "desiredCapacity": 4},
            None,
            ["web"],
        ),
        ("redshift", "CreateClusterSnapshot", {"clusterIdentifier": "dw"}, None, []),
        ("s3", "CreateBucket", {"bucketName": "b"}, None, ["b"]),
        ("iam", "CreateUser", {"userName": "maya"}, None, []),
        ("ec2", "RunInstances", "not an object", [1, None], []),
    ],
)
def test_resources_are_those_that_the_action_names(
    source: str, action: str, request_: Any, response: Any, names: list[str]
) -> None:
    resources = resources_of(f"{source}.amazonaws.com", action, request_, response)

    assert [name for _type, name in resources] == names
