"""Components with a body: a declared list, a hand-written table, an empty state, a card; also badges and changes.

They are Django block tags: a slot of django-cotton is rendered once, where the cells of a declared list are rendered once
a row; and a table of 100 rows with a badge each takes 1.27 ms instead of 2.53.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Protocol

from django import template
from django.template.base import FilterExpression, Node, NodeList, Parser, TextNode, Token, token_kwargs
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from finops.lib.formats import dates, numbers
from finops.lib.listing import Column, Listing
from finops.lib.money import round_amount
from finops.templatetags.console import ago, icon, number, percent, short_quantity, when

register = template.Library()


@dataclass(frozen=True)
class TableCell:
    """The template of a column's cells; `condition` says whether the page has the column."""

    nodelist: NodeList
    condition: FilterExpression | None = None

    def is_shown(self, context: template.Context) -> bool:
        return self.condition is None or bool(self.condition.resolve(context))


class ListTableNode(Node):
    """A declared list with its toolbar, table, paging and empty state."""

    def __init__(
        self, listing: FilterExpression, row_name: str, options: dict[str, FilterExpression]
    ) -> None:
        self.listing, self.row_name, self.options = listing, row_name, options
        self.cells: dict[str, TableCell] = {}
        self.sections = {"tfoot": NodeList(), "footer": NodeList(), "empty": NodeList()}

    def render(self, context: template.Context) -> SafeString:
        listing: Listing[Any] = self.listing.resolve(context)
        actions = self.cells.get("actions")
        has_actions = actions is not None and actions.is_shown(context)
        values = dict.fromkeys(("css", "of", "refresh", "heading"), "")
        values |= {name: option.resolve(context) for name, option in self.options.items()}
        with context.push(listing=listing, list=listing.declaration, has_actions=has_actions, **values):
            sections = {name: nodes.render(context) for name, nodes in self.sections.items() if nodes}
            width = len(listing.columns) + has_actions
            body = mark_safe("".join(self._rows(context, listing, has_actions)))  # noqa: S308 of escaped cells
            with context.push(body=body, width=width, sections=sections):
                name = "table" if listing.page is None else "list_table"
                return template.Engine.get_default().get_template(f"components/{name}.html").render(context)

    def _rows(self, context: template.Context, listing: Listing[Any], has_actions: bool) -> Iterator[str]:
        declaration, is_sorted = listing.declaration, listing.page is not None
        cells = [(*frame, self.cells.get(frame[0].name)) for frame in _frames(listing.columns)]
        with context.push():
            for row in listing.rows:
                context[self.row_name] = row
                muted = declaration.muted is not None and declaration.muted(row)
                yield '<tr role="row" class="text-secondary">' if muted else '<tr role="row">'
                for column, start, end, cell in cells:
                    value = None if cell and is_sorted else column.value(row)
                    yield f"{start}>" if is_sorted else f"{start}{_sort_value(value)}"
                    yield cell.nodelist.render(context) if cell else cell_html(value, column.format)
                    yield end
                if has_actions:
                    yield f'<td role="cell" class="list-actions">{self.cells["actions"].nodelist.render(context)}</td>'
                yield "</tr>\n"


def _frames(columns: list[Column[Any]]) -> Iterator[tuple[Column[Any], str, str]]:
    """Yield each column with the tags around its cells; the start tag lacks its `>`. The first column is the row
    heading unless another one is."""
    header = next((column for column in columns if column.row_header), columns[0])
    for column in columns:
        if column is header:
            css = column.css or "cell-name"
            yield column, f'<th scope="row" role="rowheader" class="{css}"', "</th>"
        else:
            css = " ".join(filter(None, ["num" if column.numeric else "", column.css]))
            label = conditional_escape(column.phone or column.label)
            attributes = f' class="{css}"' if css else ""
            yield column, f'<td role="cell"{attributes} data-label="{label}"', "</td>"


