"""Settings → Audit log: who did what, when."""

from __future__ import annotations

import json
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from accounts.models import AuditEntry, Role
from finops.lib.listing import Column, csv_of, wants_csv

PAGE = 50
COLUMNS: list[Column[AuditEntry]] = [
    Column("at", "Time (UTC)", lambda entry: entry.at),
    Column("actor", "Who", lambda entry: entry.actor_label),
    Column("action", "Action", lambda entry: entry.action),
    Column("target", "What", lambda entry: entry.target),
    Column("detail", "Detail", lambda entry: json.dumps(entry.detail, default=str) if entry.detail else ""),
]


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    entries = _entries(request)
    if wants_csv(request):
        return csv_of("audit-log", COLUMNS, entries.iterator(chunk_size=500))
    page = Paginator(entries, PAGE).get_page(request.GET.get("page"))
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    context: dict[str, Any] = {
        "page": page,
        "pages": page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1),
        "actions": actions,
        "search": request.GET.get("q", "").strip(),
        "action": request.GET.get("action", ""),
        "oldest_first": request.GET.get("sort") == "at",
    }
    return render(request, "accounts/audit_log.html", context)


def _entries(request: AccountRequest) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.all()
    if action := request.GET.get("action", ""):
        entries = entries.filter(action=action)
    for word in request.GET.get("q", "").replace("\0", "").split():
        entries = entries.filter(Q(actor_label__icontains=word) | Q(target__icontains=word))
    return entries.order_by("at", "id") if request.GET.get("sort") == "at" else entries
