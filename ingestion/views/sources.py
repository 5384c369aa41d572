"""Connections → Usage sources: the list, a new source, and a source's page with its key card."""

from __future__ import annotations

import dataclasses

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.source_pages import SourcePages
from finops.lib.listing import Column, ListPage
from ingestion import services
from ingestion.forms import CustomerAttributeForm, EventIdFieldForm, UsageSourceForm
from ingestion.models import UsageKey, UsageSource
from ingestion.queries.activity import count_live_events
from ingestion.reference import snippets_for
from ingestion.source_panels import PullState, panels_of, pull_states_of
from ingestion.views.batches import recent
from ingestion.views.push import PATH


@dataclasses.dataclass(frozen=True)
class UsageSourceRow:
    """A row of the list of usage sources: the source with its active key, or the state of its pull."""

    source: UsageSource
    key: UsageKey | None
    pull: PullState | None

    @property
    def kind(self) -> str:
        return self.pull.title if self.pull else self.source.get_kind_display()


SOURCES = ListPage[UsageSourceRow](
    name="usage-sources",
    title="Usage sources",
    noun="usage source",
    order="name",
    columns=[
        Column("name", "Source", lambda row: row.source.name),
        Column("kind", "Kind", lambda row: row.kind),
        Column("status", "Status", lambda row: row.pull.status if row.pull else None, css="nowrap"),
        Column("synced", "Last sync", lambda row: row.pull.last_sync_at if row.pull else None, css="nowrap"),
        Column("key", "API key", lambda row: row.key.masked_key if row.key else None),
        Column("used", "Last used", lambda row: row.key.last_used_at if row.key else None, css="nowrap"),
        Column("created", "Created", lambda row: row.source.created_at, css="nowrap"),
        Column("problem", "Last error", lambda row: row.pull.problem if row.pull else None, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    keys = {key.source_id: key for key in UsageKey.objects.filter(revoked_at=None)}
    pulls = pull_states_of(request.account)
    rows = [
        UsageSourceRow(source, keys.get(source.pk), pulls.get(source.pk))
        for source in UsageSource.objects.all()
    ]
    return SOURCES.response(request, rows, "ingestion/sources.html")


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    return PAGES.new(request)


@account_page()
@require_safe
def source(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return source_page(request, source_of(usage_source_id))


@account_page(Role.MEMBER)
@require_POST
def rename(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return PAGES.rename(request, usage_source_id)


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
def event_id_field(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    row, form = source_of(usage_source_id), EventIdFieldForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.set_event_id_field(
                source=row, actor=request.actor, event_id_field=form.cleaned_data["event_id_field"]
            )
            messages.success(request, "Field saved.")
            return redirect("usage_source", slug=request.account.slug, usage_source_id=row.pk)
    return source_page(request, source_of(usage_source_id), event_id_form=form, status=422)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return PAGES.delete(request, usage_source_id)


@account_page(Role.MEMBER)
@require_POST
def generate_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return PAGES.generate(request, usage_source_id)


@account_page(Role.MEMBER)
@require_POST
def regenerate_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return PAGES.regenerate(request, usage_source_id)


@account_page(Role.MEMBER)
@require_POST
def revoke_key(request: AccountRequest, usage_source_id: int) -> HttpResponse:
    return PAGES.revoke(request, usage_source_id)


def push_url() -> str:
    """Return the URL of the push endpoint."""
    return f"{settings.PUBLIC_URL}{PATH}"


def source_of(usage_source_id: int) -> UsageSource:
    """Return the source of the account in scope; 404 for a source of another account."""
    return get_object_or_404(UsageSource.objects.select_related("account", "created_by"), pk=usage_source_id)


def source_page(
    request: AccountRequest,
    row: UsageSource,
    *,
    form: UsageSourceForm | None = None,
    attribute_form: CustomerAttributeForm | None = None,
    event_id_form: EventIdFieldForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render a source's page, also with the error of a form that was refused."""
    context = {
        "source": row,
        "key": UsageKey.objects.filter(source=row, revoked_at=None).first(),
        "is_push": row.kind == UsageSource.Kind.PUSH,
        "push_url": push_url(),
        "form": form or UsageSourceForm(initial={"name": row.name}),
        "attribute_form": attribute_form
        or CustomerAttributeForm(initial={"customer_attribute": row.customer_attribute}),
        "event_id_form": event_id_form or EventIdFieldForm(initial={"event_id_field": row.event_id_field}),
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


PAGES = SourcePages(
    url_name="usage_source",
    argument="usage_source_id",
    list_url_name="usage_sources",
    new_template="ingestion/source_new.html",
    deleted_with="key, uploads and events",
    form=UsageSourceForm,
    source_of=source_of,
    source_page=source_page,
    key_page=_key_page,
    create_source=services.create_usage_source,
    rename_source=services.rename_usage_source,
    delete_source=services.delete_usage_source,
    generate_key=services.generate_usage_key,
    regenerate_key=services.regenerate_usage_key,
    revoke_key=services.revoke_usage_key,
)
