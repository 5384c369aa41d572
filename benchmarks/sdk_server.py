"""The peer of bench_mcp_peer: querySpend served by the official Python SDK, as one would write it with that.

`python -m benchmarks.sdk_server PORT`: uvicorn with uvloop and httptools, stateless, JSON answers. The tool is a
sync function with Pydantic types (the same fields as our Structs), which the SDK runs in its thread pool; the bearer
token is checked by `authenticate_mcp_key`, which blocks and so runs there too. What our endpoint does besides (READ ONLY
transaction, statement timeout, rate limit, the 25 KB limit of an answer) this server does not.
"""

from __future__ import annotations

import sys
import typing
from datetime import date
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Union

import anyio.to_thread
import django
import msgspec
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, PlainSerializer, create_model

django.setup()

from django.db import connection  # noqa: E402 - the next lines need what django.setup() loads

from accounts.keys import authenticate_mcp_key  # noqa: E402
from accounts.models import Account  # noqa: E402
from accounts.scoping import account_scope  # noqa: E402
from finops.costs.answers import SpendAnswer  # noqa: E402
from finops.costs.queries import query_spend  # noqa: E402
from finops.costs.spend_query import BasisName, CompareTo, Filter, Granularity, Period, SpendQuery  # noqa: E402
from finops.lib.errors import UserError  # noqa: E402
from finops.lib.money import round_amount  # noqa: E402

Number = Annotated[Decimal, PlainSerializer(lambda value: float(round_amount(value)), return_type=float)]


def model_of(struct: type[msgspec.Struct]) -> type[BaseModel]:
    """Return the Pydantic model with the fields of a Struct and the Structs inside it, without fields that are unset here."""
    hints = typing.get_type_hints(struct)
    fields: dict[str, Any] = {
        field.name: (
            _twin(hints[field.name]),
            ... if field.required else Field(default_factory=lambda field=field: field.default),
        )
        for field in msgspec.structs.fields(struct)
        if msgspec.UnsetType not in typing.get_args(hints[field.name])
    }
    return create_model(struct.__name__, __config__=ConfigDict(from_attributes=True), **fields)


def _twin(kind: Any) -> Any:
    """The type with Pydantic models for Structs and JSON numbers for Decimals."""
    if kind is Decimal:
        return Number
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return model_of(kind)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, UnionType):
        return Union[tuple(_twin(each) for each in inside)]  # noqa: UP007 - of a list made here
    return origin[tuple(_twin(each) for each in inside)] if origin in (list, dict) else kind


Answer: Any = model_of(SpendAnswer)
FilterModel: Any = model_of(Filter)


class Keys:
    """The SDK's way to check a bearer token; the account travels in the token's claims."""

    async def verify_token(self, token: str) -> AccessToken | None:
        return await anyio.to_thread.run_sync(self._check, token)

    @staticmethod
    def _check(token: str) -> AccessToken | None:
        try:
            key = authenticate_mcp_key(token, client="bench")
        finally:
            connection.close()  # back to the pool, as Django does after a request
        if key is None:
            return None
        return AccessToken(
            token=token, client_id=key.lookup, scopes=["mcp:read"], claims={"account": key.account}
        )


server = MCPServer(
    "sdk",
    token_verifier=Keys(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl("http://127.0.0.1/"),
        resource_server_url=AnyHttpUrl("http://127.0.0.1/mcp"),
        validate_token_resource=False,
    ),
    log_level="ERROR",
)


@server.tool(name="querySpend", description="What was spent, in total or grouped, over time, compared.")
def query(
    start_date: Annotated[date | None, Field(description="First day, with end_date.")] = None,
    end_date: Annotated[date | None, Field(description="Last day, inclusive.")] = None,
    period: Period | None = None,
    granularity: Granularity = "none",
    group_by: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006 - the SDK copies it
    filters: Annotated[list[FilterModel], Field(max_length=20)] = [],  # noqa: B006
    basis: BasisName | None = None,
    charge_categories: list[str] = [],  # noqa: B006
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    compare_to: CompareTo = "none",
) -> Answer:
    spend_query = SpendQuery(
        start_date=start_date,
        end_date=end_date,
        period=period,
        granularity=granularity,
        group_by=group_by,
        filters=[Filter(dimension=each.dimension, op=each.op, values=each.values) for each in filters],
        basis=basis,
        charge_categories=charge_categories,
        limit=limit,
        compare_to=compare_to,
    )
    token = get_access_token()
    account = token.claims["account"] if token and token.claims else None
    assert isinstance(account, Account)
    try:
        with account_scope(account):
            answer = query_spend(account, spend_query)
    except UserError as problem:
        raise ToolError(problem.message) from problem
    finally:
        connection.close()
    return Answer.model_validate(answer)


def main(port: int) -> None:
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        timeout_keep_alive=60,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
