"""S3 and compatible storage: files in FOCUS or a native format, selected by a path pattern.

LiteLLM, OVHcloud, IBM Cloud, Alibaba Cloud, Tencent Cloud and Databricks write such files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from finops.connections.aws import (
    BUCKET_NAME,
    DEFAULT_REGION,
    AccessKeyId,
    Addressing,
    RoleArn,
    SecretAccessKey,
    StorageAccess,
    StorageEndpoint,
    StorageRegion,
    open_storage,
)
from finops.connections.aws_setup import read_policy, trust_policy
from finops.connections.connector import ConnectorConfig, SetupStep
from finops.connections.pattern_files import DefaultCurrency, FilesFolder, Pattern, PatternConnector, Provider
from finops.connections.transports.s3 import S3Bucket

_OVH_EXPORT: Final = """\
curl -X POST "https://eu.api.ovh.com/v2/finops/bucketExport" \\
  -H "Authorization: Bearer $OVH_API_TOKEN" -H "Content-Type: application/json" -d '{
    "targetSpec": {"exportHour": 0, "period": "HOURLY", "filePolicy": "REPLACE", "bucketConfiguration": {
      "accessKey": "WRITE_ACCESS_KEY", "secretKey": "WRITE_SECRET_KEY", "bucketName": "acme-focus",
      "endpointURL": "s3.gra.io.cloud.ovh.net", "region": "gra", "pathPrefix": "./"}}}'
"""
_IBM_REPORT: Final = """\
MONTH=2026-05
TOKEN=$(curl -sf https://iam.cloud.ibm.com/identity/token -d apikey="$IBM_API_KEY" \\
  -d grant_type=urn:ibm:params:oauth:grant-type:apikey | jq -r .access_token)
curl -sf "https://billing.cloud.ibm.com/v4/accounts/$IBM_ACCOUNT_ID/focus/$MONTH?format=csv" \\
  -H "Authorization: Bearer $TOKEN" -H "Accept: text/csv" -o "ibm-focus-$MONTH.csv" &&
  aws s3 cp "ibm-focus-$MONTH.csv" s3://acme-focus/ --endpoint-url "$S3_ENDPOINT"
"""


class BucketFocusConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, which files in it, and how this console signs in."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name, without s3://.",
            examples=["acme-focus"],
            pattern=BUCKET_NAME,
        ),
    ]
    prefix: FilesFolder = ""
    pattern: Pattern = "**/*"
    default_currency: DefaultCurrency = ""
    provider: Provider = ""
    endpoint: StorageEndpoint = ""
    region: StorageRegion = DEFAULT_REGION
    addressing: Addressing = "path"
    access: StorageAccess = "access_key"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""


class BucketFocus(PatternConnector[BucketFocusConfig]):
    name = "bucket_focus"
    title = "S3-compatible bucket"
    provider = "Files"
    icon = "bucket"
    docs_url = "https://focus.finops.org/focus-specification/"
    description = (
        "FOCUS files in S3 or compatible storage: LiteLLM, OVHcloud, IBM, Alibaba, Tencent, Databricks."
    )
    order = 800
    Config = BucketFocusConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Write one folder per month",
                "FOCUS 1.0 or later. Replace all files of a month together. Example: focus/2026/05/part-1.parquet.",
            ),
            SetupStep(
                "For OVHcloud: create the export",
                "Choose the layout “one file a month”. Cost after the last run of a month is not exported; hourly runs miss the least.",
                _OVH_EXPORT,
                "sh",
            ),
            SetupStep(
                "For IBM Cloud: save FOCUS reports",
                "IBM Cloud gives FOCUS reports by API only. Run this daily for the current and the previous month.",
                _IBM_REPORT,
                "sh",
            ),
            SetupStep(
                "Create an access key with read access",
                "For a dedicated user. In AWS, use this policy and replace the bucket and folder.",
                json.dumps(read_policy(), indent=2),
                "json",
            ),
            SetupStep(
                "Or create a role in AWS",
                "Use the same policy, and this trust policy.",
                json.dumps(trust_policy(external_id), indent=2),
                "json",
            ),
        ]

    def _open(self, config: BucketFocusConfig) -> S3Bucket:
        return open_storage(config, config.prefix)

    def _pattern(self, config: BucketFocusConfig) -> str:
        return config.pattern
