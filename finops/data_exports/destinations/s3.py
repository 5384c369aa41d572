"""Amazon S3, and storage that speaks as it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from finops.connections.aws import BUCKET_NAME, AwsBucketConfig, RoleArn, SecretAccessKey, aws_credentials
from finops.connections.aws_setup import trust_policy, write_policy
from finops.connections.connector import ConnectorConfig, SetupStep
from finops.connections.transports.s3 import S3Bucket, open_s3
from finops.data_exports.destination import Destination, Folder


class S3Config(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, and how this console signs in."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name, without s3://.",
            examples=["acme-finops"],
            pattern=BUCKET_NAME,
        ),
    ]
    folder: Folder = ""
    region: Annotated[
        str,
        msgspec.Meta(
            title="Region",
            description="Region of the bucket.",
            examples=["eu-west-1"],
            pattern=r"^[A-Za-z0-9-]{0,40}$",
        ),
    ] = "us-east-1"
    endpoint: Annotated[
        str,
        msgspec.Meta(
            title="Endpoint",
            description="For storage outside AWS. Leave empty for AWS.",
            examples=["https://s3.gra.io.cloud.ovh.net"],
            max_length=500,
        ),
    ] = ""
    addressing: Annotated[
        Literal["path", "host"],
        msgspec.Meta(
            title="Bucket name in",
            description="Path, or host for Alibaba and Tencent. For custom endpoints.",
        ),
    ] = "path"
    access: Annotated[
        Literal["access_key", "role", "server_identity"],
        msgspec.Meta(title="Access", description="How the console signs in. Roles work with AWS only."),
    ] = "access_key"
    role_arn: RoleArn = ""
    access_key_id: Annotated[
        str,
        msgspec.Meta(
            title="Access key ID",
            description="Of a user with write access to this folder only.",
            examples=["AKIAIOSFODNN7EXAMPLE"],
            pattern=r"^[A-Za-z0-9_-]{0,128}$",
        ),
    ] = ""
    secret_access_key: SecretAccessKey = ""


class S3Destination(Destination[S3Config]):
    name = "s3"
    title = "S3-compatible bucket"
    icon = "bucket"
    docs_url = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-policy-language-overview.html"
    description = "Amazon S3, MinIO, OVHcloud, IBM, Alibaba, Tencent."
    order = 10
    Config = S3Config

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Create an access key with write access",
                "For a dedicated user. In AWS, use this policy and replace the bucket and folder.",
                json.dumps(write_policy(), indent=2),
                "json",
            ),
            SetupStep(
                "Or create a role in AWS",
                "Use the same policy, and this trust policy.",
                json.dumps(trust_policy(external_id), indent=2),
                "json",
            ),
        ]

    def open(self, config: S3Config) -> S3Bucket:
        signed = AwsBucketConfig(
            external_id=config.external_id,
            bucket=config.bucket,
            access=config.access,
            role_arn=config.role_arn,
            access_key_id=config.access_key_id,
            secret_access_key=config.secret_access_key,
        )
        return open_s3(
            config.bucket,
            config.folder,
            aws_credentials(signed),
            region=config.region,
            endpoint=config.endpoint,
            virtual_host=config.addressing == "host" and bool(config.endpoint),
        )
