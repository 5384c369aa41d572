"""A registry of small tools that do one thing each, for tests of the endpoint itself."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from django.db import connection
from msgspec import Meta

from accounts.models import Account
from accounts.scoping import current_account
from finops.lib.errors import UserError
from mcpserver.context import ToolCall
from mcpserver.registry import Completion, Prompt, PromptArgument, ToolAccess, ToolRegistry


class Grain(enum.StrEnum):
    DAY = "day"
    MONTH = "month"


class Filter(msgspec.Struct, kw_only=True):
    dimension: str
    values: list[str] = []


class EchoArguments(msgspec.Struct, kw_only=True):
    top: Annotated[int, Meta(ge=1, le=50, description="How many rows.")] = 10
    grain: Grain = Grain.DAY
    basis: Literal["billed", "amortized"] | None = None
    group_by: Annotated[list[str], Meta(max_length=2)] = []
    filters: list[Filter] = []
    start_date: datetime.date | None = None
    amount: Decimal | None = None
    ratio: float | None = None
    shared: bool | None = None
    note: Annotated[str, Meta(max_length=20)] = ""
    labels: dict[str, str] = {}


class Answer(msgspec.Struct, kw_only=True):
    account: str
    summary: str = "Done."
    warnings: list[str] = []
    hint: str = ""
    console_url: str = ""


class EchoAnswer(Answer, kw_only=True):
    got: Annotated[EchoArguments, Meta(description="The arguments.")]


class NoArguments(msgspec.Struct):
    pass


class NameArguments(msgspec.Struct):
    name: Annotated[str, Meta(description="The account's new name.")]


class AmountsAnswer(Answer, kw_only=True):
    amounts: Annotated[list[Decimal], Meta(description="In order.")]
    currency: str
    nothing: Decimal | None = None


def make_toys(*, prompts: bool = False) -> ToolRegistry:
    toys = ToolRegistry()

    @toys.tool(
        name="echo", title="Echo", access=ToolAccess.READ, description="Says what it got.", examples=[{}]
    )
    def echo(call: ToolCall, arguments: EchoArguments) -> EchoAnswer:
        url = call.console_url("explorer/", {"group_by": arguments.group_by})
        return EchoAnswer(account=current_account().slug, got=arguments, console_url=url)

    @toys.tool(name="amounts", title="Amounts", access=ToolAccess.READ, description="Amounts.", examples=[{}])
    def amounts(call: ToolCall, arguments: NoArguments) -> AmountsAnswer:
        exact = [
            "0.12345650000001",
            "0.1234565",
            "12.50",
            "1E+3",
            "-0.0000001",
            "98765432109876543210.123456789",
            "NaN",
        ]
        return AmountsAnswer(
            account=call.account.slug, amounts=[Decimal(text) for text in exact], currency="EUR"
        )

    @toys.tool(name="rename", title="Rename", access=ToolAccess.WRITE, description="Renames the account.")
    def rename(call: ToolCall, arguments: NameArguments) -> Answer:
        return _rename(call, arguments)

    @toys.tool(
        name="sly",
        title="Sly",
        access=ToolAccess.READ,
        description="Says it reads, and writes.",
        examples=[{}],
    )
    def sly(call: ToolCall, arguments: NoArguments) -> Answer:
        return _rename(call, NameArguments(name="Sly"))

    @toys.tool(
        name="slow",
        title="Slow",
        access=ToolAccess.READ,
        description="Sleeps in the database.",
        examples=[{}],
    )
    def slow(call: ToolCall, arguments: NoArguments) -> Answer:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")
        return Answer(account=call.account.slug)

    @toys.tool(name="broken", title="Broken", access=ToolAccess.READ, description="Fails.", examples=[{}])
    def broken(call: ToolCall, arguments: NoArguments) -> Answer:
        raise RuntimeError("secret detail of the inside")

    @toys.tool(name="picky", title="Picky", access=ToolAccess.READ, description="Refuses.", examples=[{}])
    def picky(call: ToolCall, arguments: NoArguments) -> Answer:
        raise UserError("service: 'Amazon EC3' does not exist. Nearest: Amazon EC2. Use listDimensionValues.")

    if prompts:
        toys.add_prompt(
            Prompt(
                name="weekly",
                title="Weekly",
                description="The week in cost.",
                render=lambda _call, values: f"How was the week of {values['team']}?",
                arguments=(
                    PromptArgument(
                        name="team", title="Team", description="Whose.", required=True, complete=_teams
                    ),
                    PromptArgument(name="mood", description="How to say it."),
                ),
            )
        )
    return toys


def _teams(call: ToolCall, typed: str, arguments: Mapping[str, str]) -> Completion:
    """A hundred and fifty teams, or those of a mood."""
    teams = [f"{arguments.get('mood', 'team')} {number:03}" for number in range(150)]
    names = [team for team in teams if team.startswith(typed)]
    return Completion(values=names, total=len(names))


def _rename(call: ToolCall, arguments: NameArguments) -> Answer:
    Account.objects.filter(pk=call.account.pk).update(name=arguments.name)
    return Answer(account=call.account.slug, summary=f"Now it is {arguments.name}.")
