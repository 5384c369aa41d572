"""The key of a cost source that programs push to: the card on the source's page, generation of a key, and a new source with one."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.source_pages import SourceKeyPages
from finops.connections.models import CostKey, CostPush, month_name
from finops.connections.push_snippets import push_snippets
from finops.connections.services import cost_keys
from finops.costs.forms import SourceForm
from finops.costs.models import CostSource
from finops.lib import clock

PUSHES_SHOWN = 10


def key_context(source: CostSource) -> dict[str, object]:
    """The context of the card, for a source without a connection."""
    return {
        "key": CostKey.objects.filter(source=source, revoked_at=None).first(),
        "pushes": list(CostPush.objects.filter(source=source)[:PUSHES_SHOWN]),
        "push_url": f"{push_url()}/months/{month_name(clock.today())}",
    }


def push_url() -> str:
    """The URL that programs push months to."""
    return f"{settings.PUBLIC_URL}/api/costs"


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """*Push from your own program*. The response to the POST shows the new source's key; a reload is refused and creates nothing."""
    form = SourceForm(request.POST or None)
    if form.is_valid():
        with FormErrors(form):
            source, key, plaintext = cost_keys.create_pushed_source(
                account=request.account, actor=request.actor, name=form.cleaned_data["name"]
            )
            return _key_page(request, source, key, plaintext)
    status = 422 if form.is_bound or request.method == "POST" else 200
    return render(request, "connections/push_new.html", {"form": form}, status=status)


@account_page(Role.MEMBER)
@require_POST
def generate(request: AccountRequest, source_id: int) -> HttpResponse:
    return PAGES.generate(request, source_id)


@account_page(Role.MEMBER)
@require_POST
def regenerate(request: AccountRequest, source_id: int) -> HttpResponse:
    return PAGES.regenerate(request, source_id)


@account_page(Role.MEMBER)
@require_POST
def revoke(request: AccountRequest, source_id: int) -> HttpResponse:
    return PAGES.revoke(request, source_id)


def _source_of(source_id: int) -> CostSource:
    """The source of the account in scope; 404 for another's."""
    return get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)


def _key_page(request: AccountRequest, source: CostSource, key: CostKey, plaintext: str) -> HttpResponse:
    context = {
        "source": source,
        "key": key,
        "plaintext": plaintext,
        "snippets": push_snippets(push_url(), plaintext),
    }
    return render(request, "connections/cost_key_shown.html", context)


PAGES = SourceKeyPages(
    url_name="connection",
    argument="source_id",
    source_of=_source_of,
    key_page=_key_page,
    generate_key=cost_keys.generate_cost_key,
    regenerate_key=cost_keys.regenerate_cost_key,
    revoke_key=cost_keys.revoke_cost_key,
)
