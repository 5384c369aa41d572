"""Tools for shared dashboards. A credential is not a signed-in person, so it cannot read personal dashboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.costs.answers import AccountRef
from finops.dashboards import queries, services
from finops.dashboards.layouts import MAX_WIDGETS, WidgetDraft
from finops.dashboards.models import Dashboard
from finops.dashboards.placement import COLUMNS, Place
from finops.dashboards.schemas import (
    BoardAnswer,
    DashboardsAnswer,
    DeletedAnswer,
    WidgetLayout,
)
from finops.dashboards.widget_type import WidgetType
from finops.dashboards.widgets import CATALOGUE, find_type
from finops.lib.answers import AccountAnswer
from finops.lib.errors import UserError
from finops.lib.sentences import quote, truncate
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits
from mcpserver.schema import Schema, arguments_schema

PAGE = "dashboards/"
SHOWN_PROBLEMS = 5

DashboardId = Annotated[int, Meta(description="ID from listDashboards.")]
# The services refuse more than MAX_WIDGETS with a message.
Widgets = list[WidgetLayout]


class ListDashboardsArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    search: str = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 50
    cursor: str = ""


@tool(
    name="listDashboards",
    title="List dashboards",
    access=ToolAccess.READ,
    description="The account's shared dashboards. Personal ones are not listed. Layout: getDashboard.",
    examples=[{}, {"search": "week", "limit": 5}],
)
def list_dashboards(call: ToolCall, arguments: ListDashboardsArguments) -> DashboardsAnswer:
    def make_answer(limit: int) -> DashboardsAnswer:
        answer = queries.list_dashboards(
            call.account, search=arguments.search, limit=limit, cursor=arguments.cursor
        )
        rows = [replace(row, console_url=_url(call, row.id)) for row in answer.dashboards]
        return replace(answer, dashboards=rows, console_url=call.console_url(PAGE))

    return page_that_fits(make_answer, arguments.limit)


class GetDashboardArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    dashboard_id: Annotated[int | None, Meta(description="Default: the first by name.")] = None


@tool(
    name="getDashboard",
    title="Get a dashboard",
    access=ToolAccess.READ,
    has_view=True,
    description="""
        The layout of a shared dashboard, in the format of set_dashboard_widgets, without figures.
    """,
    examples=[{}],
)
def get_dashboard(call: ToolCall, arguments: GetDashboardArguments) -> BoardAnswer:
    if arguments.dashboard_id is not None:
        return _answer(call, queries.shared_dashboard(arguments.dashboard_id))
    first = queries.first_shared_dashboard()
    if first is not None:
        return _answer(call, first)
    return replace(queries.no_board_answer(call.account), console_url=call.console_url(PAGE))


class WidgetTypeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """w and h: what it takes without a position; board_days and board_filters: whether the board's apply."""

    type: str
    title: str
    description: str
    w: int
    h: int
    board_days: bool
    board_filters: bool
    config_schema: dict[str, Any]


class WidgetTypesAnswer(AccountAnswer, frozen=True, kw_only=True):
    columns: int
    max_widgets: int
    widget_types: list[WidgetTypeInfo]
    warnings: list[str]
    hint: str
    console_url: str = ""


class ListWidgetTypesArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    type: Annotated[str, Meta(description="Only this one.")] = ""


@tool(
    name="listWidgetTypes",
    title="List widget types",
    access=ToolAccess.READ,
    description=(
        "Widget types of dashboards with the JSON schema of their config. Read before writing widgets."
    ),
    examples=[{}, {"type": "spend_by"}],
)
def list_widget_types(call: ToolCall, arguments: ListWidgetTypesArguments) -> WidgetTypesAnswer:
    types = [find_type(arguments.type)] if arguments.type.strip() else list(CATALOGUE.values())
    return WidgetTypesAnswer(
        account=AccountRef(slug=call.account.slug, name=call.account.name),
        summary=f"{len(types)} of {len(CATALOGUE)} widget types.",
        columns=COLUMNS,
        max_widgets=MAX_WIDGETS,
        widget_types=[_type_info(each) for each in types],
        warnings=[],
        hint=(
            "Dimensions and filters as in querySpend. Days and filters of the dashboard are set on its page."
        ),
        console_url=call.console_url(PAGE),
    )


def _type_info(kind: WidgetType[Any]) -> WidgetTypeInfo:
    schema: Schema = arguments_schema(kind.config)
    return WidgetTypeInfo(
        type=kind.name,
        title=kind.title,
        description=kind.description,
        w=kind.width,
        h=kind.height,
        board_days=kind.takes_days,
        board_filters=kind.takes_filters,
        config_schema=schema,
    )


class CreateDashboardArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    name: Annotated[str, Meta(description="Must be unused.", min_length=1, max_length=100)]
    widgets: Annotated[Widgets, Meta(description="Types and configs: listWidgetTypes.")] = []


@tool(
    name="create_dashboard",
    title="Create a dashboard",
    access=ToolAccess.WRITE,
    description="Creates a shared dashboard, optionally with widgets; all or nothing.",
    examples=[
        {"name": "Walk", "widgets": [{"type": "total"}, {"type": "text", "config": {"text": "Hello"}}]}
    ],
)
def create_dashboard(call: ToolCall, arguments: CreateDashboardArguments) -> BoardAnswer:
    dashboard = services.create_dashboard(
        account=call.account,
        actor=call.credential.actor,
        name=arguments.name,
        widgets=_drafts(arguments.widgets),
    )
    return _answer(
        call, dashboard, done=(f"Created dashboard {truncate(dashboard.name, 60)!r} with id {dashboard.pk}")
    )


class SetDashboardWidgetsArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    dashboard_id: DashboardId
    widgets: Annotated[Widgets, Meta(description="The complete list; others are removed.")]
    version: Annotated[str, Meta(description="Of getDashboard: refused if it is no longer the newest.")] = ""


def _question_of_widgets(call: ToolCall, arguments: SetDashboardWidgetsArguments) -> str:
    """Return the question to confirm if somebody else changed the dashboard last; empty if the caller did, or names
    the version that it replaces."""
    if arguments.version:
        return ""
    dashboard = queries.shared_dashboard(arguments.dashboard_id)
    change = _change_of_others(call, dashboard)
    return f"Replace all widgets of the dashboard {quote(dashboard.name, 60)}? {change}" if change else ""


def _change_of_others(call: ToolCall, dashboard: Dashboard) -> str:
    """Return who else changed the dashboard last, and when; empty if the caller did."""
    other = queries.last_author(dashboard)
    if not other or other == call.credential.actor.label:
        return ""
    return f"{quote(other, 60)} changed it last, at {dashboard.changed_at:%Y-%m-%d %H:%M:%S} UTC."


@tool(
    name="set_dashboard_widgets",
    title="Set a dashboard's widgets",
    access=ToolAccess.WRITE,
    idempotent=True,
    question=_question_of_widgets,
    description="""
        Replaces all widgets of a shared dashboard; all or nothing. Edit the layout from getDashboard. Two
        widgets at the same x and y are refused.
    """,
    examples=[{"dashboard_id": 1, "widgets": [{"type": "spend_by", "config": {"group_by": "region"}}]}],
)
def set_dashboard_widgets(call: ToolCall, arguments: SetDashboardWidgetsArguments) -> BoardAnswer:
    dashboard = queries.shared_dashboard(arguments.dashboard_id)
    change = "" if arguments.version else _change_of_others(call, dashboard)
    changed = services.set_dashboard_widgets(
        dashboard=dashboard,
        actor=call.credential.actor,
        widgets=_drafts(arguments.widgets),
        version=arguments.version.strip(),
    )
    return replace(_answer(call, changed), warnings=[change] if change else [])


class DeleteDashboardArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    dashboard_id: DashboardId


def _question_of_deletion(call: ToolCall, arguments: DeleteDashboardArguments) -> str:
    dashboard = queries.shared_dashboard(arguments.dashboard_id)
    count = dashboard.widgets.count()
    widgets = "1 widget" if count == 1 else f"{count} widgets"
    return f"Delete the shared dashboard {quote(dashboard.name, 60)} with {widgets} for everybody? This cannot be undone."


@tool(
    name="delete_dashboard",
    title="Delete a dashboard",
    access=ToolAccess.WRITE,
    destructive=True,
    idempotent=True,
    question=_question_of_deletion,
    description="Permanently deletes a shared dashboard and its widgets. Ask the person first.",
    examples=[{"dashboard_id": 1}],
)
def delete_dashboard(call: ToolCall, arguments: DeleteDashboardArguments) -> DeletedAnswer:
    dashboard = queries.shared_dashboard(arguments.dashboard_id)
    deleted = services.delete_dashboard(dashboard=dashboard, actor=call.credential.actor)
    return DeletedAnswer(
        account=AccountRef(slug=call.account.slug, name=call.account.name),
        summary=f"Deleted dashboard {truncate(dashboard.name, 60)!r} with id {deleted}.",
        deleted_id=deleted,
        warnings=[],
        hint="Use listDashboards for the remaining ones.",
        console_url=call.console_url(PAGE),
    )


def _answer(call: ToolCall, dashboard: Dashboard, *, done: str = "") -> BoardAnswer:
    answer = queries.board_answer(dashboard, done=done)
    return replace(answer, console_url=_url(call, dashboard.pk))


def _url(call: ToolCall, dashboard_id: int) -> str:
    return call.console_url(f"{PAGE}{dashboard_id}/")


def _drafts(widgets: Sequence[WidgetLayout]) -> list[WidgetDraft]:
    """Raises one UserError with the problems of all widgets, so that the next call can correct all of them."""
    drafts, problems = [], []
    for index, widget in enumerate(widgets):
        try:
            drafts.append(_draft(f"widgets[{index}]", widget))
        except UserError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        shown = [problem.message for problem in problems[:SHOWN_PROBLEMS]]
        hidden_count = len(problems) - len(shown)
        more = [f"{hidden_count} more widgets refused."] if hidden_count else []
        raise UserError(" ".join([*shown, *more]), field="widgets")
    return drafts


def _draft(path: str, widget: WidgetLayout) -> WidgetDraft:
    """Decode the settings with the same tolerance and messages as a tool's arguments."""
    kind = find_type(widget.type, field=f"{path}.type")
    try:
        config = decode_arguments(kind.config, widget.config, tool=f"config of {kind.name}")
    except UserError as problem:
        message = f"{path}.config: {problem.message} listWidgetTypes has its schema."
        raise UserError(message, field=f"{path}.config", value=problem.value) from problem
    return WidgetDraft(type=kind, config=config, title=widget.title.strip(), place=_place(kind, widget))


def _place(kind: WidgetType[Any], widget: WidgetLayout) -> Place | None:
    at = widget.position
    if at is None:
        return None
    width = kind.width if at.w is None else at.w
    height = kind.height if at.h is None else at.h
    return Place(at.x, at.y, width, height)
