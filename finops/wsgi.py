from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")
application = get_wsgi_application()

# Servers load this module and run no system checks by themselves; an unsafe production must not serve at all.
from finops.checks import refuse_unsafe  # noqa: E402 - needs the apps that the line above loads

refuse_unsafe()
