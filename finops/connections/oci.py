"""Common parts of connectors and destinations in Oracle Cloud: the API key of a user, as fields of their configs."""

from __future__ import annotations

from typing import Annotated

import msgspec

from finops.connections.connector import SecretText
from finops.connections.transports.oci_storage import OciKey
from finops.connections.vendor_apis.service_account import rsa_key


def _ocid(kind: str, title: str, description: str) -> msgspec.Meta:
    return msgspec.Meta(
        title=title,
        description=description,
        examples=[f"ocid1.{kind}.oc1..aaaaaaaaexample"],
        pattern=rf"^ocid1\.{kind}\.[a-z0-9-]+\.[a-z0-9-]*\.[a-z0-9]{{4,80}}$",
    )


def _region(title: str, description: str) -> msgspec.Meta:
    return msgspec.Meta(
        title=title,
        description=description,
        examples=["eu-frankfurt-1"],
        pattern=r"^[a-z]{2}-[a-z]+-[0-9]{1,2}$",
    )


TenancyOcid = Annotated[str, _ocid("tenancy", "Tenancy OCID", "Profile, Tenancy.")]
UserOcid = Annotated[str, _ocid("user", "User OCID", "User of the API key.")]
KeyFingerprint = Annotated[
    str,
    msgspec.Meta(
        title="Fingerprint",
        description="Fingerprint of the API key.",
        examples=["20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34"],
        pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){15}$",
    ),
]
PrivateKey = Annotated[
    SecretText,
    msgspec.Meta(title="Private key", description="PEM file without a passphrase.", max_length=10_000),
]
HomeRegion = Annotated[str, _region("Home region", "Home region of the tenancy.")]
BucketRegion = Annotated[str, _region("Region", "Region of the bucket.")]


def oci_key(tenancy: str, user: str, fingerprint: str, private_key: str) -> OciKey:
    """Return the API key of the config. Raises SourceError for an invalid private key."""
    return OciKey(f"{tenancy}/{user}/{fingerprint}", rsa_key(private_key, "private_key"))


def storage_url(region: str) -> str:
    return f"https://objectstorage.{region}.oraclecloud.com"
