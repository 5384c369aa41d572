"""A live server for OAuth clients: toy tools that read and write, and documents of clients fetched from this machine."""

from __future__ import annotations

from tests.live_settings import *  # noqa: F403
from tests.live_settings import MIDDLEWARE as REAL
from tests.live_settings import OAUTH2_PROVIDER as PROVIDER

_TOYS = "tests.credentials.toys.toy_mcp_middleware"  # not imported here: models are not loaded yet
MIDDLEWARE = [
    name
    for each in REAL
    for name in ([_TOYS, each] if each == "finops.machine_endpoints.serve_programs" else [each])
]
OAUTH2_PROVIDER = {**PROVIDER, "CIMD_METADATA_FETCHER": "tests.conformance.documents.LiveFetcher"}
