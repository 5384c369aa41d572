"""Static files over HTTP."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware

VALIDATORS = ("ETag", "Last-Modified")


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """WhiteNoise that sends files with a hash in their name without validators.

    Browsers never revalidate an immutable file, and the two headers take 70 bytes in each of the 35 responses of a
    first load.
    """

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> FileResponse:
        response: FileResponse = WhiteNoiseMiddleware.serve(static_file, request)
        if "immutable" in response.get("Cache-Control", ""):
            for header in VALIDATORS:
                del response[header]
        return response
