"""The key of a cost source that programs push to: its card on the source's page, generating it, and a new source with one."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from finops.connections.middleware import PREFIX
from finops.connections.models import CostKey, CostPush, month_name
from finops.connections.push_snippets import push_snippets
from finops.connections.services import cost_keys
from finops.costs.forms import SourceForm
from finops.costs.models import CostSource
from finops.lib import clock
from finops.lib.params import id_of

PUSHES_SHOWN = 10


def key_context(source: CostSource) -> dict[str, object]:
    """What the card shows of a source that nothing is fetched for."""
    return {
        "key": CostKey.objects.filter(source=source, revoked_at=None).first(),
        "pushes": list(CostPush.objects.filter(source=source)[:PUSHES_SHOWN]),
        "push_url": f"{push_url()}/months/{month_name(clock.today())}",
    }


def push_url() -> str:
    """Where programs send their months."""
    return f"{settings.PUBLIC_URL}{PREFIX.rstrip('/')}"


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new(request: AccountRequest) -> HttpResponse:
    """*Push from your own program*. The answer to a POST shows the key of the new source: a reload is refused, not repeated."""
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
@never_cache
def generate(request: AccountRequest, source_id: int) -> HttpResponse:
    """The answer shows the key: the one place where its plaintext ever is."""
    source = _source_of(source_id)
    with ErrorMessages(request):
        key, plaintext = cost_keys.generate_cost_key(source=source, actor=request.actor)
        return _key_page(request, source, key, plaintext)
    return redirect("connection", slug=request.account.slug, source_id=source_id)


@account_page(Role.MEMBER)
@require_POST
@never_cache
def regenerate(request: AccountRequest, source_id: int) -> HttpResponse:
    """As on generating. The form names the key that it replaces, so a reload replaces no second one."""
    source = _source_of(source_id)
    text = request.POST.get("replaces", "")
    replaces = (id_of(text) or 0) if text else None  # 0 is no key's
    with ErrorMessages(request):
        key, plaintext = cost_keys.regenerate_cost_key(source=source, actor=request.actor, replaces=replaces)
        return _key_page(request, source, key, plaintext)
    return redirect("connection", slug=request.account.slug, source_id=source_id)


@account_page(Role.MEMBER)
@require_POST
def revoke(request: AccountRequest, source_id: int) -> HttpResponse:
    with ErrorMessages(request):
        cost_keys.revoke_cost_key(source=_source_of(source_id), actor=request.actor)
        messages.success(request, "API key revoked.")
    return redirect("connection", slug=request.account.slug, source_id=source_id)


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
