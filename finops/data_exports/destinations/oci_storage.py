"""OCI Object Storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from finops.connections.connector import ConnectorConfig, SetupStep
from finops.connections.oci import (
    BucketRegion,
    KeyFingerprint,
    PrivateKey,
    TenancyOcid,
    UserOcid,
    oci_key,
    storage_url,
)
from finops.connections.transports.oci_storage import OciBucket
from finops.data_exports.destination import Destination, Folder

_POLICY: Final = """allow group finops-console to read buckets in compartment COMPARTMENT where target.bucket.name='acme-finops'
allow group finops-console to manage objects in compartment COMPARTMENT where target.bucket.name='acme-finops'
"""
_USER: Final = """oci iam group create --name finops-console --description "Writes cost exports"
oci iam user create --name finops-console --description "Writes cost exports" --email finops@example.com
oci iam group add-user --group-id GROUP_OCID --user-id USER_OCID
openssl genrsa -out key.pem 2048
openssl rsa -in key.pem -pubout -out public.pem
oci iam user api-key upload --user-id USER_OCID --key-file public.pem
oci os ns get
"""


class OciStorageConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A bucket, and the API key of a user that may write to it."""

    namespace: Annotated[
        str,
        msgspec.Meta(
            title="Namespace",
            description="Object Storage namespace of the tenancy.",
            examples=["axabcdefghij"],
            pattern=r"^[A-Za-z0-9_-]{1,100}$",
        ),
    ]
    bucket: Annotated[
        str, msgspec.Meta(title="Bucket", examples=["acme-finops"], pattern=r"^[A-Za-z0-9._-]{1,256}$")
    ]
    folder: Folder = ""
    region: BucketRegion
    tenancy: TenancyOcid
    user: UserOcid
    fingerprint: KeyFingerprint
    private_key: PrivateKey


class OciStorageDestination(Destination[OciStorageConfig]):
    name = "oci_storage"
    title = "OCI Object Storage"
    icon = "cloud"
    docs_url = "https://docs.oracle.com/iaas/Content/Identity/Reference/objectstoragepolicyreference.htm"
    description = "A bucket in Oracle Cloud."
    order = 40
    Config = OciStorageConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Create a user with an API key",
                "In Identity & Security > Domains > Users, add an API key. The last command shows the namespace.",
                _USER,
                "sh",
            ),
            SetupStep("Grant its group access to the bucket", "Create this policy.", _POLICY),
        ]

    def open(self, config: OciStorageConfig) -> OciBucket:
        key = oci_key(config.tenancy, config.user, config.fingerprint, config.private_key)
        return OciBucket(
            storage_url(config.region),
            config.namespace,
            config.bucket,
            config.folder,
            key=key,
            denial=f"OCI shows this user no bucket {config.bucket}, or does not let it write. A policy must allow its group to "
            "read buckets and to manage objects in its compartment.",
        )
