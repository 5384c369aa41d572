"""The console without finops/web/admission.py: Django with eight threads. Baseline of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    answer = _django(environ, start_response)
    if not isinstance(answer, HttpResponse):
        return answer
    body = [answer.content]
    answer.close()
    return body
