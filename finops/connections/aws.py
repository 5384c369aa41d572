"""Common parts of the AWS connectors: settings, credentials, and the bucket that they read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from django.conf import settings

from finops.connections.checks import CheckList
from finops.connections.connector import (
    AccessError,
    ConnectorConfig,
    SecretText,
    SourceError,
    shown_for,
)
from finops.connections.transports.aws_errors import explain_aws
from finops.connections.transports.bucket import BucketObject, shown_key
from finops.connections.transports.s3 import (
    ATTEMPTS,
    CONNECT_SECONDS,
    READ_SECONDS,
    S3Bucket,
    S3Credentials,
    open_s3,
)
from finops.costs.focus import archives
from finops.lib.sentences import join_with_and

SESSION_NAME: Final = "finops-console"
"""Session name of this console in a role, which CloudTrail records."""
SESSION_SECONDS: Final = 3_600
"""The default maximum session duration of a role."""
DEFAULT_REGION: Final = "us-east-1"
GZIP: Final = b"\x1f\x8b"
BUCKET_NAME: Final = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"

RoleArn = Annotated[
    str,
    msgspec.Meta(
        title="Role ARN",
        description="Role that the console assumes with the external ID.",
        examples=["arn:aws:iam::123456789012:role/finops-console"],
        pattern=r"^(arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512})?$",
        extra_json_schema=shown_for("access", "role", required=["role"]),
    ),
]
AccessKeyId = Annotated[
    str,
    msgspec.Meta(
        title="Access key ID",
        description="Of a user with read access to this bucket only.",
        examples=["AKIAIOSFODNN7EXAMPLE"],
        pattern=r"^[A-Za-z0-9_-]{0,128}$",
        # An access key can be used to assume the role.
        extra_json_schema=shown_for(
            "access", "access_key", "role", required=["access_key"], pair="secret_access_key"
        ),
    ),
]
SecretAccessKey = Annotated[
    SecretText,
    msgspec.Meta(
        title="Secret access key",
        max_length=256,
        extra_json_schema=shown_for(
            "access", "access_key", "role", required=["access_key"], pair="access_key_id"
        ),
    ),
]


StorageEndpoint = Annotated[
    str,
    msgspec.Meta(
        title="Endpoint",
        description="For storage outside AWS. Leave empty for AWS.",
        examples=["https://s3.gra.io.cloud.ovh.net"],
        max_length=500,
    ),
]
StorageRegion = Annotated[
    str,
    msgspec.Meta(
        title="Region",
        description="Region of the bucket.",
        examples=["eu-west-1"],
        pattern=r"^[A-Za-z0-9-]{0,40}$",
    ),
]
Addressing = Annotated[
    Literal["path", "host"],
    msgspec.Meta(
        title="Bucket name in",
        description="Path, or host for Alibaba and Tencent. For custom endpoints.",
    ),
]
StorageAccess = Annotated[
    Literal["access_key", "role", "server_identity"],
    msgspec.Meta(title="Access", description="How the console signs in. Roles work with AWS only."),
]


class StorageConfig(Protocol):
    """A bucket of AWS or of S3-compatible storage."""

    @property
    def external_id(self) -> str: ...
    @property
    def bucket(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def addressing(self) -> Literal["path", "host"]: ...
    @property
    def access(self) -> Literal["access_key", "role", "server_identity"]: ...
    @property
    def role_arn(self) -> str: ...
    @property
    def access_key_id(self) -> str: ...
    @property
    def secret_access_key(self) -> str: ...


class AwsSignIn(Protocol):
    """The fields of a config with which this console signs in to AWS."""

    @property
    def external_id(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def access(self) -> Literal["role", "access_key", "server_identity"]: ...
    @property
    def role_arn(self) -> str: ...
    @property
    def access_key_id(self) -> str: ...
    @property
    def secret_access_key(self) -> str: ...


class AwsBucketConfig(ConnectorConfig, frozen=True, kw_only=True):
    """An export in an S3 bucket, and how this console signs in."""

    bucket: Annotated[
        str,
        msgspec.Meta(
            title="Bucket",
            description="Name, without s3://.",
            examples=["acme-billing-exports"],
            pattern=BUCKET_NAME,
        ),
    ]
    prefix: Annotated[
        str,
        msgspec.Meta(
            title="Prefix",
            description="S3 path prefix of the export. Leave empty to search the whole bucket.",
            examples=["exports"],
            max_length=500,
        ),
    ] = ""
    export: Annotated[
        str,
        msgspec.Meta(
            title="Export name",
            description="Required if several exports share the prefix.",
            examples=["focus"],
            pattern=r"^[A-Za-z0-9!_.*'()-]*$",
            max_length=256,
        ),
    ] = ""
    region: Annotated[
        str,
        msgspec.Meta(
            title="Region",
            description="Region of the bucket.",
            examples=["eu-west-1"],
            pattern=r"^([a-z]{2}(-[a-z]+)+-[0-9]{1,2})?$",
        ),
    ] = DEFAULT_REGION
    access: Annotated[
        Literal["role", "access_key", "server_identity"],
        msgspec.Meta(title="Access", description="How this console signs in to AWS."),
    ] = "role"
    role_arn: RoleArn = ""
    access_key_id: AccessKeyId = ""
    secret_access_key: SecretAccessKey = ""
    endpoint: Annotated[
        str,
        msgspec.Meta(
            title="Endpoint",
            description="For a VPC endpoint or S3-compatible storage. Leave empty for AWS.",
            examples=["https://s3.example.com"],
            max_length=500,
        ),
    ] = ""


def aws_credentials(config: AwsSignIn) -> S3Credentials:
    """Return the credentials of the config; those of a role last an hour and are renewable. Raises AccessError for a
    missing or rejected credential, SourceUnavailable."""
    if config.access == "access_key":
        return _key(config)
    if config.access == "server_identity":
        if not settings.CONNECTION_AMBIENT_IDENTITY:
            raise AccessError(
                "The console's own AWS identity is turned off for connections. Choose a role, or ask the operator to "
                "set CONNECTION_AMBIENT_IDENTITY.",
                field="access",
            )
        return S3Credentials(ambient=True, principal="this server's own identity")
    if not config.role_arn:
        raise AccessError("Enter the ARN of the role.", field="role_arn")
    return _role(config, _key(config) if config.access_key_id else None)


def _key(config: AwsSignIn) -> S3Credentials:
    if not config.access_key_id or not config.secret_access_key:
        raise AccessError("Enter the access key ID and its secret.", field="access_key_id")
    principal = f"the access key …{config.access_key_id[-4:]}"
    return S3Credentials(key=config.access_key_id, secret=config.secret_access_key, principal=principal)


def _role(config: AwsSignIn, base: S3Credentials | None) -> S3Credentials:
    """Assume the role and return its credentials. Its trust policy requires the external ID of this connection, so no account can use
    another account's role. Without `base` this server's own identity assumes the role, and is used for nothing else."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import get_session

    if not config.external_id:
        raise AccessError("Roles are only assumed by saved connections and in the wizard.")
    try:
        client = get_session().create_client(
            "sts",
            region_name=config.region or DEFAULT_REGION,
            endpoint_url=settings.AWS_STS_URL or None,
            aws_access_key_id=base.key if base else None,
            aws_secret_access_key=base.secret if base else None,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"max_attempts": ATTEMPTS, "mode": "standard"},
                ignore_configured_endpoint_urls=True,
            ),
        )
        answer = client.assume_role(
            RoleArn=config.role_arn,
            RoleSessionName=SESSION_NAME,
            ExternalId=config.external_id,
            DurationSeconds=SESSION_SECONDS,
        )["Credentials"]
    except (BotoCoreError, ClientError) as error:
        refused = explain_aws(
            error,
            permission="sts:AssumeRole",
            resource=config.role_arn,
            principal=base.principal if base else "this console",
            where="AWS STS",
        )
        if isinstance(refused, AccessError):
            refused = AccessError(
                f"{refused.message} Check that the role's trust policy names this console and the external ID of this connection."
            )
        raise refused from error
    return S3Credentials(
        key=answer["AccessKeyId"],
        secret=answer["SecretAccessKey"],
        token=answer["SessionToken"],
        principal=f"the role {config.role_arn}",
        expiry=answer["Expiration"],
        renew=partial(_role, config, base),
    )


