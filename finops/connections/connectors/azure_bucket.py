"""Azure Blob Storage: files in FOCUS or a native format that another program writes, selected by a path pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from finops.connections.azure import AzureBlobConfig, open_container
from finops.connections.azure_setup import read_steps
from finops.connections.connector import SetupStep
from finops.connections.pattern_files import DefaultCurrency, Pattern, PatternConnector
from finops.connections.transports.azure_blob import AzureBlobBucket


class AzureBucketConfig(AzureBlobConfig, frozen=True, kw_only=True):
    """A container, and which files in it."""

    path: Annotated[
        str,
        msgspec.Meta(
            title="Directory",
            description="Folder of the files. Leave empty for the whole container.",
            examples=["focus"],
            max_length=500,
        ),
    ] = ""
    pattern: Pattern = "**/*"
    default_currency: DefaultCurrency = ""


class AzureBucket(PatternConnector[AzureBucketConfig]):
    name = "azure_bucket"
    title = "Azure Blob Storage"
    provider = "Microsoft Azure"
    icon = "brand-azure"
    docs_url = "https://learn.microsoft.com/azure/storage/blobs/assign-azure-role-data-access"
    description = "FOCUS files in a container."
    order = 25
    Config = AzureBucketConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Write one folder per month",
                "Replace all files of a month together. Example: focus/2026/05/part-1.parquet.",
            ),
            *read_steps(),
        ]

    def _open(self, config: AzureBucketConfig) -> AzureBlobBucket:
        return open_container(config, config.path)

    def _pattern(self, config: AzureBucketConfig) -> str:
        return config.pattern