def _sort_value(value: Any) -> str:
    """Return the end of a cell's start tag, with the sort value of a table that is sorted in the browser if the cell
    has another text."""
    if isinstance(value, datetime):
        return f' data-value="{value.timestamp():.0f}">'
    return f' data-value="{value}">' if isinstance(value, int | Decimal | date) else ">"


_FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "ago": ago,
    "percent": percent,
    "quantity": short_quantity,
}


def cell_html(value: Any, kind: str = "") -> str:
    """Format a value for a cell: days and times, numbers with separators, an em dash for no value."""
    if kind:
        return _FORMATS[kind](value)
    if isinstance(value, datetime):
        return when(value)
    if value is None or value == "" or value == []:
        return "—"
    if isinstance(value, date):
        return dates.day(value)
    if isinstance(value, Decimal):
        return number(round_amount(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return conditional_escape(value)


@register.tag
def list_table(parser: Parser, token: Token) -> ListTableNode:
    """`{% list_table listing as row %}` with a `{% cell column %}…{% endcell %}` for each cell that is more than its
    value.

    `{% cell actions if may_write %}` is the column of buttons. `{% tfoot %}` has rows of sums, `{% footer %}` a note;
    the content after `{% empty %}` replaces a list without rows. Options: `css` and `heading` of the card, `of` the
    owner named in the caption in place of the account, `refresh` (IDs of other elements that a search updates).
    Anything else between raises `template.TemplateSyntaxError`.
    """
    words = token.split_contents()
    if len(words) < 4 or words[2] != "as":
        raise template.TemplateSyntaxError("list_table is written {% list_table listing as row %}")
    node = ListTableNode(parser.compile_filter(words[1]), words[3], token_kwargs(words[4:], parser))
    while True:
        between = parser.parse(("cell", "tfoot", "footer", "empty", "endlist_table"))
        if any(not isinstance(each, TextNode) or each.s.strip() for each in between):
            raise template.TemplateSyntaxError("A list_table holds cells, tfoot, footer and empty alone")
        name, *arguments = parser.next_token().split_contents()
        if name == "cell":
            condition = parser.compile_filter(arguments[2]) if len(arguments) == 3 else None
            node.cells[arguments[0]] = TableCell(parser.parse(("endcell",)), condition)
            parser.delete_first_token()
        elif name in ("tfoot", "footer"):
            node.sections[name] = parser.parse((f"end{name}",))
            parser.delete_first_token()
        else:
            if name == "empty":
                node.sections["empty"] = parser.parse(("endlist_table",))
                parser.delete_first_token()
            return node


@register.simple_block_tag
def data_table(content: str, label: str = "", **options: Any) -> SafeString:
    """A hand-written table: its caption, thead and tbody are the body. A table with a label scrolls in its region.

    Options: `labelledby` the ID of the region's title in place of `label`, `sortable` by clicks on the headings (rows
    of the page only), `css` of the table, `frame` of the region, `id` of the region.
    """
    table = format_html(
        '<table class="table table-vcenter {}"{}>{}</table>',
        options.get("css", "card-table"),
        " data-sortable" if options.get("sortable") else "",
        content,
    )
    if label:
        name = format_html('aria-label="{}"', label)
    elif "labelledby" in options:
        name = format_html('aria-labelledby="{}"', options["labelledby"])
    else:
        return table
    return format_html(
        '<div class="table-responsive {}"{} tabindex="0" role="region" {}>{}</div>',
        options.get("frame", ""),
        format_html(' id="{}"', options["id"]) if "id" in options else "",
        name,
        table,
    )


@register.simple_block_tag
def empty_state(content: str, symbol: str, title: str, href: str = "", action: str = "") -> SafeString:
    """A page or card without data: the body says what will be here, the button starts it."""
    button = format_html(
        '<div class="empty-action"><a class="btn btn-primary" href="{}">{}</a></div>', href, action
    )
    return format_html(
        '<div class="empty"><div class="empty-icon">{}</div><p class="empty-title">{}</p>'
        '<p class="empty-subtitle text-secondary">{}</p>{}</div>',
        icon(symbol),
        title,
        content,
        button if href else "",
    )


@register.inclusion_tag("components/delete_card.html")
def delete_card(
    url: str,
    name: str,
    text: str,
    *,
    details: str = "",
    verb: str = "Delete",
    place: str = "",
    **options: str,
) -> dict[str, str]:
    """A card with a text, a button and a confirmation with `details` that deletes the object of this name, below its
    edit form.

    Options: `button` is the button's text in place of the verb, `css` of the card.
    """
    button = options.get("button", verb)
    return {
        "url": url,
        "text": text,
        "details": details,
        "question": f"{verb} {name} from {place}?" if place else f"{verb} {name}?",
        "button": button,
        "yes": button.removesuffix("…"),
        "css": options.get("css", ""),
    }


@register.simple_block_tag
def card(content: str, title: str = "", anchor: str = "", css: str = "") -> SafeString:
    """A card; with a title, a section that is labelled by the title, which has the ID `<anchor>-title`."""
    classes = f"card {css}".strip()
    if not title:
        return format_html('<div class="{}">{}</div>', classes, content)
    return format_html(
        '<section class="{}" aria-labelledby="{}-title"><div class="card-header">'
        '<h2 class="card-title" id="{}-title">{}</h2></div>{}</section>',
        *(classes, anchor, anchor, title, content),
    )


BADGES: dict[str, dict[str, tuple[str, str, str]]] = {
    "budget": {
        "exceeded": ("red", "Exceeded", "alert-octagon"),
        "warning": ("yellow", "Warning", "alert-triangle"),
        "ok": ("green", "OK", "circle-check"),
    },
    "connection": {
        "healthy": ("green", "Healthy", ""),
        "failing": ("red", "Failing", ""),
        "importing": ("blue", "Importing", ""),
        "stale": ("yellow", "Stale", ""),
        "partial": ("yellow", "Partial", ""),
        "overdue": ("yellow", "Overdue", ""),
        "syncing": ("blue", "Syncing", ""),
        "paused": ("secondary", "Paused", ""),
        "late": ("yellow", "Late", ""),
        "running": ("blue", "Running", ""),
        "deleting": ("yellow", "Deleting", ""),
    },
    "sync": {
        "queued": ("blue", "Queued", ""),
        "running": ("blue", "Running", ""),
        "done": ("green", "Done", ""),
        "failed": ("red", "Failed", ""),
        "canceled": ("secondary", "Canceled", ""),
    },
    "sync_period": {
        "imported": ("green", "Imported", ""),
        "unchanged": ("secondary", "Unchanged", ""),
        "emptied": ("yellow", "Emptied", ""),
        "failed": ("red", "Failed", ""),
        "out_of_range": ("secondary", "Before start month", ""),
    },
    "severity": {
        "high": ("red", "High", ""),
        "medium": ("orange", "Medium", ""),
        "low": ("secondary", "Low", ""),
    },
    "level": {
        "low": ("green", "Low", ""),
        "medium": ("yellow", "Medium", ""),
        "high": ("red", "High", ""),
    },
    "saving": {
        "open": ("blue", "Open", ""),
        "dismissed": ("secondary", "Dismissed", ""),
        "acted": ("green", "Done", ""),
    },
    "saving_issue": {
        "creating": ("blue", "Being created", ""),
        "failed": ("red", "Not created", ""),
        "open": ("blue", "Open", ""),
        "completed": ("yellow", "Done, to be verified", ""),
        "verified": ("green", "Done, verified", ""),
        "not_planned": ("secondary", "Not planned", ""),
        "missing": ("orange", "Not found", ""),
    },
    "anomaly": {
        "open": ("blue", "Open", ""),
        "expected": ("purple", "Expected", ""),
        "resolved": ("green", "Resolved", ""),
    },
    "invoice": {
        "matches": ("green", "Matches", ""),
        "rounding": ("azure", "Rounding", ""),
        "differs": ("red", "Differs", ""),
        "no_lines": ("red", "No lines", ""),
        "no_invoice_detail": ("secondary", "No Invoice Detail", ""),
        "not_invoiced": ("secondary", "No invoice ID", ""),
    },
    "subscription": {
        "paused": ("secondary", "Paused", "player-pause"),
        "active": ("green", "Active", "circle-check"),
    },
    "delivery": {
        "failed": ("red", "Failed", "alert-octagon"),
        "waiting": ("yellow", "Waiting", "clock"),
        "partial": ("yellow", "Delivered in part", "alert-triangle"),
        "delivered": ("green", "Delivered", "circle-check"),
    },
    "mcp_key": {
        "active": ("green", "Active", ""),
        "expired": ("yellow", "Expired", ""),
        "revoked": ("secondary", "Revoked", ""),
    },
}
"""Colour, text and icon by noun and status."""


@register.filter
@functools.cache
def status_badge(status: str, noun: str) -> SafeString:
    """Render a status in words and colour, grey if BADGES lacks it: `{{ row.status|status_badge:"budget" }}`."""
    colour, text, symbol = BADGES[noun].get(status, ("secondary", status.replace("_", " ").capitalize(), ""))
    drawing = format_html("{} ", icon(symbol)) if symbol else ""
    return format_html('<span class="badge bg-{}-lt">{}{}</span>', colour, drawing, text)


@register.simple_tag
def badge(text: str, colour: str = "secondary", title: str = "") -> SafeString:
    """Render a word or two in a colour; `title` is the explanation on hovering."""
    hint = format_html(' title="{}"', title) if title else ""
    return format_html('<span class="badge bg-{}-lt"{}>{}</span>', colour, hint, text)


class ChangeFigures(Protocol):
    """The difference of an amount to the amount before, and its ratio."""

    @property
    def change(self) -> Decimal | None: ...
    @property
    def ratio(self) -> Decimal | None: ...


class AmountChange(ChangeFigures, Protocol):
    """A change of an amount of money; `reason` says why there is no change."""

    @property
    def previous_amount(self) -> Decimal: ...
    @property
    def currency(self) -> str: ...
    @property
    def reason(self) -> str: ...


@register.filter
def direction(change: ChangeFigures) -> SafeString:
    """Render the ratio of a change: `+4.2%`, `new`, `0%`. The sign repeats what the colour says."""
    return _change_html(change, "", "")


@register.filter
def change(amount: AmountChange | None) -> SafeString:
    """Render the ratio and the amount of a change for a table cell."""
    if amount is None:
        return mark_safe('<span class="text-secondary">—</span>')
    if amount.change is None:
        return format_html('<span class="text-secondary" title="{}">—</span>', amount.reason)
    before = f"{numbers.money(amount.previous_amount, amount.currency)} before"
    return _change_html(amount, before, numbers.signed_money(amount.change, amount.currency))


@register.filter
def change_css(change: ChangeFigures) -> str:
    """Return the CSS class of the colour and arrow; empty for a change that is shown as 0%."""
    sign = _sign(change)
    return f" change-{sign}" if sign else ""


def _change_html(change: ChangeFigures, before: str, by: str) -> SafeString:
    """Render a change. The style sheet draws the arrow, because a table has hundreds."""
    return format_html(
        '<span class="change{}"{}>{}{}</span>',
        change_css(change),
        format_html(' title="{}"', before) if before else "",
        _ratio_text(change),
        format_html(' <span class="change-amount">{}</span>', by) if by else "",
    )


def _ratio_text(change: ChangeFigures) -> str:
    """Return the ratio as text; `new` if the amount before was zero."""
    if change.ratio is not None:
        return numbers.change(change.ratio)
    return "new" if change.change else "0%"


def _sign(change: ChangeFigures) -> str:
    """Return `up` or `down`; empty for a change that is shown as 0%."""
    amount = change.change or 0
    if not amount or (change.ratio is not None and numbers.is_level(change.ratio)):
        return ""
    return "up" if amount > 0 else "down"
