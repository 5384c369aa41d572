"""Tags and filters of every template: static files, icons, form fields, and the formats of finops/lib/formats."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django import forms, template
from django.conf import settings
from django.forms import BoundField
from django.http import HttpRequest, QueryDict
from django.templatetags.static import do_static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

from finops.lib import clock, sentences
from finops.lib.formats import dates, numbers
from finops.lib.formats import sentences as reader_sentences
from finops.lib.money import round_amount
from finops.navigation import MENU, PERSONAL_SETTINGS, SETTINGS, TABS, MenuGroup, MenuItem

register = template.Library()
register.tag("static", do_static)


@functools.cache
def _icon(name: str) -> SafeString:
    path = settings.NODE_MODULES / "@tabler" / "icons" / "icons" / "outline" / f"{name}.svg"
    drawing = " ".join(path.read_text(encoding="utf-8").split())
    return mark_safe(drawing.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))  # noqa: S308 ours


@register.simple_tag
def icon(name: str) -> SafeString:
    """Render a Tabler icon as inline SVG, hidden from screen readers because a label is beside it."""
    return _icon(name)


_NOTHING = mark_safe('<span class="text-secondary">—</span>')


def _amount(text: str) -> SafeString:
    return format_html('<span class="amount">{}</span>', text)


def _short(text: str, full: str, exact: Decimal) -> SafeString:
    """Render the short text, with the full text on hovering if they differ."""
    if text == full:
        return _amount(full)
    return format_html('<data class="amount" value="{}" title="{}">{}</data>', f"{exact:f}", full, text)


@register.filter
def money(amount: Decimal | float | None, currency: str) -> SafeString:
    """`$1,234.56`, for tables and text. None is an em dash."""
    return _NOTHING if amount is None else _amount(numbers.money(amount, currency))


@register.filter
def plain_money(amount: Decimal | float, currency: str) -> str:
    """`$1,234.56` without markup, for attributes and titles."""
    return numbers.money(amount, currency)


@register.filter
def headline(amount: Decimal | float | None, currency: str) -> SafeString:
    """`$196.1K`, for tiles; the amount in full on hovering. None is an em dash."""
    if amount is None:
        return _NOTHING
    text, full = numbers.headline(amount, currency), numbers.money(amount, currency)
    return _short(text, full, Decimal(str(amount)))


@register.filter
def signed_headline(amount: Decimal, currency: str) -> SafeString:
    """`+$196.1K`: a change, for tiles; the amount in full on hovering."""
    text, full = numbers.signed_headline(amount, currency), numbers.signed_money(amount, currency)
    return _short(text, full, amount)


@register.filter
def signed_money(amount: Decimal, currency: str) -> SafeString:
    """`+$1,234.56`: a change."""
    return _amount(numbers.signed_money(amount, currency))


@register.filter
def number(value: Decimal | float | None) -> str:
    return "—" if value is None else numbers.number(value)


@register.filter
def quantity(value: Decimal | None, unit: str | None = None) -> SafeString:
    """`1,234.5 calls`, at most six places. None is an em dash."""
    return _NOTHING if value is None else _amount(numbers.quantity(round_amount(value), unit))


@register.filter
def short_quantity(value: Decimal | None, unit: str | None = None) -> SafeString:
    """`650.9 seats`: at most two places, for lists; the exact quantity on hovering. None is an em dash."""
    return _brief_quantity(value, unit, places=2)


@register.filter
def headline_quantity(value: Decimal | None, unit: str | None = None) -> SafeString:
    """`4.4M calls`, for tiles; the exact quantity on hovering. None is an em dash."""
    return _brief_quantity(value, unit, short=True)


def _brief_quantity(value: Decimal | None, unit: str | None, **options: Any) -> SafeString:
    if value is None:
        return _NOTHING
    exact = round_amount(value)
    return _short(numbers.quantity(exact, unit, **options), numbers.quantity(exact, unit), exact)


@register.filter
def figure(value: Decimal | None, currency: str) -> SafeString:
    """Format an amount of the currency; without a currency, a quantity."""
    if currency or value is None:
        return money(value, currency)
    return format_html("{}", number(round_amount(value)))


@register.filter
def with_labels(values: Sequence[object], labels: Sequence[str]) -> list[tuple[str, object]]:
    """Pairs of a label and its value, for cells that name their column."""
    return list(zip(labels, values, strict=True))


@register.filter
def percent(ratio: Decimal | float | None) -> str:
    """0.1234 → `12.3%`: a share."""
    return "—" if ratio is None else numbers.percent(ratio)


@register.filter
def signed_percent(ratio: Decimal | float | None) -> str:
    """0.042 → `+4.2%`: a change."""
    return "—" if ratio is None else numbers.change(ratio)


@register.filter
def day(value: date | str | None) -> str:
    """`Oct 23`; empty for None. A text must be a day in ISO format."""
    return dates.day(_date(value)) if value else ""


@register.filter
def month(value: date | str | None) -> str:
    """`Nov`; empty for None. A text must be a day or a month in ISO format."""
    return dates.month(_date(value)) if value else ""


@register.filter
def long_month(value: date | str | None) -> str:
    """`November 2026`; empty for None."""
    return dates.long_month(_date(value)) if value else ""


@register.filter
def days(start: Any, end: date | None = None) -> str:
    """`Oct 23 – Nov 21`: of two days, or of an object with `start_date` and `end_date` or `start` and `end`."""
    if end is not None:
        return dates.day_range(start, end)
    if hasattr(start, "start_date"):
        return dates.day_range(start.start_date, start.end_date)
    return dates.day_range(start.start, start.end)


@register.filter
def compared_days(compared: Any) -> str:
    """`Oct 23 – Nov 21 vs Sep 23 – Oct 22`."""
    return dates.compared_days(
        compared.start_date, compared.end_date, compared.previous_start_date, compared.previous_end_date
    )


def _date(value: date | str) -> date:
    if isinstance(value, str):
        return date.fromisoformat(value if len(value) > 7 else f"{value}-01")
    return value.date() if isinstance(value, datetime) else value


@register.filter
def duration(seconds: float | None) -> str:
    """`4.2 seconds`, `3 minutes`; an em dash for None."""
    return "—" if seconds is None else dates.duration(seconds)


@register.filter
def when(moment: datetime | None) -> SafeString:
    """`Oct 23, 3:04 PM` in the reader's time zone; the exact time on hovering. `Never` for None."""
    return _time(moment, dates.moment(moment)) if moment else _NEVER


