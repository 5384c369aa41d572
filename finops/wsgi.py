from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import reverse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")
_django = get_wsgi_application()


def _buffer_response(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """Django's, with a whole answer given as a list: granian then sends it at once, without asking for the next part
    in a thread, and the answer's database connection is back in the pool before the client has read it. Static files
    too, so that nobody holds a place by reading one slowly."""
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
from finops.web.setup import admission  # noqa: E402

refuse_unsafe()
# Loads the URLs and with them every view (0.35 s of CPU), before this process takes requests from others that run.
reverse("account_login")
application = admission(_buffer_response)
