"""Azure Blob Storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from finops.connections.azure import AzureBlobConfig, open_container
from finops.connections.azure_setup import write_steps
from finops.connections.connector import SecretText, SetupStep, shown_for
from finops.connections.transports.azure_blob import AzureBlobBucket
from finops.data_exports.destination import Destination, Folder


class AzureBlobExportConfig(AzureBlobConfig, frozen=True, kw_only=True):
    """A container, a folder in it, and the sign-in of this console."""

    sas_url: Annotated[
        SecretText,
        msgspec.Meta(
            title="SAS URL",
            description="SAS URL of the container with Read, Write, Delete and List permissions.",
            examples=["https://acmefinops.blob.core.windows.net/finops?sp=rwdl&sig=…"],
            max_length=2_000,
            extra_json_schema=shown_for("access", "sas_url", required=["sas_url"]),
        ),
    ] = ""
    folder: Folder = ""


class AzureBlobDestination(Destination[AzureBlobExportConfig]):
    name = "azure_blob"
    title = "Azure Blob Storage"
    icon = "brand-azure"
    docs_url = "https://learn.microsoft.com/azure/storage/blobs/assign-azure-role-data-access"
    description = "A container of a storage account."
    order = 20
    Config = AzureBlobExportConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return write_steps()

    def open(self, config: AzureBlobExportConfig) -> AzureBlobBucket:
        return open_container(config, config.folder)
