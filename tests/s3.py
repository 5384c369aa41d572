"""Environment variables of a process that uses a test's S3 server, and the creation of buckets."""

from __future__ import annotations

import boto3  # type: ignore[import-untyped] # comes with moto

KEY, REGION = "test", "us-east-1"


def variables(url: str) -> dict[str, str]:
    """Return environment variables with which any S3 client finds the server."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_DEFAULT_REGION": REGION,
    }


def create_bucket(url: str, name: str) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        region_name=REGION,
    )
    client.create_bucket(Bucket=name)
