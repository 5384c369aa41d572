"""A live server for OAuth clients: toy tools that read and write, and documents of clients fetched from loopback."""

from __future__ import annotations

from tests.credentials.toys import REAL, TOYS
from tests.live_settings import *  # noqa: F403
from tests.live_settings import MIDDLEWARE, OAUTH2_PROVIDER

MIDDLEWARE = [TOYS if name == REAL else name for name in MIDDLEWARE]
OAUTH2_PROVIDER = {**OAUTH2_PROVIDER, "CIMD_METADATA_FETCHER": "tests.conformance.documents.LoopbackFetcher"}
