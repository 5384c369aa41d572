"""The live server's settings as the next version has them: one app more, with a migration."""

from __future__ import annotations

from tests.live_settings import *  # noqa: F403
from tests.live_settings import INSTALLED_APPS as OF_THIS_VERSION

INSTALLED_APPS = [*OF_THIS_VERSION, "tests.upgrades.next_version"]
