"""Uploads go to disk as they arrive, and only from people who are signed in and within the size limit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler

# A form's own fields, beside the files.
ROOM_FOR_FIELDS = 1_000_000


class SignedInUploadHandler(TemporaryFileUploadHandler):
    """Refuses before the body is read: Django parses it to look for the CSRF token, whoever sent it."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        if content_length > settings.UPLOAD_MAX_BYTES + ROOM_FOR_FIELDS:
            raise RequestDataTooBig(f"An upload may have {settings.UPLOAD_MAX_BYTES:,} bytes.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        user = getattr(self.request, "user", None)
        if user is None or not user.is_authenticated:
            raise StopUpload(connection_reset=True)
        super().new_file(*args, **kwargs)
