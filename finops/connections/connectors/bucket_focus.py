"""S3 and storage that speaks as it does: files of FOCUS or of a native format, by a path pattern.

LiteLLM, OVHcloud, IBM Cloud, Alibaba Cloud, Tencent Cloud and Databricks write such files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from finops.connections.aws import (
    BUCKET_NAME,
    AccessKeyId,
    AwsBucketConfig,
    RoleArn,
    SecretAccessKey,
    aws_credentials,
)
from finops.connections.aws_setup import read_policy, trust_policy
from finops.connections.connector import ConnectorConfig, SetupStep
from finops.connections.pattern_files import DefaultCurrency, Pattern, PatternConnector
from finops.connections.transports.s3 import S3Bucket, open_s3


class BucketFocusConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, which files in it, and how this console signs in."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Its name, without s3://.",
            examples=["acme-focus"],
            pattern=BUCKET_NAME,
        ),
    ]
    prefix: Annotated[
        str,
        msgspec.Meta(
            title="Folder",
            description="Where the files are in the bucket. Empty: the whole bucket.",
            examples=["focus"],
            max_length=500,
        ),
    ] = ""
    pattern: Pattern = "**/*"
    default_currency: DefaultCurrency = ""
    endpoint: Annotated[
        str,
        msgspec.Meta(
            title="Endpoint",
            description="Of storage that is not AWS's. Empty: AWS's own.",
            examples=["https://s3.gra.io.cloud.ovh.net"],
            max_length=500,
        ),
    ] = ""
    region: Annotated[
        str,
        msgspec.Meta(
            title="Region",
            description="As the provider names it.",
            examples=["eu-west-1"],
            pattern=r"^[A-Za-z0-9-]{0,40}$",
        ),
    ] = "us-east-1"
    addressing: Annotated[
        Literal["path", "host"],
        msgspec.Meta(
            title="Bucket's name in",
            description="The path of the address, or the host as at Alibaba and Tencent. Only with an endpoint.",
        ),
    ] = "path"
    access: Annotated[
        Literal["access_key", "role", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in. Roles are AWS's alone."),
    ] = "access_key"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""


class BucketFocus(PatternConnector[BucketFocusConfig]):
    name = "bucket_focus"
    title = "S3-compatible bucket"
    provider = "Files"
    icon = "bucket"
    docs_url = "https://focus.finops.org/focus-specification/"
    description = "Files of FOCUS in S3 or storage that speaks as it does: LiteLLM, OVHcloud, IBM, Alibaba, Tencent, Databricks."
    order = 800
    Config = BucketFocusConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Write files of a month each",
                "Below a folder of the month, and replaced as a whole: focus/2026/05/part-1.parquet. Columns as FOCUS 1.0 or later "
                "has them.",
            ),
            SetupStep(
                "Create an access key that may read the bucket",
                "Of a user of its own. At AWS with this policy; put in your bucket and folder.",
                json.dumps(read_policy(), indent=2),
                "json",
            ),
            SetupStep(
                "Or a role, at AWS",
                "With the same policy, and this trust policy.",
                json.dumps(trust_policy(external_id), indent=2),
                "json",
            ),
        ]

    def _open(self, config: BucketFocusConfig) -> S3Bucket:
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
            config.prefix,
            aws_credentials(signed),
            region=config.region,
            endpoint=config.endpoint,
            virtual_host=config.addressing == "host" and bool(config.endpoint),
        )

    def _pattern(self, config: BucketFocusConfig) -> str:
        return config.pattern
