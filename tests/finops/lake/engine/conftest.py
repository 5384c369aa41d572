from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from finops.lake.engine import spark
from tests.sail import sail_server


@pytest.fixture(scope="session")
def sail() -> Iterator[str]:
    """The address of a Spark Connect server that the tests of a process share: Sail, or SPARK_TEST_REMOTE (`make test-spark`)."""
    remote = os.environ.get("SPARK_TEST_REMOTE")
    with nullcontext(remote) if remote else sail_server() as address:
        yield address
        spark.close()
