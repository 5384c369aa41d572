"""Amazon S3, and storage with the same protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import msgspec

from finops.connections.aws import (
    BUCKET_NAME,
    DEFAULT_REGION,
    Addressing,
    RoleArn,
    SecretAccessKey,
    StorageAccess,
    StorageEndpoint,
    StorageRegion,
    open_storage,
)
from finops.connections.aws_setup import trust_policy, write_policy
from finops.connections.connector import ConnectorConfig, SetupStep, shown_for
from finops.connections.transports.s3 import S3Bucket
from finops.data_exports.destination import Destination, Folder


class S3Config(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, and the sign-in of this console."""

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
    region: StorageRegion = DEFAULT_REGION
    endpoint: StorageEndpoint = ""
    addressing: Addressing = "path"
    access: StorageAccess = "access_key"
    role_arn: RoleArn = ""
    access_key_id: Annotated[
        str,
        msgspec.Meta(
            title="Access key ID",
            description="Of a user with write access to this folder only.",
            examples=["AKIAIOSFODNN7EXAMPLE"],
            pattern=r"^[A-Za-z0-9_-]{0,128}$",
            extra_json_schema=shown_for(
                "access", "access_key", "role", required=["access_key"], pair="secret_access_key"
            ),
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
        return open_storage(config, config.folder)