def open_export(config: AwsBucketConfig, credentials: S3Credentials | None = None) -> S3Bucket:
    """Return the folder of the export, or of the prefix if the config names no export. Raises the errors of
    `aws_credentials` and `open_s3`."""
    prefix = config.prefix.strip("/")
    if config.export and prefix.rpartition("/")[2] != config.export:
        prefix = f"{prefix}/{config.export}"
    return open_s3(
        config.bucket,
        prefix,
        credentials or aws_credentials(config),
        region=config.region,
        endpoint=config.endpoint,
    )


def open_storage(config: StorageConfig, folder: str) -> S3Bucket:
    """Return the opened folder. Raises the errors of `aws_credentials` and `open_s3`."""
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
        folder,
        aws_credentials(signed),
        region=config.region,
        endpoint=config.endpoint,
        virtual_host=config.addressing == "host" and bool(config.endpoint),
    )


def check_bucket(config: AwsBucketConfig, checks: CheckList) -> tuple[S3Bucket, list[BucketObject]]:
    """Run the checks that all AWS buckets share: sign in, and list."""
    title = f"Assume the role {config.role_arn}" if config.access == "role" else "Sign in to AWS"
    credentials = checks.attempt(title, lambda: aws_credentials(config))
    bucket = checks.attempt("Reach the bucket's address", lambda: open_export(config, credentials))
    return bucket, checks.attempt(f"List {bucket.url}", bucket.objects)


