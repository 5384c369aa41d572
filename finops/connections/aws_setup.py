"""Instructions for AWS: policies, CloudFormation and Terraform, generated from one set of documents.

The export's tables and settings are those of docs.aws.amazon.com/cur/latest/userguide/dataexports-create.html; the policy that lets
AWS deliver is from dataexports-security.html there. Exports are created in us-east-1, in whatever region their bucket is.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml
from django.conf import settings

from finops.connections.connector import SetupStep

EXAMPLE_PRINCIPAL: Final = "arn:aws:iam::111122223333:root"
BUCKET, PREFIX, EXPORT, ROLE = "BUCKET", "PREFIX", "EXPORT", "finops-console"
FOCUS_COLUMNS: Final = (
    *("AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType"),
    *("BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "CapacityReservationId"),
    *("CapacityReservationStatus", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("ChargePeriodEnd", "ChargePeriodStart", "CommitmentDiscountCategory", "CommitmentDiscountId"),
    *("CommitmentDiscountName", "CommitmentDiscountQuantity", "CommitmentDiscountStatus"),
    *("CommitmentDiscountType", "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit"),
    *("ContractedCost", "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName"),
    *("ListCost", "ListUnitPrice", "PricingCategory", "PricingCurrency"),
    *("PricingCurrencyContractedUnitPrice", "PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice"),
    *("PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId", "RegionName"),
    *("ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory"),
    *("SkuId", "SkuMeter", "SkuPriceDetails", "SkuPriceId", "SubAccountId", "SubAccountName"),
    *("SubAccountType", "Tags", "x_Discounts", "x_Operation", "x_ServiceCode"),
)
"""Columns of FOCUS 1.2 with AWS columns: 57, and three of AWS. A data export does not accept `SELECT *`."""
_VERSION: Final = "2012-10-17"

Document = dict[str, Any]


def data_export_steps(external_id: str) -> list[SetupStep]:
    """Return the steps for AWS Data Exports: the export, then a role that may read it."""
    return [
        SetupStep(
            "Create the export",
            "In Billing and Cost Management > Data Exports, choose Create. Select 'FOCUS 1.2 with AWS columns' or "
            "'CUR 2.0', Parquet and 'Overwrite existing data export file'. Or use CloudFormation or Terraform below.",
        ),
        *_role_steps(external_id),
        SetupStep(
            "Or create everything with CloudFormation",
            "Deploy in us-east-1 with a dedicated bucket: its bucket policy is replaced.",
            _yaml(_cloudformation(external_id, with_export=True)),
            "yaml",
        ),
        SetupStep(
            "Or use Terraform",
            "Use a provider in us-east-1 and a dedicated bucket: its bucket policy is replaced.",
            _terraform(external_id, with_export=True),
            "hcl",
        ),
        *_last_steps(),
    ]


def cur_steps(external_id: str) -> list[SetupStep]:
    """Return the steps for legacy Cost and Usage Reports, which exist already: a role that may read them."""
    return [
        SetupStep(
            "Find the report",
            "In Billing and Cost Management > Data Exports, open the report of type 'Legacy CUR export'. Note its "
            "bucket, path prefix and name.",
        ),
        *_role_steps(external_id),
        SetupStep(
            "Or create the role with CloudFormation",
            "",
            _yaml(_cloudformation(external_id, with_export=False)),
            "yaml",
        ),
        SetupStep("Or use Terraform", "", _terraform(external_id, with_export=False), "hcl"),
        *_last_steps(),
    ]


def _role_steps(external_id: str) -> list[SetupStep]:
    return [
        SetupStep(
            "Create a role",
            f"In IAM > Roles, choose Create role and 'Custom trust policy'. Name the role {ROLE}.",
            json.dumps(trust_policy(external_id), indent=2),
            "json",
        ),
        SetupStep(
            "Grant read access to the export",
            "Add this inline policy to the role. Replace BUCKET and PREFIX.",
            json.dumps(read_policy(), indent=2),
            "json",
        ),
    ]


def trail_steps(external_id: str) -> list[SetupStep]:
    """Return the steps for CloudTrail: a role that may look up events, or read the bucket of a trail, and nothing else."""
    return [
        SetupStep(
            "Create a role",
            f"In IAM > Roles of the account, choose Create role and 'Custom trust policy'. Name the role {ROLE}.",
            json.dumps(trust_policy(external_id), indent=2),
            "json",
        ),
        SetupStep(
            "Grant it LookupEvents",
            "Add this inline policy to the role. No trail is needed: CloudTrail keeps management events for 90 days.",
            json.dumps(_policy(_statement(["cloudtrail:LookupEvents"], "*")), indent=2),
            "json",
        ),
        SetupStep(
            "Or grant it the bucket of a trail",
            "In the account of the bucket. Replace BUCKET; put the trail's prefix, if it has one, before AWSLogs.",
            json.dumps(read_policy(prefix="AWSLogs"), indent=2),
            "json",
        ),
        _key_step(),
    ]


def _last_steps() -> list[SetupStep]:
    return [
        SetupStep(
            "Recommendations of Cost Optimization Hub (optional)",
            "Add this inline policy too. Cost Optimization Hub must be enabled in the account.",
            json.dumps(_policy(_statement(["cost-optimization-hub:ListRecommendations"], "*")), indent=2),
            "json",
        ),
        _key_step(),
    ]


def _key_step() -> SetupStep:
    return SetupStep(
        "If the bucket uses a customer managed key",
        "Grant the role kms:Decrypt on the key.",
        json.dumps(_policy(_statement(["kms:Decrypt"], "arn:aws:kms:REGION:ACCOUNT:key/KEY")), indent=2),
        "json",
    )


def trust_policy(external_id: str) -> Document:
    """Return a trust policy with which only this console can assume the role, and only for this connection."""
    return _policy(
        {
            "Effect": "Allow",
            "Principal": {"AWS": settings.AWS_PRINCIPAL_ARN or EXAMPLE_PRINCIPAL},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"sts:ExternalId": external_id}},
        }
    )


def read_policy(bucket: str = BUCKET, prefix: str = PREFIX) -> Document:
    """Return a policy that allows to list and read the prefix, and nothing else."""
    return _policy(
        {
            **_statement(["s3:ListBucket"], f"arn:aws:s3:::{bucket}"),
            "Condition": {"StringLike": {"s3:prefix": [f"{prefix}/*"]}},
        },
        _statement(["s3:GetObject"], f"arn:aws:s3:::{bucket}/{prefix}/*"),
    )


def write_policy(bucket: str = "acme-finops", prefix: str = "finops") -> Document:
    """Return a policy that allows to list the prefix, and to write and delete in it, and nothing else."""
    return _policy(
        {
            **_statement(["s3:ListBucket"], f"arn:aws:s3:::{bucket}"),
            "Condition": {"StringLike": {"s3:prefix": [f"{prefix}/*"]}},
        },
        _statement(
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
            f"arn:aws:s3:::{bucket}/{prefix}/*",
        ),
    )


def _policy(*statements: Document) -> Document:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statement(actions: list[str], resource: Any) -> Document:
    return {"Effect": "Allow", "Action": actions, "Resource": resource}


def _delivery_policy() -> Document:
    """Return a bucket policy that lets AWS write exports of this account into the bucket."""
    return _policy(
        {
            "Effect": "Allow",
            "Principal": {"Service": ["billingreports.amazonaws.com", "bcm-data-exports.amazonaws.com"]},
            "Action": ["s3:PutObject", "s3:GetBucketPolicy"],
            "Resource": [{"Fn::Sub": "arn:aws:s3:::${Bucket}"}, {"Fn::Sub": "arn:aws:s3:::${Bucket}/*"}],
            "Condition": {"StringLike": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}},
        }
    )


def _cloudformation(external_id: str, *, with_export: bool) -> Document:
    resources: Document = {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": ROLE,
                "AssumeRolePolicyDocument": trust_policy(external_id),
                "Policies": [{"PolicyName": "read-cost-export", "PolicyDocument": _read_of_parameters()}],
            },
        }
    }
    if with_export:
        resources |= {
            "Delivery": {
                "Type": "AWS::S3::BucketPolicy",
                "Properties": {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": _delivery_policy()},
            },
            "Export": {
                "Type": "AWS::BCMDataExports::Export",
                "DependsOn": "Delivery",
                "Properties": {"Export": _export()},
            },
        }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Role for a FinOps console to read a cost export",
        "Parameters": {
            "Bucket": {"Type": "String"},
            "Prefix": {"Type": "String", "Default": "exports"},
            **({"ExportName": {"Type": "String", "Default": "focus"}} if with_export else {}),
        },
        "Resources": resources,
        "Outputs": {"RoleArn": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}}},
    }


def _read_of_parameters() -> Document:
    return _policy(
        {
            **_statement(["s3:ListBucket"], {"Fn::Sub": "arn:aws:s3:::${Bucket}"}),
            "Condition": {"StringLike": {"s3:prefix": [{"Fn::Sub": "${Prefix}/*"}]}},
        },
        _statement(["s3:GetObject"], {"Fn::Sub": "arn:aws:s3:::${Bucket}/${Prefix}/*"}),
    )


def _export() -> Document:
    return {
        "Name": {"Ref": "ExportName"},
        "DataQuery": {
            "QueryStatement": focus_query(),
            "TableConfigurations": {"FOCUS_1_2_AWS": {"TIME_GRANULARITY": "DAILY"}},
        },
        "DestinationConfigurations": {
            "S3Destination": {
                "S3Bucket": {"Ref": "Bucket"},
                "S3Prefix": {"Ref": "Prefix"},
                "S3Region": {"Ref": "AWS::Region"},
                "S3OutputConfigurations": {
                    "OutputType": "CUSTOM",
                    "Format": "PARQUET",
                    "Compression": "PARQUET",
                    "Overwrite": "OVERWRITE_REPORT",
                },
            }
        },
        "RefreshCadence": {"Frequency": "SYNCHRONOUS"},
    }


def focus_query() -> str:
    return f"SELECT {', '.join(FOCUS_COLUMNS)} FROM FOCUS_1_2_AWS"  # noqa: S608 our own constants, for AWS


def _yaml(document: Document) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=100)


def _terraform(external_id: str, *, with_export: bool) -> str:
    role = f"""resource "aws_iam_role" "finops" {{
  name               = "{ROLE}"
  assume_role_policy = jsonencode({json.dumps(trust_policy(external_id), indent=2)})
}}

