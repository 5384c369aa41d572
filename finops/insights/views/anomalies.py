"""Anomalies: the list, one with what people decide about it, the tile of the overview."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import F
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.queries.sources import load_sources
from finops.insights.anomalies import queries, services
from finops.insights.anomalies.candidates import incident_candidates
from finops.insights.anomalies.causes import AnomalyCause, change_events
from finops.insights.anomalies.detection import CONTEXT_DAYS
from finops.insights.anomalies.display import (
    AS_STORED,
    AnomalyDisplay,
    IncidentAmounts,
    anomaly_display,
    anomaly_figures,
    converted_causes,
    currency_warnings,
)
from finops.insights.anomalies.rows import (
    counted_members,
    incident_causes,
    incident_figures,
    root_cause_of,
    row_of,
    view_row,
    with_members,
)
from finops.insights.anomalies.schemas import STATES, AnomaliesQuery, AnomalyRow, OwnImpact
from finops.insights.charts import (
    band_chart,
    cause_tables,
    explorer_query,
    spark_values,
    with_band_markers,
)
from finops.insights.cost_scope import CostReader, CostScope, scope_from_params
from finops.insights.models import Anomaly, AnomalyRun, Incident
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, wants_csv
from finops.lib.params import as_arguments

RANK = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True)
class AnomalyLine:
    """An anomaly as the list shows it."""

    row: AnomalyRow
    spark: list[Decimal | None]
    kind: str
    root: tuple[str, AnomalyCause] | None
    shared_impact: Decimal

    @property
    def name(self) -> str:
        return self.row.name or self.row.value

    @property
    def cause(self) -> str:
        if self.root is not None:
            return self.root[1].name
        causes = [each.name or each.value for each in self.row.root_causes]
        return causes[0] if causes else ""


def _currency(line: AnomalyLine) -> str:
    return line.row.currency


def _own_amounts(row: AnomalyRow) -> AnomalyRow | OwnImpact:
    """Before conversion."""
    return row.own_amounts or row


ANOMALIES = ListPage[AnomalyLine](
    name="anomalies",
    title="Anomalies",
    noun="anomaly",
    order="severity",
    columns=[
        Column("severity", "Severity", lambda line: RANK[line.row.severity]),
        Column("name", "Anomaly", lambda line: line.name, row_header=True),
        Column("id", "Id", lambda line: line.row.id, shown=False),
        Column("dimension", "Dimension", lambda line: line.row.dimension, shown=False),
        Column("source", "Source", lambda line: line.row.source, shown=False),
        Column("kind", "Kind", lambda line: line.kind, shown=False),
        Column("impact", "Impact", lambda line: line.row.impact, numeric=True, currency=_currency),
        Column(
            "month_end",
            "At month end",
            lambda line: line.row.month_end_impact,
            numeric=True,
            currency=_currency,
        ),
        Column("range", "Days", lambda line: line.row.first_day, css="nowrap", exported=False),
        Column("first", "Since", lambda line: line.row.first_day, shown=False),
        Column("last", "Last day", lambda line: line.row.last_day, shown=False),
        Column("ongoing", "Ongoing", lambda line: "yes" if line.row.ongoing else "no", shown=False),
        Column(
            "actual", "Actual", lambda line: line.row.actual, numeric=True, currency=_currency, shown=False
        ),
        Column(
            "expected",
            "Expected",
            lambda line: line.row.expected,
            numeric=True,
            currency=_currency,
            shown=False,
        ),
        Column("currency", "Currency", lambda line: line.row.currency, shown=False),
        Column(
            "own_impact", "Impact before conversion", lambda line: _own_amounts(line.row).impact, shown=False
        ),
        Column(
            "own_currency",
            "Currency before conversion",
            lambda line: _own_amounts(line.row).currency,
            shown=False,
        ),
        Column(
            "shared_impact",
            "Impact also in others",
            lambda line: line.shared_impact or None,
            shown=False,
        ),
        Column("state", "State", lambda line: line.row.state, css="nowrap"),
        Column("cause", "Root cause", lambda line: line.cause, shown=False),
        Column("also", "Also seen as", lambda line: ", ".join(line.row.also_seen_as), shown=False),
        Column("note", "Note", lambda line: line.row.note, shown=False),
        Column("days", "Trend", lambda _line: None, sortable=False, exported=False),
    ],
)


class NoteForm(forms.Form):
    """Why it was expected, or what was done about it."""

    note = forms.CharField(
        label="Note (optional)",
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Why the spend was expected, or what was done.",
    )


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?state=` and the parameters of a scope narrow the list: open by default; the most severe come first."""
    state_param = request.GET.get("state", "")
    state = state_param if state_param in STATES else "open"
    rows = with_members(Incident.objects.all())
    if state != "all":
        rows = rows.filter(state=state)
    display = anomaly_display(rows)
    warnings = queries.other_currency_warnings(rows, display)
    rows = display.narrow(rows)
    sources = load_sources(request.account)
    scope, error = scope_from_params(request.GET.dict()), ""
    of_scope: list[str] = []
    if scope:
        try:
            reader = CostReader(request.account, sources)
            impacts, of_scope = queries.incidents_in_scope(reader, rows, CostScope(**scope))
            rows = rows.filter(pk__in=list(impacts))
        except UserError as problem:
            scope, error = {}, problem.message
    pairs = [(row, incident_figures(row, display)) for row in rows]
    lines = [_line(row, figures, display) for row, figures in pairs]
    listing = ANOMALIES.listing(request, lines)
    run = AnomalyRun.objects.first()
    query = AnomaliesQuery(status=state, **scope)
    warnings = [*currency_warnings([figures for _row, figures in pairs]), *warnings, *of_scope]
    not_complete = queries.not_complete(sources, query)
    if wants_csv(request):
        return ANOMALIES.csv(listing.matches, queries.list_note(run, warnings, not_complete))
    counts = queries.state_counts(display)
    context: dict[str, Any] = {
        "listing": listing,
        "state": state,
        "states": [(each, counts.total() if each == "all" else counts[each]) for each in STATES],
        "total": counts.total(),
        "run": run,
        "mcp_arguments": as_arguments(query),
        "not_complete": not_complete,
        "scope": scope,
        "error": error,
        "warnings": warnings,
    }
    return render(request, "insights/anomalies.html", context, status=400 if error else 200)


