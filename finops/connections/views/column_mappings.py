"""Mapping of a source's file columns to FOCUS: the page, its live preview, and the sample file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Final

import msgspec
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection
from finops.connections.services import fetch_sample, sync_again
from finops.connections.views.mapping_form import SHOWN, MappingForm
from finops.connections.views.syncs import connection_of
from finops.costs import services
from finops.costs.focus import columns as spec
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.formats import NUMBERS_SHOWN
from finops.costs.focus.open_files import FocusFile
from finops.costs.mapping.document import MappingDocument
from finops.costs.mapping.preview import Preview, preview_of
from finops.costs.mapping.sample import Sample, sample_of
from finops.costs.mapping.suggestion import suggest
from finops.costs.models import ColumnMapping, CostSource
from finops.lib import disk
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

SHOWN_SERVICES: Final = 12


@dataclass(frozen=True)
class _Subject:
    """A source, its mapping, if any, and the contents of its sample file, or why it cannot be read."""

    source: CostSource
    mapping: ColumnMapping | None
    file: FocusFile | None
    sample: Sample | None
    problem: str

    @classmethod
    def of(cls, source_id: int) -> _Subject:
        """Load a source. Raises Http404 if the account in scope does not have it. Cost: three queries, and one batch
        of the file."""
        source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
        mapping = ColumnMapping.objects.filter(source=source).first()
        file, sample, problem = services.sample_file(source), None, ""
        try:
            sample = sample_of(file) if file else None
        except FocusFileError as error:
            problem = error.message
        return cls(source, mapping, file, sample, problem)

    @property
    def document(self) -> MappingDocument:
        """The saved mapping, or else one suggested from the file."""
        if self.mapping is not None:
            return self.mapping.document
        return suggest(self.sample, name=self.source.name) if self.sample else MappingDocument()


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, source_id: int) -> HttpResponse:
    """The mapping of a source, or one suggested from the file that waits for it."""
    subject = _Subject.of(source_id)
    if request.method != "POST":
        return _page(request, subject, MappingForm(subject.sample, subject.document))
    form = MappingForm(subject.sample, subject.document, request.POST)
    if form.is_valid():
        with FormErrors(form):
            return _save(request, subject.source, form.document())
    return _page(request, subject, form)


def _save(request: AccountRequest, source: CostSource, document: MappingDocument) -> HttpResponse:
    """Save the mapping for the import that waits for it, or else for the source."""
    waiting = services.waiting_for_mapping(source)
    services.save_column_mapping(source=source, document=document, actor=request.actor)
    connection = CostConnection.objects.select_related("account", "source").filter(source=source).first()
    is_read = connection is not None and sync_again(connection=connection, actor=request.actor)
    then = " A sync reads the months again." if is_read else ""
    messages.success(request, f"Column mapping saved.{then}")
    if waiting:
        return redirect("cost_import", slug=request.account.slug, import_id=waiting[-1].pk)
    return redirect("connection", slug=request.account.slug, source_id=source.pk)


def takes_any_columns(connection: CostConnection) -> bool:
    """Whether the columns of its files can be mapped; also false for a connector that this version does not have."""
    connector = connectors().get(connection.connector)
    return connector is not None and connector.takes_any_columns


def _page(request: AccountRequest, subject: _Subject, form: MappingForm) -> HttpResponse:
    connection = CostConnection.objects.filter(source=subject.source).first()
    context = {
        "source": subject.source,
        "form": form,
        "category_fields": form.category_fields(),
        "sample": subject.sample,
        "sample_problem": subject.problem,
        "can_fetch": connection is not None and takes_any_columns(connection),
        "has_columns": subject.sample is not None or subject.mapping is not None,
    }
    return render(request, "connections/mapping.html", context, status=422 if form.errors else 200)


@account_page(Role.MEMBER)
@require_POST
def preview(request: AccountRequest, source_id: int) -> HttpResponse:
    """Render the file's lines as mapped by the current form. Stores nothing."""
    subject = _Subject.of(source_id)
    context: dict[str, object] = {"sample_problem": subject.problem}
    if subject.file is not None and subject.sample is not None:
        form = MappingForm(subject.sample, subject.document, request.POST)
        if form.is_valid():
            try:
                result = preview_of(subject.file, form.document())
                context |= _preview_context(result, form.document()) | _categories_context(
                    form, result, request.POST.getlist("category_value")
                )
            except FocusFileError as error:
                context["sample_problem"] = error.message
        else:
            context["problems"] = form.problem_texts
            if set(form.errors) == {"decimal_mark"}:
                context["readings"] = _totals_by_mark(subject.file, form.document())
    return render(request, "connections/_mapping_preview.html", context)


def _totals_by_mark(file: FocusFile, document: MappingDocument) -> list[tuple[str, dict[str, Decimal]]]:
    """The cost by currency for each decimal mark; empty for a file that cannot be read."""
    try:
        return [
            (shown, preview_of(file, msgspec.structs.replace(document, decimal_mark=mark)).totals)
            for mark, shown in NUMBERS_SHOWN.items()
        ]
    except FocusFileError:
        return []


def _categories_context(form: MappingForm, result: Preview, sent_values: list[str]) -> dict[str, object]:
    """The unknown charge categories with their lines; if the page has no field for one, all fields."""
    fields = form.category_fields(result.unknown_categories)
    is_new = [each.value for each in fields] != sent_values
    return {
        "unknown_categories": result.unknown_categories.most_common(SHOWN_SERVICES),
        "form": form,
        "category_fields": fields,
        "has_new_categories": is_new,
    }


def _preview_context(result: Preview, document: MappingDocument) -> dict[str, object]:
    rules = {*document.amounts, *document.texts, *document.dates, spec.TAGS}
    columns = [
        name for name in dict.fromkeys((*SHOWN, *result.columns)) if name in result.columns and name in rules
    ]
    services_ = sorted(result.services.items(), key=lambda each: -abs(each[1]))
    return {
        "preview": result,
        "titles": [SHOWN.get(name, name) for name in columns],
        "lines": [(line, [_cell(line.values.get(name)) for name in columns]) for line in result.lines],
        "months": sorted(result.months.items()),
        "services": services_[:SHOWN_SERVICES],
        "more_services": len(services_[SHOWN_SERVICES:]),
    }


def _cell(value: object) -> str:
    """A value of a line in the table: amounts with all digits, midnights as days."""
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
    """Store an uploaded file as the sample."""
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        if problem := disk.low_disk(disk.upload_bytes(request)):
            raise UserError(problem)
        upload = request.FILES.get("sample")
        if upload is None:
            raise UserError("Choose a file.")
        services.store_sample(source=source, upload=upload)
    return redirect("column_mapping", slug=request.account.slug, source_id=source_id)


@account_page(Role.MEMBER)
@require_POST
def newest(request: AccountRequest, synced_source_id: int) -> HttpResponse:
    """Store the newest file of the connection as the sample."""
    connection = connection_of({"synced_source_id": synced_source_id})
    with ErrorMessages(request):
        fetch_sample(connection=connection, in_child=True)
    return redirect("column_mapping", slug=request.account.slug, source_id=synced_source_id)


@account_page(Role.MEMBER)
@require_POST
def remove(request: AccountRequest, source_id: int) -> HttpResponse:
    source = get_object_or_404(CostSource.objects.select_related("account"), pk=source_id)
    with ErrorMessages(request):
        services.remove_column_mapping(source=source, actor=request.actor)
        messages.success(request, "Column mapping removed.")
    return redirect("connection", slug=request.account.slug, source_id=source_id)
