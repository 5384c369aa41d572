from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "finops.settings")
_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """Django's, with a whole answer given as a list: granian then sends it at once, without asking for the next part
    in a thread, and the answer's database connection is back in the pool before the client has read it."""
    answer = _django(environ, start_response)
    if not isinstance(answer, HttpResponse):
        return answer
    body = [answer.content]
    answer.close()
    return body


# Servers load this module and run no system checks by themselves; an unsafe production must not serve at all.
from finops.checks import refuse_unsafe  # noqa: E402 - needs the apps that the line above loads

refuse_unsafe()
