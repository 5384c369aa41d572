from __future__ import annotations

import pytest

from accounts.models import Account
from tests.cast import Cast
from tests.finops.connections.conftest import (  # fixtures
    S3TestBucket,
    azurite_server,
    container,
    gcs,
    gcs_server,
    moto_server,
    replay,
    s3,
)
from tests.finops.data_exports.bills import Bucket

__all__ = ["azurite_server", "container", "gcs", "gcs_server", "moto_server", "replay", "s3"]


@pytest.fixture
def bucket(acme: Account, cast: Cast, s3: S3TestBucket) -> Bucket:
    """The bucket of an S3 server, and an account whose cost goes there."""
    return Bucket(acme, cast, s3)
