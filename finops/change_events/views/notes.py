"""Notes on cost charts: members write them, their author or an admin changes and deletes them."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.change_events.forms import ChartNoteForm
from finops.change_events.models import ChangeEvent
from finops.change_events.scope_text import scope_of_filters, text_of_scope
from finops.change_events.services.notes import change_note, create_note, delete_note
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import DEFAULT_PERIOD, resolve_range
from finops.lib.url_query import query_from_params


def may_change(request: AccountRequest, note: ChangeEvent) -> bool:
    """Whether the reader may change the note: its author, while a member, and admins."""
    is_author = note.created_by_id == request.user.pk and request.membership.may(Role.MEMBER)
    return note.origin == ChangeEvent.Origin.NOTE and (is_author or request.membership.may(Role.ADMIN))


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Create a note from a question of the cost explorer in the URL: its filters are the scope, `day` the day."""
    question = _question(request)
    back = f"{reverse('cost_explorer', args=[request.account.slug])}?{request.GET.urlencode()}"
    if request.method != "POST":
        scope, left_out = scope_of_filters(question.filters)
        initial = {"day": _last_day(request, question), "scope": text_of_scope(scope)}
        return _page(request, ChartNoteForm(initial=initial), back=back, left_out=left_out)
    form = ChartNoteForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            create_note(account=request.account, actor=request.actor, draft=form.draft())
            messages.success(request, "Note added.")
            return redirect(back)
    return _page(request, form, back=back, status=422)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, note_id: int) -> HttpResponse:
    note = _note(request, note_id)
    if request.method != "POST":
        return _page(request, ChartNoteForm.of(note), note=note)
    form = ChartNoteForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            change_note(note=note, actor=request.actor, draft=form.draft())
            messages.success(request, "Note updated.")
            return redirect("change_events", slug=request.account.slug)
    return _page(request, form, note=note, status=422)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, note_id: int) -> HttpResponse:
    note = _note(request, note_id)
    with ErrorMessages(request):
        delete_note(note=note, actor=request.actor)
        messages.success(request, "Note deleted.")
    return redirect("change_events", slug=request.account.slug)


def _note(request: AccountRequest, note_id: int) -> ChangeEvent:
    """Return the note. Raises Http404 for another event or account, PermissionDenied for a note by somebody else."""
    notes = ChangeEvent.objects.select_related("account").filter(origin=ChangeEvent.Origin.NOTE)
    note = get_object_or_404(notes, pk=note_id)
    if not may_change(request, note):
        raise PermissionDenied("Only the author or an admin can change this note.")
    return note


def _question(request: AccountRequest) -> SpendQuery:
    first = SpendQuery(period=DEFAULT_PERIOD)
    try:
        return query_from_params(dict(request.GET.lists()), first)
    except UserError:
        return first


def _last_day(request: AccountRequest, question: SpendQuery) -> date:
    """The last day of the chart, so that the note appears on it; today if the chart continues, or without a chart."""
    today = clock.today()
    if not request.GET:
        return today
    try:
        days = resolve_range(
            start=question.start_date,
            end=question.end_date,
            period=question.period,
            default=DEFAULT_PERIOD,
            today=today,
            fiscal_start_month=request.account.fiscal_start_month,
        )
    except UserError:
        return today
    return min(today, days.end)


def _page(
    request: AccountRequest,
    form: ChartNoteForm,
    *,
    note: ChangeEvent | None = None,
    back: str = "",
    left_out: int = 0,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "note": note,
        "back": back or reverse("change_events", args=[request.account.slug]),
        "left_out": left_out,
    }
    return render(request, "change_events/note_form.html", context, status=status)