resource "aws_iam_role_policy" "finops" {{
  name   = "read-cost-export"
  role   = aws_iam_role.finops.id
  policy = jsonencode({json.dumps(read_policy(), indent=2)})
}}

output "role_arn" {{
  value = aws_iam_role.finops.arn
}}
"""
    return role + (_TERRAFORM_EXPORT if with_export else "")


_TERRAFORM_EXPORT: Final = f"""
data "aws_caller_identity" "current" {{}}

resource "aws_s3_bucket_policy" "delivery" {{
  bucket = "{BUCKET}"
  policy = jsonencode({{
    Version = "{_VERSION}"
    Statement = [{{
      Effect    = "Allow"
      Principal = {{ Service = ["billingreports.amazonaws.com", "bcm-data-exports.amazonaws.com"] }}
      Action    = ["s3:PutObject", "s3:GetBucketPolicy"]
      Resource  = ["arn:aws:s3:::{BUCKET}", "arn:aws:s3:::{BUCKET}/*"]
      Condition = {{ StringLike = {{ "aws:SourceAccount" = data.aws_caller_identity.current.account_id }} }}
    }}]
  }})
}}

resource "aws_bcmdataexports_export" "focus" {{
  depends_on = [aws_s3_bucket_policy.delivery]
  export {{
    name = "{EXPORT}"
    data_query {{
      query_statement      = "{focus_query()}"
      table_configurations = {{ FOCUS_1_2_AWS = {{ TIME_GRANULARITY = "DAILY" }} }}
    }}
    destination_configurations {{
      s3_destination {{
        s3_bucket = "{BUCKET}"
        s3_prefix = "{PREFIX}"
        s3_region = "us-east-1"
        s3_output_configurations {{
          output_type = "CUSTOM"
          format      = "PARQUET"
          compression = "PARQUET"
          overwrite   = "OVERWRITE_REPORT"
        }}
      }}
    }}
    refresh_cadence {{
      frequency = "SYNCHRONOUS"
    }}
  }}
}}
"""
