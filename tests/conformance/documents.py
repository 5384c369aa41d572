"""The fetcher of clients' metadata documents for a live server: that of tests/accounts/oauth, configured by its
environment."""

from __future__ import annotations

import os
from pathlib import Path

from tests.accounts.oauth.documents import LocalFetcher

CERTIFICATE = "TEST_DOCUMENTS_CERTIFICATE"


class LiveFetcher(LocalFetcher):
    certificate = Path(os.environ.get(CERTIFICATE, ""))
