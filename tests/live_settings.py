"""The product's settings for the live server of the tests: static files are served from their source folders, and
sign-in is fast."""

from __future__ import annotations

from finops.settings import *  # noqa: F403
from finops.settings import MIDDLEWARE as OF_THE_PRODUCT
from finops.settings import PASSWORD_HASHERS as HASHERS
from finops.settings import STORAGES as COLLECTED

STORAGES = {**COLLECTED, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["tests.hashers.QuickHasher", *HASHERS]

# Receivers of alerts are on this machine.
ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]

# An additional MCP endpoint with the prompts that the official conformance suite requires.
MIDDLEWARE = ["tests.conformance.fixtures.add_suite_fixtures", *OF_THE_PRODUCT]