@register.filter
def plain_when(moment: datetime | None) -> str:
    """`Oct 23, 3:04 PM` without markup."""
    return dates.moment(moment) if moment else ""


@register.filter
def exact_when(moment: datetime | None) -> str:
    """`Friday, October 23, 2026, 3:04:05 PM UTC`."""
    return dates.exact_moment(moment) if moment else ""


@register.filter
def ago(moment: datetime | None) -> SafeString:
    """`3 hours ago`; the exact time on hovering. `Never` for None."""
    return _time(moment, dates.ago(clock.now() - moment)) if moment else _NEVER


_NEVER = mark_safe('<span class="text-secondary">Never</span>')


def _time(moment: datetime, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        dates.exact_moment(moment),
        text,
    )


@register.simple_tag
def number_symbols() -> str:
    """Return the reader's number symbols for charts.js."""
    return json.dumps(numbers.browser_symbols(), ensure_ascii=False, separators=(",", ":"))


@register.filter
def reader_text(text: str | None) -> str:
    """Rewrite the amounts, shares, days and times of an answer's sentence in the reader's formats."""
    return reader_sentences.reader_text(str(text)) if text else ""


@register.filter
def sentence_case(text: str) -> str:
    """`Forgot Your Password?` → `Forgot your password?`, also within markup."""
    sentence = sentences.sentence_case(str(text))
    return mark_safe(sentence) if isinstance(text, SafeString) else sentence  # noqa: S308 only letters' case changed


register.filter(dates.bucket)
register.filter(dates.full_hour)
register.filter(reader_sentences.without_warnings)
register.filter(reader_sentences.on_page)
register.filter(numbers.filesize)
register.filter("plural_noun", numbers.plural_of)


