"""Settings → Audit log: who did what, when."""

from __future__ import annotations

import json
from dataclasses import replace

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.limits import AUDIT_LOG_DAYS, limit_of
from accounts.models import AuditEntry, Role
from accounts.page_access import AccountRequest, account_page
from finops.lib.listing import Column, ListFilter, ListPage, wants_csv

PAGE = 50


def _detail(entry: AuditEntry) -> str:
    return json.dumps(entry.detail, default=str) if entry.detail else ""


AUDIT_LOG = ListPage[AuditEntry](
    name="audit-log",
    title="Audit log",
    noun="entry",
    order="-at",
    columns=[
        Column("at", "Time", lambda entry: entry.at),
        Column("actor", "Actor", lambda entry: entry.actor_label, css="cell-name", sortable=False),
        Column("action", "Action", lambda entry: entry.action, sortable=False, row_header=True),
        Column("target", "Target", lambda entry: entry.target, css="cell-break cell-target", sortable=False),
        Column("detail", "Detail", _detail, css="cell-break cell-lines small text-secondary", sortable=False),
    ],
)


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    entries = _entries(request)
    if wants_csv(request):
        return AUDIT_LOG.csv(entries.iterator(chunk_size=500))
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    declared = replace(
        AUDIT_LOG,
        filters=[ListFilter("action", "Action", "All actions", [(action, action) for action in actions])],
    )
    page = Paginator(entries, PAGE).get_page(request.GET.get("page"))
    context = {
        "listing": declared.listing_of_page(request, page),
        "retention_days": limit_of(request.account, AUDIT_LOG_DAYS),
    }
    return render(request, "accounts/audit_log.html", context)


def _entries(request: AccountRequest) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.all()
    if action := request.GET.get("action", ""):
        entries = entries.filter(action=action)
    for word in request.GET.get("q", "").replace("\0", "").split():
        entries = entries.filter(Q(actor_label__icontains=word) | Q(target__icontains=word))
    return entries.order_by("at", "id") if request.GET.get("sort") == "at" else entries
