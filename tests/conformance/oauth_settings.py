"""A live server for OAuth clients: toy tools that read and write, and documents of clients fetched from this machine."""

from __future__ import annotations

from tests.live_settings import *  # noqa: F403
from tests.live_settings import MIDDLEWARE as REAL
from tests.live_settings import OAUTH2_PROVIDER as PROVIDER

TOYS = {"mcpserver.middleware.mcp_middleware": "tests.credentials.toys.toy_mcp_middleware"}
MIDDLEWARE = [TOYS.get(name, name) for name in REAL]
OAUTH2_PROVIDER = {**PROVIDER, "CIMD_METADATA_FETCHER": "tests.conformance.documents.LiveFetcher"}
