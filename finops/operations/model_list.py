"""The list of a model's rows over all accounts: searched, filtered, sorted and paged by the database."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db import models
from django.http import HttpRequest
from django.utils.html import format_html

from finops.lib.listing import Column, ListFilter, Listing, ListPage, wants_csv
from finops.operations.links import row_href
from finops.operations.rows import Field, Row, all_rows, plain_fields, row_name
from finops.templatetags.components import cell_html

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 10_000
"""The most rows that a list counts and its CSV holds; to find further rows, search."""
DEFAULT_COLUMNS: Final = 7
CELL_CHARACTERS: Final = 120
NUMBERS = (models.IntegerField, models.FloatField, models.DecimalField)
MOMENTS = (models.DateField, models.DateTimeField)
LONG = (models.JSONField, models.TextField)


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # generic for the checker alone
    """A paginator of at most MOST_ROWS rows: a table may have millions."""

    @functools.cached_property
    def _first_count(self) -> int:
        rows = self.object_list
        return rows[: MOST_ROWS + 1].count() if isinstance(rows, models.QuerySet) else len(rows)

    @property
    def count(self) -> int:
        return min(self._first_count, MOST_ROWS)

    @property
    def is_cut(self) -> bool:
        """Whether there are more rows than MOST_ROWS."""
        return self._first_count > MOST_ROWS


def default_columns(model: type[Row]) -> list[str]:
    """The first fields that fit into a table, with the account first."""
    fields = [field for field in plain_fields(model) if not isinstance(field, LONG) and not field.primary_key]
    names = [field.name for field in fields]
    names.sort(key=lambda name: name != "account")
    return names[:DEFAULT_COLUMNS] or [model._meta.pk.name]


def list_page(
    model: type[Row], columns: Sequence[str], filters: Sequence[str], title: str, *, linked: bool = True
) -> ListPage[Any]:
    """The declaration of a model's list; `linked` if its cells link to the pages of rows."""
    fields = {field.name: field for field in plain_fields(model)}
    first = columns[0]
    return ListPage(
        name=f"{model._meta.model_name}-rows",
        title=title,
        noun=str(model._meta.verbose_name),
        columns=[_column(fields[name], row_header=name == first, linked=linked) for name in columns],
        filters=[_filter(fields[name]) for name in filters],
        page_rows=PAGE_ROWS,
    )


def listing(declared: ListPage[Any], request: HttpRequest, rows: models.QuerySet[Any]) -> Listing[Any]:
    """Return the page of `rows`, which are searched already, filtered and sorted by the URL. A CSV has up to MOST_ROWS
    rows."""
    for each in declared.filters:
        if choice := request.GET.get(each.name, ""):
            rows = rows.filter(**{each.name: choice}) if choice in dict(each.choices) else rows.none()
    rows = rows.order_by(*_order(declared, request))
    page_rows = MOST_ROWS if wants_csv(request) else PAGE_ROWS
    page: Page[Any] = BoundedPaginator(rows, page_rows).get_page(request.GET.get("page"))
    return declared.listing_of_page(request, page)


@dataclasses.dataclass(frozen=True)
class RelationFilter:
    """A row in the URL (`?account=5`) to whose related rows the list is limited."""

    name: str
    href: str
    remove_href: str


def of_relation(
    request: HttpRequest, rows: models.QuerySet[Any]
) -> tuple[models.QuerySet[Any], list[RelationFilter]]:
    """Return the rows that relate to the row in the URL, and that row. An unknown one has no rows."""
    filters: list[RelationFilter] = []
    for field in rows.model._meta.concrete_fields:
        value = request.GET.get(field.name, "")
        if not value or not isinstance(field, models.ForeignKey):
            continue
        target = _existing(field.related_model, value)
        rows = rows.filter(**{field.name: target}) if target else rows.none()
        params = request.GET.copy()
        del params[field.name]
        params.pop("page", None)
        name = row_name(target) if target else f"{field_label(field)} {value}"
        filters.append(RelationFilter(name, row_href(target) if target else "", f"?{params.urlencode()}"))
    return rows, filters


def _existing(model: Any, value: str) -> Row | None:
    try:
        row: Row | None = all_rows(model).filter(pk=value).first()
    except (ValueError, ValidationError):
        return None
    return row


def _order(declared: ListPage[Any], request: HttpRequest) -> tuple[str, ...]:
    sort = request.GET.get("sort", "")
    sortable = {column.name for column in declared.columns if column.sortable}
    return (sort, "-pk") if sort.removeprefix("-") in sortable else ("-pk",)


def _column(field: Field, *, row_header: bool, linked: bool) -> Column[Any]:
    return Column(
        name=field.name,
        label=field_label(field),
        value=_linked_value(field, to_row=row_header)
        if linked
        else functools.partial(field_text, field=field),
        numeric=isinstance(field, NUMBERS) and not (field.choices or field.is_relation or field.primary_key),
        sortable=not field.is_relation and not isinstance(field, LONG),
        row_header=row_header,
        css=f"{'cell-name ' if row_header else ''}text-nowrap" if isinstance(field, MOMENTS) else "",
    )


FIELD_LABELS: Final = {
    "accounts.User.is_staff": "Operator",
    "accounts.User.is_superuser": "Operator can act",
    "accounts.User.is_active": "Can sign in",
    "accounts.User.date_joined": "Signed up",
    "accounts.User.last_login": "Last sign-in",
}
"""Labels of fields whose names are Django's."""


def field_label(field: Field) -> str:
    """`Last used at`; of a Boolean `is_shared` "Shared", of `created_by_label` "Created by (name)", where `created_by` is
    the person's row, which may be deleted."""
    if own := FIELD_LABELS.get(f"{field.model._meta.label}.{field.name}"):
        return own
    label = str(field.verbose_name).removeprefix("is ")
    if (base := label.removesuffix(" label")) != label:
        names = {each.name for each in field.model._meta.get_fields()}
        label = f"{base} (name)" if field.name.removesuffix("_label") in names else base
    return label[:1].upper() + label[1:]


def field_text(row: Any, field: Field) -> Any:
    """Format a field's value for a reader: the name of a row, the label of a choice, Yes or No; else unchanged."""
    if isinstance(field, models.ForeignKey):
        target = getattr(row, field.name)
        return row_name(target) if target else ""
    if field.choices:
        return getattr(row, f"get_{field.name}_display")()
    value = field.value_from_object(row)
    if isinstance(field, models.BooleanField) and value is not None:
        return "Yes" if value else "No"
    return str(value) if field.primary_key else value  # an id is no amount: 14866, not 14,866


def _linked_value(field: Field, *, to_row: bool) -> Callable[[Any], Any]:
    def value(row: Any) -> Any:
        text = field_text(row, field)
        target = getattr(row, field.name) if isinstance(field, models.ForeignKey) and not to_row else None
        href = row_href(row) if to_row else row_href(target) if target else ""
        return format_html('<a href="{}">{}</a>', href, cell_html(text)) if href else _short(text)

    return value


def _short(value: Any) -> Any:
    return f"{value[:CELL_CHARACTERS]}…" if isinstance(value, str) and len(value) > CELL_CHARACTERS else value


def _filter(field: Field) -> ListFilter[Any]:
    label = field_label(field)
    if isinstance(field, models.BooleanField):
        choices = [("True", "Yes"), ("False", "No")]
    else:
        choices = [(str(value), str(text)) for value, text in field.flatchoices]
    return ListFilter(field.name, label, f"{label}: all", choices)
