"""A folder of this server. Only beneath DATA_EXPORT_FOLDERS, which an operator sets: the files take space on its disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from django.conf import settings

from finops.connections.connector import AccessError, ConnectorConfig, SetupStep
from finops.connections.transports.local import LocalBucket, open_folder_in
from finops.data_exports.destination import Destination


class FolderExportConfig(ConnectorConfig, frozen=True, kw_only=True):
    """An existing folder."""

    folder: Annotated[
        str,
        msgspec.Meta(
            title="Folder",
            description="Absolute path on this server.",
            examples=["/srv/finops-exports"],
            min_length=1,
            max_length=500,
        ),
    ]


class FolderDestination(Destination[FolderExportConfig]):
    name = "folder"
    title = "Folder on this server"
    icon = "folder"
    description = "For a mounted volume."
    order = 900
    Config = FolderExportConfig

    def is_offered(self) -> bool:
        return bool(settings.DATA_EXPORT_FOLDERS)

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return [
            SetupStep(
                "Allow the folder",
                "Set on this server. Nothing outside these folders is written.",
                "DATA_EXPORT_FOLDERS=/srv/finops-exports",
                "sh",
            )
        ]

    def open(self, config: FolderExportConfig) -> LocalBucket:
        """Open the folder. Raises AccessError outside of DATA_EXPORT_FOLDERS, SourceError for a folder that does not exist."""
        if not settings.DATA_EXPORT_FOLDERS:
            raise AccessError(
                "No folders are allowed on this server. Ask the operator to set DATA_EXPORT_FOLDERS.",
                field="folder",
            )
        return open_folder_in(config.folder, settings.DATA_EXPORT_FOLDERS, "DATA_EXPORT_FOLDERS")
