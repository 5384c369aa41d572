"""Upload to disk as the data arrives, only for signed-in users and within the size limit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler

from finops.lib import disk

# Bytes for the form's fields other than files.
ROOM_FOR_FIELDS = 1_000_000


class SignedInUploadHandler(TemporaryFileUploadHandler):
    """Refuses uploads before the body is read: Django parses it to find the CSRF token, also for unknown senders."""

    _length = 0

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        if content_length > settings.UPLOAD_MAX_BYTES + ROOM_FOR_FIELDS:
            raise RequestDataTooBig(f"The maximum upload size is {settings.UPLOAD_MAX_BYTES:,} bytes.")
        self._length = content_length

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        user = getattr(self.request, "user", None)
        if user is None or not user.is_authenticated:
            raise StopUpload(connection_reset=True)
        if disk.low_disk(self._length):
            # Read the file to the end without storing it; the view shows the reason.
            raise StopUpload(connection_reset=False)
        super().new_file(*args, **kwargs)