def only_export(paths: set[str], url: str, noun: str) -> str:
    """Return the folder of the only export below the prefix. Raises SourceError for none, and for several, because
    their sum would count cost more than once."""
    if not paths:
        raise SourceError(
            f"{url} has no manifest of {noun}. AWS delivers the first files within 24 hours. Check the bucket, prefix and name."
        )
    if len(paths) > 1:
        names = ", ".join(sorted(path.rpartition("/")[2] or path for path in paths)[:5])
        raise SourceError(
            f"{url} has {len(paths)} exports: {names}. Enter the name of the one to read.", field="export"
        )
    return next(iter(paths))


def check_format(
    bucket: S3Bucket, files: Sequence[BucketObject], columns: list[str], expected: Collection[str]
) -> None:
    """Check the beginning of a file. Raises SourceError if the file is not gzip, ZIP or Parquet, or if its columns
    (for Parquet those of the manifest) match no expected format; FocusFileError for a damaged archive."""
    if not files:
        return
    head, name = bucket.head(files[0]), shown_key(files[0].key)
    if head.startswith(GZIP):
        columns = _header(_unzip(head, name))
    elif head.startswith(archives.MAGIC):
        columns = _header(archives.beginning(head, name))
    elif not head.startswith(b"PAR1"):
        raise SourceError(f"{name} is neither gzip, ZIP nor Parquet. Change the compression of the export.")
    if columns and format_of(columns) not in expected:
        raise SourceError(
            f"{name} has {len(columns)} columns, which are not those of {join_with_and(sorted(expected))}. Export 'FOCUS with "
            "AWS columns' or 'CUR 2.0' with its default columns."
        )


def _unzip(head: bytes, name: str) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, 1 << 16)
    except zlib.error as error:
        raise SourceError(f"{name} is not a complete gzip file.") from error


def _header(text: bytes) -> list[str]:
    line = re.split(rb"[\r\n]", text, maxsplit=1)[0].decode("utf-8-sig", errors="replace")
    return [each.strip('"') for each in line.split(",")]


def format_of(columns: list[str]) -> str:
    """Return the format of an export with these columns; empty for an unknown format."""
    names = {name.lower() for name in columns}
    if {"billedcost", "chargeperiodstart"} <= names:
        return "FOCUS"
    return "CUR" if names & {"line_item_unblended_cost", "lineitem/unblendedcost"} else ""


def columns_of(value: Any) -> list[str]:
    """Return the names in a manifest's `columns`: objects with a name, in legacy CUR also with a category."""
    names = []
    for each in value if isinstance(value, list) else []:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            category = each.get("category")
            names.append(f"{category}/{each['name']}" if category else each["name"])
        elif isinstance(each, str):
            names.append(each)
    return names
