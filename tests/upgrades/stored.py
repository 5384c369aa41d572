"""Where the archives of earlier versions are, and the secrets with which they were written."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"
SECRETS = {
    "SECRET_KEY": "upgrade-fixture-secret-key-that-is-no-secret-0123456789-abcdef",
    "KEY_PEPPER": "upgrade-fixture-key-pepper-that-is-no-secret-9876543210-fedcba",
}
