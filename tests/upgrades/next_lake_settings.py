"""The live server's settings as a version has them whose files of the lake are of the next version."""

from __future__ import annotations

from finops.lake.storage import lake_version

vars(lake_version)["LAKE_VERSION"] = 2

from tests.live_settings import *  # noqa: E402, F403 - the name of sessions in PostgreSQL is one of them
