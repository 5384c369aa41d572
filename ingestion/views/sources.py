"""Connections → Usage sources: the list, a new one, and a source's page with its key card."""

from __future__ import annotations

import dataclasses

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.doors import AccountRequest, account_page
from accounts.forms import FormErrors
from accounts.models import Role
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage
from finops.lib.params import id_of
from ingestion import services
from ingestion.forms import CustomerAttributeForm, UsageSourceForm
from ingestion.models import UsageKey, UsageSource
from ingestion.queries.activity import count_live_events
from ingestion.reference import snippets_for
from ingestion.source_panels import panels_of
from ingestion.views.batches import recent
from ingestion.views.push import PATH


@dataclasses.dataclass(frozen=True)
class UsageSourceRow:
    """A usage source as the list shows it, with its living key."""

    source: UsageSource
    key: UsageKey | None


SOURCES = ListPage[UsageSourceRow](
    name="usage-sources",
    title="Usage sources",
    noun="usage source",
    order="name",
    columns=[
        Column("name", "Source", lambda row: row.source.name),
        Column("kind", "Kind", lambda row: row.source.get_kind_display(), css="nowrap"),
        Column("key", "API key", lambda row: row.key.masked_key if row.key else None),
        Column("used", "Last used", lambda row: row.key.last_used_at if row.key else None, css="nowrap"),
        Column("created", "Created", lambda row: row.source.created_at, css="nowrap"),
    ],
)


@account_page()
@require_safe
@never_cache
def index(request: AccountRequest) -> HttpResponseBase:
    keys = {key.source_id: key for key in UsageKey.objects.filter(revoked_at=None)}
    rows = [UsageSourceRow(source, keys.get(source.pk)) for source in UsageSource.objects.all()]
    return SOURCES.response(request, rows, "ingestion/sources.html")


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = UsageSourceForm(request.POST or None)
    if form.is_valid():
        with FormErrors(form):
            row = services.create_usage_source(
                account=request.account, actor=request.actor, name=form.cleaned_data["name"]
            )
            return redirect("usage_source", slug=request.account.slug, usage_source_id=row.pk)
    status = 422 if form.is_bound or request.method == "POST" else 200
    return render(request, "ingestion/source_new.html", {"form": form}, status=status)


@account_page()
@require_safe
@never_cache
def source(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return source_page(request, source_of(usage_source_id))


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    row, form = source_of(usage_source_id), UsageSourceForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.rename_usage_source(source=row, actor=request.actor, name=form.cleaned_data["name"])
            messages.success(request, "Source renamed.")
            return redirect("usage_source", slug=request.account.slug, usage_source_id=row.pk)
    return source_page(request, source_of(usage_source_id), form=form, status=422)


@account_page(Role.MEMBER)
@require_POST
def customer_attribute(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    row, form = source_of(usage_source_id), CustomerAttributeForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.set_customer_attribute(
                source=row, actor=request.actor, customer_attribute=form.cleaned_data["customer_attribute"]
            )
            messages.success(request, "Customer attribute saved.")
            return redirect("usage_source", slug=request.account.slug, usage_source_id=row.pk)
    return source_page(request, source_of(usage_source_id), attribute_form=form, status=422)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    row = source_of(usage_source_id)
    services.delete_usage_source(source=row, actor=request.actor)
    messages.success(request, f"Source {row.name} deleted with its key, uploads and events.")
    return redirect("usage_sources", slug=request.account.slug)


@account_page(Role.MEMBER)
@require_POST
@never_cache
def generate_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    """The answer shows the key: the one place where its plaintext ever is. A reload is refused, not repeated."""
    row = source_of(usage_source_id)
    try:
        key, plaintext = services.generate_usage_key(source=row, actor=request.actor)
    except UserError as error:
        return source_page(request, row, problem=error.message, status=422)
    return _key_page(request, row, key, plaintext)


@account_page(Role.MEMBER)
@require_POST
@never_cache
def regenerate_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    """As on generating. The form names the key that it replaces, so a reload replaces no second one."""
    row = source_of(usage_source_id)
    text = request.POST.get("replaces", "")
    replaces = (id_of(text) or 0) if text else None  # 0 is no key's, so that what is no id replaces none
    try:
        key, plaintext = services.regenerate_usage_key(source=row, actor=request.actor, replaces=replaces)
    except UserError as error:
        return source_page(request, row, problem=error.message, status=422)
    return _key_page(request, row, key, plaintext)


@account_page(Role.MEMBER)
@require_POST
def revoke_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    row = source_of(usage_source_id)
    try:
        services.revoke_usage_key(source=row, actor=request.actor)
    except UserError as error:
        return source_page(request, row, problem=error.message, status=422)
    messages.success(request, "Key revoked.")
    return redirect("usage_source", slug=request.account.slug, usage_source_id=row.pk)


def push_url() -> str:
    """Where backends send their events."""
    return f"{settings.PUBLIC_URL}{PATH}"


def source_of(usage_source_id: int) -> UsageSource:
    """The source of the account in scope; 404 for another's."""
    return get_object_or_404(UsageSource.objects.select_related("account", "created_by"), pk=usage_source_id)


def source_page(
    request: AccountRequest,
    row: UsageSource,
    *,
    form: UsageSourceForm | None = None,
    attribute_form: CustomerAttributeForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """A source's page, also where something that it sent was refused."""
    context = {
        "source": row,
        "key": UsageKey.objects.filter(source=row, revoked_at=None).first(),
        "is_push": row.kind == UsageSource.Kind.PUSH,
        "push_url": push_url(),
        "form": form or UsageSourceForm(initial={"name": row.name}),
        "attribute_form": attribute_form
        or CustomerAttributeForm(initial={"customer_attribute": row.customer_attribute}),
        "problem": problem,
        "panels": panels_of(row),
        "events_held": count_live_events(row) if request.membership.may(Role.MEMBER) else 0,
        **recent(request, row),
        "max_bytes": settings.UPLOAD_MAX_BYTES,
    }
    return render(request, "ingestion/source.html", context, status=status)


def _key_page(request: AccountRequest, row: UsageSource, key: UsageKey, plaintext: str) -> HttpResponse:
    context = {
        "source": row,
        "key": key,
        "plaintext": plaintext,
        "push_url": push_url(),
        "snippets": snippets_for(push_url(), plaintext),
    }
    return render(request, "ingestion/key_shown.html", context)