def _line(incident: Incident, figures: IncidentAmounts, display: AnomalyDisplay) -> AnomalyLine:
    headline = incident.headline
    return AnomalyLine(
        row_of(incident, display),
        spark_values(headline),
        headline.get_kind_display(),
        root_cause_of(headline),
        figures.shared_impact,
    )


@account_page()
@require_safe
def tile(request: AccountRequest) -> HttpResponse:
    """The part of the overview that htmx brings after it: open anomalies, the worst first."""
    return render(
        request,
        "insights/_open_anomalies.html",
        {"open": queries.open_anomalies(), "run": AnomalyRun.objects.first()},
    )


def _anomaly(key: str) -> Anomaly:
    """The anomaly of the account in scope, or the headline of the incident of that key; 404 for another account's."""
    rows = Anomaly.objects.select_related("source", "account", "incident")
    headline = rows.filter(incident__key=key, incident__headline_id=F("pk")).first()
    return headline or get_object_or_404(rows, key=key, incident__isnull=False)


@account_page()
@require_safe
def detail(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    """An incident by its headline; `?view=` is the key of another anomaly in it."""
    anomaly, view = _anomaly(anomaly_key), request.GET.get("view", "")
    if view and view != anomaly.key:
        members = Anomaly.objects.filter(incident=anomaly.incident_id)
        anomaly = get_object_or_404(members.select_related("source", "account", "incident"), key=view)
    return _detail_page(request, anomaly, NoteForm())


@account_page(Role.MEMBER)
@require_POST
def expect(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    message = "Marked as expected. Detection learns from it within a minute."
    return _mark_response(request, anomaly_key, services.mark_expected_anomaly, message)


@account_page(Role.MEMBER)
@require_POST
def resolve(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    message = "Resolved. It reopens if the spend continues."
    return _mark_response(request, anomaly_key, services.resolve, message)


@account_page(Role.MEMBER)
@require_POST
def reopen(request: AccountRequest, anomaly_key: str) -> HttpResponse:
    anomaly = _anomaly(anomaly_key)
    services.reopen(account=request.account, actor=request.actor, anomaly=anomaly)
    messages.success(request, "Reopened.")
    return redirect("anomaly", slug=request.account.slug, anomaly_key=anomaly_key)


def _mark_response(
    request: AccountRequest, anomaly_key: str, mark: Callable[..., Anomaly], message: str
) -> HttpResponse:
    anomaly, form = _anomaly(anomaly_key), NoteForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            mark(
                account=request.account, actor=request.actor, anomaly=anomaly, note=form.cleaned_data["note"]
            )
            messages.success(request, message)
            return redirect("anomaly", slug=request.account.slug, anomaly_key=anomaly_key)
    return _detail_page(request, anomaly, form)


def _detail_page(request: AccountRequest, anomaly: Anomaly, form: NoteForm) -> HttpResponse:
    run = AnomalyRun.objects.first()
    through = run.data_through if run and run.data_through else anomaly.last_day
    events = change_events(anomaly)
    incident = with_members(Incident.objects.all()).get(members=anomaly.pk)
    is_headline = anomaly.pk == incident.headline_id
    display = anomaly_display(Incident.objects.filter(pk=incident.pk), timedelta(days=CONTEXT_DAYS))
    whole = incident_figures(incident, display)
    if is_headline:
        counted, row, figures = counted_members(incident), row_of(incident, display), whole
    else:
        counted, row, figures = [anomaly], view_row(anomaly, display), anomaly_figures(anomaly, display)
    explorer = explorer_query(counted, through)
    band = band_chart(counted, events, display if figures.own else AS_STORED)
    band, markers = with_band_markers(band, explorer.filters)
    candidates, not_all_events = incident_candidates([incident])
    context: dict[str, Any] = {
        "anomaly": anomaly,
        "incident": incident,
        "row": row,
        "whole": whole,
        "warnings": [*currency_warnings([figures]), *([not_all_events] if not_all_events else [])],
        "views": sorted(incident.members.all(), key=lambda each: (each.pk != incident.headline_id, each.pk)),
        "more_services": len(counted_members(incident)) - 1,
        "is_whole": is_headline,
        "root": root_cause_of(anomaly),
        "band": band,
        "markers": markers,
        "tables": cause_tables(row.impact, converted_causes(incident_causes(counted), figures), explorer),
        "events": events,
        "candidates": candidates.get(incident.pk, []),
        "explorer": explorer.to_params(),
        "form": form,
    }
    return render(request, "insights/anomaly.html", context, status=422 if form.errors else 200)
