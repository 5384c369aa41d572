"""Help in the console: how amounts are counted, and the glossary; the documentation as Markdown."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.help import documents
from finops.help.terms import terms_by_topic


@account_page()
@require_safe
def how_we_count(request: AccountRequest) -> HttpResponse:
    return render(request, "help/how_we_count.html")


@account_page()
@require_safe
def glossary(request: AccountRequest) -> HttpResponse:
    return render(request, "help/glossary.html", {"topics": terms_by_topic()})


@require_safe
def llms_txt(_request: HttpRequest) -> HttpResponse:
    return _public(documents.llms_txt(settings.PUBLIC_URL), "text/plain")


@require_safe
def document(_request: HttpRequest, name: str) -> HttpResponse:
    if not documents.is_document(name):
        raise Http404
    return _public(documents.markdown(name), "text/markdown")


def _public(text: str, content_type: str) -> HttpResponse:
    """Readable without a session: the same text for everybody."""
    return HttpResponse(
        text, content_type=f"{content_type}; charset=utf-8", headers={"Cache-Control": "public, max-age=3600"}
    )
