"""Assistant activity: calls with their arguments, credential, duration and answer size."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.limits import limit_of
from accounts.models import Account, Role
from accounts.page_access import AccountRequest, account_page
from finops.activity import queries, services
from finops.activity.calls import MAX_ARGUMENT_BYTES
from finops.activity.models import DAYS_LIMIT, FEWEST_DAYS, AssistantCall, CallOutcome
from finops.activity.queries import ActivityQuery, ActivityReader
from finops.activity.statistics import calls_table, choices, statistics
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, wants_csv
from finops.lib.params import fields_of, from_text

DAYS = [(1, "Today"), (7, "Last 7 days"), (30, "Last 30 days"), (90, "Last 90 days")]
SORTS = [
    ("-at", "Newest first"),
    ("at", "Oldest first"),
    ("-milliseconds", "Slowest first"),
    ("-answer_bytes", "Largest first"),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Show the list, or with `?format=csv` all calls of the query."""
    try:
        query = _query_from_request(request)
        if wants_csv(request):
            rows = queries.export_calls(request.account, query, _reader(request))
            return csv_of("assistant-activity", _columns(request), rows)
        return _page(request, query)
    except UserError as error:
        return _page(request, ActivityQuery(), more={"problem": error.message}, status=422)


@account_page()
@require_safe
def call(request: AccountRequest, call_id: int) -> HttpResponse:
    """Show one call. 404 for a call of another person's app, except for admins."""
    row = queries.call(request.account, call_id, _reader(request))
    if row is None:
        raise Http404("no such call")
    context = {
        "call": row,
        "arguments": _pretty(row.arguments),
        "is_cut": len(row.arguments.encode()) > MAX_ARGUMENT_BYTES - 4 and not _is_json(row.arguments),
        "kept": MAX_ARGUMENT_BYTES,
        "credential": f"{row.credential_kind}:{row.credential_id}",
    }
    return render(request, "activity/call.html", context)


@account_page(Role.ADMIN)
@require_POST
def retention(request: AccountRequest) -> HttpResponse:
    """Change the retention; only for admins, since it deletes calls of the whole account."""
    form = ActivityRetentionForm(request.account, request.POST)
    if form.is_valid():
        with FormErrors(form):
            row = services.set_activity_retention(
                account=request.account, actor=request.actor, days=form.cleaned_data["days"]
            )
            messages.success(request, f"Activity is now kept for {row.days} days.")
            return redirect("assistant_activity", slug=request.account.slug)
    return _page(request, ActivityQuery(), form, status=422)


def _query_from_request(request: AccountRequest) -> ActivityQuery:
    params = {field.name: request.GET.get(field.name, "").strip() for field in fields_of(ActivityQuery)}
    return from_text({name: value for name, value in params.items() if value}, ActivityQuery)


def _reader(request: AccountRequest) -> ActivityReader:
    return ActivityReader.of(request.membership)


def _page(
    request: AccountRequest,
    query: ActivityQuery,
    form: ActivityRetentionForm | None = None,
    *,
    more: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    reader, account = _reader(request), request.account
    summary, days_kept = statistics(account, query, reader), queries.retention_days(account)
    names, credentials = choices(account, reader)
    context = {
        "asked": query,
        "calls": queries.calls(account, query, reader),
        "statistics": summary,
        "chart": calls_table(summary) if summary.whole else None,
        "names": [(choice.value, choice.label) for choice in names],
        "credentials": [(choice.value, choice.label) for choice in credentials],
        "outcomes": CallOutcome.choices,
        "days": _days(days_kept, query.days),
        "sorts": SORTS,
        "reader": reader,
        "is_empty": not names and not credentials,
        "mcp_url": f"{settings.PUBLIC_URL}/api/mcp",
        "form": form or ActivityRetentionForm(account, days=days_kept),
        **(more or {}),
    }
    return render(request, "activity/activity.html", context, status=status)


def _days(days_kept: int, query_days: int) -> list[tuple[int, str]]:
    """Return the options for days within the retention, including the one in the URL."""
    spans = [span for span in DAYS if span[0] <= days_kept]
    spans.append((days_kept + 1, "All"))
    offered_days = {days for days, _label in spans}
    return spans if query_days in offered_days else sorted([*spans, (query_days, f"Last {query_days} days")])


def _columns(request: AccountRequest) -> list[Column[AssistantCall]]:
    console = f"{settings.PUBLIC_URL}/a/{request.account.slug}/"
    return [
        Column("at", "Time", lambda row: row.at),
        Column("method", "Method", lambda row: row.request_line),
        Column("name", "Name", lambda row: row.name),
        Column("arguments", "Arguments", lambda row: row.arguments),
        Column("credential_kind", "Credential kind", lambda row: row.credential_kind),
        Column("credential", "Credential", lambda row: row.credential_label),
        Column("outcome", "Outcome", lambda row: row.get_outcome_display()),
        Column("problem", "Error", lambda row: row.problem),
        Column("milliseconds", "Milliseconds", lambda row: round(row.milliseconds, 2), numeric=True),
        Column("answer_bytes", "Response bytes", lambda row: row.answer_bytes, numeric=True),
        Column("console", "Console", lambda row: console + row.console_page if row.console_page else ""),
        Column("id", "Id", lambda row: row.pk, numeric=True),
    ]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _pretty(arguments: str) -> str:
    """Format the arguments, one field a line; ones that were cut are unchanged."""
    if not _is_json(arguments):
        return arguments
    return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)


class ActivityRetentionForm(forms.Form):
    """The days that the account keeps, up to its ceiling."""

    def __init__(self, account: Account, data: Any = None, *, days: int | None = None) -> None:
        super().__init__(data)
        bounds = f"{FEWEST_DAYS} to {limit_of(account, DAYS_LIMIT):,} days."
        self.fields["days"] = forms.IntegerField(
            label="Days to keep",
            min_value=FEWEST_DAYS,
            max_value=limit_of(account, DAYS_LIMIT),
            initial=days,
            help_text=f"{bounds} Older calls are permanently deleted within an hour.",
            error_messages={
                "required": f"Keep activity for {bounds}",
                "invalid": "Enter a whole number of days.",
                "min_value": f"Keep activity for {bounds}",
                "max_value": f"Keep activity for {bounds}",
            },
        )
