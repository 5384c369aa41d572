"""Mapping the columns of a source's files to FOCUS: the page, its preview as one changes it, and the file to look at."""

from __future__ import annotations

from datetime import datetime, time
from decimal import Decimal
from typing import Final

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from finops.connections.models import CostConnection
from finops.connections.views.mapping_form import SHOWN, MappingForm
from finops.costs import services
from finops.costs.focus import columns as spec
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.open_files import FocusFile
from finops.costs.mapping.document import MappingDocument
from finops.costs.mapping.preview import Preview, preview_of
from finops.costs.mapping.sample import Sample, sample_of
from finops.costs.mapping.suggestion import suggest
from finops.costs.models import ColumnMapping, CostSource
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

SHOWN_SERVICES: Final = 12


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, source_id: int) -> HttpResponse:
    """The mapping of a source, or one that is suggested by the file that waits for it."""
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    sample, problem = _sample(services.sample_file(source))
    document = _document(source, sample)
    if request.method != "POST":
        return _page(request, source, sample, problem, MappingForm(sample, document))
    form = MappingForm(sample, document, request.POST)
    if form.is_valid():
        with FormErrors(form):
            waiting = services.waiting_for_mapping(source)
            services.save_column_mapping(source=source, document=form.document(), actor=request.actor)
            messages.success(request, "The column mapping is saved.")
            if waiting:
                return redirect("cost_import", slug=request.account.slug, import_id=waiting[-1].pk)
            return redirect("connection", slug=request.account.slug, source_id=source_id)
    return _page(request, source, sample, problem, form)


def _sample(file: FocusFile | None) -> tuple[Sample | None, str]:
    """What the file has; and why it cannot be read."""
    if file is None:
        return None, ""
    try:
        return sample_of(file), ""
    except FocusFileError as error:
        return None, error.message


def _document(source: CostSource, sample: Sample | None) -> MappingDocument:
    row = ColumnMapping.objects.filter(source=source).first()
    if row is not None:
        return row.document
    return suggest(sample, name=source.name) if sample else MappingDocument()


def _page(
    request: AccountRequest, source: CostSource, sample: Sample | None, problem: str, form: MappingForm
) -> HttpResponse:
    mapping = ColumnMapping.objects.filter(source=source).first()
    connection = CostConnection.objects.filter(source=source).first()
    context = {
        "source": source,
        "form": form,
        "sample": sample,
        "sample_problem": problem,
        "mapping": mapping,
        "connection": connection,
        "has_columns": sample is not None or mapping is not None,
    }
    return render(request, "connections/mapping.html", context, status=422 if form.errors else 200)


@account_page(Role.MEMBER)
@require_POST
def preview(request: AccountRequest, source_id: int) -> HttpResponse:
    """What the form as it stands makes of the file. Stores nothing."""
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    file = services.sample_file(source)
    sample, problem = _sample(file)
    context: dict[str, object] = {"sample": sample, "sample_problem": problem, "source": source}
    if file is not None and sample is not None:
        form = MappingForm(sample, _document(source, sample), request.POST)
        if form.is_valid():
            try:
                context |= _preview_context(preview_of(file, form.document()), form.document())
            except FocusFileError as error:
                context["sample_problem"] = error.message
        else:
            context["problems"] = form.problem_texts
    return render(request, "connections/_mapping_preview.html", context)


def _preview_context(found: Preview, document: MappingDocument) -> dict[str, object]:
    rules = {*document.amounts, *document.texts, *document.dates, spec.TAGS}
    columns = [
        name for name in dict.fromkeys((*SHOWN, *found.columns)) if name in found.columns and name in rules
    ]
    services_ = sorted(found.services.items(), key=lambda each: -abs(each[1]))
    return {
        "preview": found,
        "titles": columns,
        "lines": [(line, [_cell(line.values.get(name)) for name in columns]) for line in found.lines],
        "months": sorted(found.months.items()),
        "services": services_[:SHOWN_SERVICES],
        "more_services": len(services_[SHOWN_SERVICES:]),
    }


def _cell(value: object) -> str:
    """A value of a line as the table shows it: amounts to the last digit, midnights as days."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={text}" for key, text in value.items() if text)
    return "" if value is None else truncate(str(value), 80)


@account_page(Role.MEMBER)
@require_POST
def sample(request: AccountRequest, source_id: int) -> HttpResponse:
    """Keep a file to look at: the one that is sent."""
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        upload = request.FILES.get("sample")
        if upload is None:
            raise UserError("Choose a file.")
        services.store_sample(source=source, upload=upload)
    return redirect("column_mapping", slug=request.account.slug, source_id=source_id)


@account_page(Role.MEMBER)
@require_POST
def remove(request: AccountRequest, source_id: int) -> HttpResponse:
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        services.remove_column_mapping(source=source, actor=request.actor)
        messages.success(request, "The column mapping is removed.")
    return redirect("connection", slug=request.account.slug, source_id=source_id)