@register.inclusion_tag("_field.html", takes_context=True)
def field(
    context: template.Context,
    bound: BoundField,
    label: str = "",
    placeholder: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Render a form field of any widget with label, help and error. `term`: a key of finops/help/terms.py, behind a “?”."""
    widget = bound.field.widget
    kind, css = _widget_style(widget)
    attrs: dict[str, str | bool] = {"class": f"{css}{' is-invalid' if bound.errors else ''}"}
    if placeholder is not None:
        attrs["placeholder"] = placeholder
    control = "" if kind == "radio" else bound.as_widget(attrs=attrs)
    return {
        "field": bound,
        "kind": kind,
        "control": control,
        "label": label or bound.label,
        "account": context.get("account"),
        **options,
    }


def _widget_style(widget: forms.Widget) -> tuple[str, str]:
    if isinstance(widget, forms.HiddenInput):
        return "hidden", ""
    if isinstance(widget, forms.CheckboxSelectMultiple | forms.RadioSelect):
        return "radio", "form-check-input"
    if isinstance(widget, forms.CheckboxInput):
        return "check", "form-check-input"
    return "input", "form-select" if isinstance(widget, forms.Select) else "form-control"


@register.inclusion_tag("layouts/_navigation.html", takes_context=True)
def navigation(context: template.Context) -> dict[str, Any]:
    """Render the side navigation of the account, with the link of the current page marked."""
    return {"groups": _groups(context, MENU), "slug": context["account"].slug}


@register.simple_tag(takes_context=True)
def settings_groups(context: template.Context) -> list[tuple[str, str, list[tuple[MenuItem, bool]]]]:
    """Return the navigation of Settings on a page of Settings; empty on other pages."""
    if context.get("membership") is None:
        return []
    groups = _groups(context, SETTINGS, "settings")
    return groups if any(is_current for _, _, links in groups for _, is_current in links) else []


@register.simple_tag(takes_context=True)
def personal_settings(context: template.Context) -> list[tuple[str, str, list[tuple[MenuItem, bool]]]]:
    """Return the pages of the person's settings in the form of `settings_groups`: one group without a heading."""
    url_name = _url_name(context)
    return [("", "", [(item, item.has_page(url_name)) for item in PERSONAL_SETTINGS])]


def _groups(
    context: template.Context, groups: Sequence[MenuGroup], prefix: str = "nav"
) -> list[tuple[str, str, list[tuple[MenuItem, bool]]]]:
    """Return heading, ID and links of each group that the member may see; each link says whether it is current."""
    url_name = _url_name(context)
    return [
        (
            group.label,
            f"{prefix}-{slugify(group.label)}",
            [(item, item.has_page(url_name)) for item in _visible_items(context, group)],
        )
        for group in groups
        if _visible_items(context, group)
    ]


def _visible_items(context: template.Context, group: MenuGroup) -> list[MenuItem]:
    """Return the items that the member may see; with limited cost access, only pages that the member may open."""
    reachable = getattr(context.get("request"), "reachable_pages", None)
    items = group.visible_to(context["membership"])
    return items if reachable is None else [item for item in items if item.url_name in reachable]


@register.inclusion_tag("layouts/_tabs.html", takes_context=True)
def tabs(context: template.Context, label: str) -> dict[str, Any]:
    """Return the pages of TABS with this label, with the current one marked; empty if the reader may open only one."""
    url_name = _url_name(context)
    reachable = getattr(context.get("request"), "reachable_pages", None)
    shown = [item for item in TABS[label] if reachable is None or item.url_name in reachable]
    items = [(item, item.has_page(url_name)) for item in shown]
    return {"label": label, "tabs": items if len(items) > 1 else [], "slug": context["account"].slug}


def _url_name(context: template.Context) -> str | None:
    match = getattr(context.get("request"), "resolver_match", None)
    return getattr(match, "url_name", None)


@register.inclusion_tag("_sparkline.html")
def sparkline(values: Sequence[Decimal | None], about: str) -> dict[str, Any]:
    """Render a trend in a table cell; `about` is its text for screen readers."""
    return {"path": spark_path(values), "about": about, "width": WIDTH, "height": HEIGHT}


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: Any) -> str:
    """Return the page's query string with some values replaced; None removes a value."""
    request: HttpRequest = context["request"]
    params: QueryDict = request.GET.copy()
    for name, value in changes.items():
        params.pop(name, None)
        if value not in (None, ""):
            params[name] = str(value)
    return "?" + urlencode([(name, value) for name, values in params.lists() for value in values])


@register.filter
def detail_lines(detail: dict[str, Any]) -> list[str]:
    """Return the lines of an audit entry's detail: of `from` and `to` only the differences, of long lists the ends,
    no empty values."""
    before, after = detail.get("from"), detail.get("to")
    if isinstance(before, dict) and isinstance(after, dict):
        names = [name for name in after if before.get(name) != after[name]]
        return [f"{name}: {_value_text(before.get(name))} → {_value_text(after[name])}" for name in names]
    return [
        f"{name}: {_value_text(value)}" for name, value in detail.items() if value not in (None, "", [], {})
    ]


def _value_text(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"{_value_text(value[0])} … {_value_text(value[-1])} ({len(value)})"
    if isinstance(value, list):
        return ", ".join(_value_text(item) for item in value) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return numbers.number(value)
    return value or "none" if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


WIDTH, HEIGHT = 96, 24
_EDGE = 2


def spark_path(values: Sequence[Decimal | None]) -> str:
    """Return the line as an SVG path in a box of WIDTH by HEIGHT, with a gap for None. Empty for fewer than two
    values.

    The scale includes 0, so that small changes of a large amount look small.
    """
    numbers = [float(value) for value in values if value is not None]
    if len(numbers) < 2:
        return ""
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    step = (WIDTH - 2 * _EDGE) / (len(values) - 1)
    path, drawing = [], False
    for index, value in enumerate(values):
        if value is not None:
            share = (float(value) - low) / (high - low) if high > low else 0.5
            y = HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE)
            path.append(f"{'L' if drawing else 'M'}{_EDGE + index * step:.1f} {y:.1f}")
        drawing = value is not None
    return "".join(path)
