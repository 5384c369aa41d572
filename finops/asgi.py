from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import reverse

from finops.lib import cost_access, garbage
from finops.web.server import BESIDE_OTHERS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

LOADING_NICENESS = 5
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")


def _load_django() -> WSGIHandler:
    """Load Django with its URLs and so every view: 1.5 s of CPU before this process takes its first request. Where other
    web processes take requests meanwhile, they have priority: on Linux niceness is that of the calling thread."""
    if sys.platform == "linux" and BESIDE_OTHERS in os.environ:
        os.nice(LOADING_NICENESS)
    with garbage.loading():
        django = get_wsgi_application()
        reverse("account_login")
    return django


with ThreadPoolExecutor(1, "load") as _loader:
    _django = _loader.submit(_load_django).result()


def _buffer_response(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """Return Django's response with a complete body as a list: it is then sent at once, without asking for the next
    part in a thread, and the response's database connection is back in the pool before the client has read it. Static files
    too, so that a slow client does not hold a place."""
    answer = _django(environ, start_response)
    if isinstance(answer, HttpResponse):
        body = [answer.content]
    elif environ["PATH_INFO"].startswith("/static/"):
        body = [b"".join(answer)]
    else:
        return answer
    answer.close()
    return body


# Servers load this module and run no system checks by themselves; an unsafe production must not serve at all.
from finops.checks import refuse_unsafe  # noqa: E402 - needs the apps that the line above loads
from finops.lib import memory  # noqa: E402
from finops.telemetry import programs  # noqa: E402
from finops.web.setup import admission  # noqa: E402

refuse_unsafe()
cost_access.require_decisions()
application = admission(_buffer_response)
programs.start("web", application.bulkheads)
memory.return_memory_regularly()
