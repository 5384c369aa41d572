"""Warehouses on this machine: the statements of a connector are run for real, by DuckDB, in the dialect that they are
written in (sqlglot translates), and the answers have the vendors' forms."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import sqlglot

from tests.finops.connections.databases.lines import Line
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply

FOCUS_TABLE = """
CREATE TABLE lines (
    BilledCost DECIMAL(38, 18), EffectiveCost DECIMAL(38, 18), BillingCurrency VARCHAR, BillingPeriodStart TIMESTAMP,
    ChargePeriodStart TIMESTAMP, ChargeCategory VARCHAR, ProviderName VARCHAR, ServiceName VARCHAR, Tags JSON)
"""


Route = Callable[[ReplayRequest], Reply]
EXPIRED = Reply.of_json(
    {"error": {"message": "The token has expired"}, "message": "The token has expired"}, 401
)


@dataclass
class Tokens:
    """Of a vendor. `lifetime` is how many requests one serves; None: all."""

    lifetime: int | None = None
    issued: int = 0
    uses: dict[str, int] = field(default_factory=dict)

    def issue(self) -> str:
        self.issued += 1
        return f"token-{self.issued}"

    def guard(self, route: Route) -> Route:
        """The route, which a token opens that has requests left."""

        def answer(request: ReplayRequest) -> Reply:
            token = request.headers.get("authorization", "")
            self.uses[token] = self.uses.get(token, 0) + 1
            is_good = token.startswith("Bearer ") and (
                self.lifetime is None or self.uses[token] <= self.lifetime
            )
            return route(request) if is_good else EXPIRED

        return answer


class Answer(NamedTuple):
    """What DuckDB answers."""

    schema: pa.Schema
    rows: list[tuple[Any, ...]]


@dataclass
class Warehouse:
    """Its lines, and how often it was asked. `tables` are the names by which a vendor's statement knows them."""

    dialect: str
    tables: Mapping[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """How BigQuery's tables are partitioned, by name."""
    tokens: Tokens = field(default_factory=Tokens)
    extra_rows: int = 0
    """How many more rows it says there are than it gives."""
    refuse: Callable[[str], bool] = lambda _statement: False

    def __post_init__(self) -> None:
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")
        self.database.execute(FOCUS_TABLE)
        self._lock = threading.Lock()

    def add(self, lines: list[Line]) -> None:
        for billed, effective, period, charge, service in lines:
            self.database.execute(
                "INSERT INTO lines VALUES (?::DECIMAL(38,18), ?::DECIMAL(38,18), 'EUR', ?, ?, 'Usage', 'Own', ?, ?)",
                [billed, effective, period, charge, service, '{"team": "core"}'],
            )

    def run(self, statement: str) -> Answer:
        """Raises what DuckDB and sqlglot do."""
        self.statements.append(statement)
        if self.refuse(statement):
            raise duckdb.Error("not today")
        tree = sqlglot.parse_one(statement, read=self.dialect)
        for table in tree.find_all(sqlglot.exp.Table):
            name = ".".join(part.name for part in table.parts)
            if local := self.tables.get(name):
                table.replace(sqlglot.exp.to_table(local, alias=table.alias or None))
        with self._lock:
            table = self.database.execute(tree.sql(dialect="duckdb")).to_arrow_table()
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return Answer(table.schema, rows)


def serve_bigquery(server: ReplayServer, warehouse: Warehouse, page_rows: int = 2) -> None:
    """Jobs that are not done at first, and pages."""
    answers: dict[str, Answer] = {}
    guard = warehouse.tokens.guard

    def token(request: ReplayRequest) -> Reply:
        assert b"assertion=" in request.body
        return Reply.of_json({"access_token": warehouse.tokens.issue(), "expires_in": 3600})

    def query(request: ReplayRequest) -> Reply:
        body = json.loads(request.body)
        assert body["maximumBytesBilled"]
        job = f"job_{len(answers)}"
        if body.get("dryRun"):
            return _dry_run(warehouse, body["query"])
        try:
            answers[job] = warehouse.run(body["query"])
        except (duckdb.Error, sqlglot.ParseError) as error:
            return Reply.of_json({"error": {"message": str(error)}}, 400)
        server.routes[f"/bigquery/v2/projects/shop/queries/{job}"] = guard(lambda asked: page(job, asked))
        return Reply.of_json({"jobComplete": False, "jobReference": {"jobId": job, "location": "EU"}})

    def page(job: str, request: ReplayRequest) -> Reply:
        schema, rows = answers[job]
        start = int(request.param("pageToken") or 0)
        shown = [
            {"f": [{"v": _bigquery_value(value)} for value in row]} for row in rows[start : start + page_rows]
        ]
        more = {"pageToken": str(start + page_rows)} if start + page_rows < len(rows) else {}
        fields = [_bigquery_field(each) for each in schema]
        reference = {"jobId": job, "location": "EU"}
        answer = {
            "jobComplete": True,
            "jobReference": reference,
            "schema": {"fields": fields},
            "totalRows": str(len(rows) + warehouse.extra_rows),
            "rows": shown,
            **more,
        }
        return Reply.of_json(answer)

    for name in warehouse.tables:
        project, dataset, table = name.split(".")
        path = f"/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{table}"
        server.routes[path] = guard(partial(_describe, warehouse, name))
    server.routes["/token"] = token
    server.routes["/bigquery/v2/projects/shop/queries"] = guard(query)


def _dry_run(warehouse: Warehouse, statement: str) -> Reply:
    """Columns, and no job."""
    try:
        schema, _rows = warehouse.run(f"{statement} LIMIT 0")
    except (duckdb.Error, sqlglot.ParseError) as error:
        return Reply.of_json({"error": {"message": str(error)}}, 400)
    fields = [_bigquery_field(each) for each in schema]
    return Reply.of_json(
        {"jobComplete": True, "jobReference": {"location": "EU"}, "schema": {"fields": fields}}
    )


def _describe(warehouse: Warehouse, name: str, _request: ReplayRequest) -> Reply:
    partitions = warehouse.partitions.get(name)
    return Reply.of_json({"timePartitioning": partitions} if partitions else {})


def serve_snowflake(server: ReplayServer, warehouse: Warehouse, partition_rows: int = 2) -> None:
    """Statements that go on at first, and partitions."""
    answers: dict[str, Answer] = {}
    guard = warehouse.tokens.guard

    def submit(request: ReplayRequest) -> Reply:
        if request.headers.get("x-snowflake-authorization-token-type") != "KEYPAIR_JWT":
            return Reply.of_json({"message": "JWT token is invalid."}, 401)
        body = json.loads(request.body)
        handle = f"01b-{len(answers)}"
        try:
            answers[handle] = warehouse.run(body["statement"])
        except (duckdb.Error, sqlglot.ParseError) as error:
            return Reply.of_json({"message": str(error)}, 422)
        server.routes[f"/api/v2/statements/{handle}"] = guard(lambda asked: part(handle, asked))
        return Reply.of_json({"statementHandle": handle, "message": "in progress"}, 202)

    def part(handle: str, request: ReplayRequest) -> Reply:
        schema, rows = answers[handle]
        number = int(request.param("partition") or 0)
        data = [
            [_snowflake_text(value) for value in row]
            for row in rows[number * partition_rows : (number + 1) * partition_rows]
        ]
        if number:
            return Reply.of_json({"data": data}).compressed()
        parts = max(1, -(-len(rows) // partition_rows))
        metadata = {
            "rowType": [{"name": each.name, "type": _snowflake_type(each.type)} for each in schema],
            "partitionInfo": [{"rowCount": 1}] * parts,
            "numRows": len(rows) + warehouse.extra_rows,
        }
        return Reply.of_json({"statementHandle": handle, "resultSetMetaData": metadata, "data": data})

    server.routes["/api/v2/statements"] = guard(submit)


def serve_databricks(server: ReplayServer, warehouse: Warehouse, chunk_rows: int = 2) -> None:
    """Statements that go on at first, and chunks at addresses of their own, which take no credential."""
    answers: dict[str, Answer] = {}
    guard = warehouse.tokens.guard

    def submit(request: ReplayRequest) -> Reply:
        body, number = json.loads(request.body), f"01ef-{len(answers)}"
        try:
            answers[number] = warehouse.run(body["statement"])
        except (duckdb.Error, sqlglot.ParseError) as error:
            failure = {"state": "FAILED", "error": {"message": str(error)}}
            return Reply.of_json({"statement_id": number, "status": failure})
        server.routes[f"/api/2.0/sql/statements/{number}"] = guard(lambda _asked: done(number))
        return Reply.of_json({"statement_id": number, "status": {"state": "PENDING"}})

    def done(number: str) -> Reply:
        schema, rows = answers[number]
        for start in range(0, max(len(rows), 1), chunk_rows):
            server.routes[f"/chunks/{number}/{start}"] = _chunk(rows[start : start + chunk_rows])
            server.routes[f"/api/2.0/sql/statements/{number}/result/chunks/{start}"] = _link(
                number, start, len(rows)
            )
        manifest = {
            "schema": {
                "columns": [{"name": each.name, "type_name": _databricks_type(each.type)} for each in schema]
            },
            "total_row_count": len(rows) + warehouse.extra_rows,
        }
        result = links(number, 0, len(rows)) if rows else {}
        answer = {
            "statement_id": number,
            "status": {"state": "SUCCEEDED"},
            "manifest": manifest,
            "result": result,
        }
        return Reply.of_json(answer)

    def _link(number: str, start: int, rows: int) -> Callable[[ReplayRequest], Reply]:
        return lambda _request: Reply.of_json(links(number, start, rows))

    def links(number: str, start: int, rows: int) -> dict[str, Any]:
        link = {"external_link": f"{server.url}/chunks/{number}/{start}"}
        if start + chunk_rows < rows:
            following = f"/api/2.0/sql/statements/{number}/result/chunks/{start + chunk_rows}?row_offset=2"
            link["next_chunk_internal_link"] = following
        return {"external_links": [link]}

    server.routes["/oidc/v1/token"] = lambda request: _databricks_token(request, warehouse)
    server.routes["/api/2.0/sql/statements/"] = guard(submit)


def _databricks_token(request: ReplayRequest, warehouse: Warehouse) -> Reply:
    if not request.headers.get("authorization", "").startswith("Basic "):
        return Reply.of_json({"error": "invalid_client"}, 401)
    return Reply.of_json({"access_token": warehouse.tokens.issue()})


def _chunk(rows: list[tuple[Any, ...]]) -> Callable[[ReplayRequest], Reply]:
    def answer(request: ReplayRequest) -> Reply:
        assert "authorization" not in request.headers
        return Reply.of_json([[_text(value) for value in row] for row in rows])

    return answer


def _bigquery_field(field: pa.Field) -> dict[str, Any]:
    if pa.types.is_list(field.type):
        return {**_bigquery_field(field.type.value_field.with_name(field.name)), "mode": "REPEATED"}
    if pa.types.is_struct(field.type):
        return {
            "name": field.name,
            "type": "RECORD",
            "fields": [_bigquery_field(each) for each in field.type],
        }
    return {"name": field.name, "type": _type_name(field.type, _BIGQUERY_TYPES), "mode": "NULLABLE"}


def _snowflake_type(type_: pa.DataType) -> str:
    return _type_name(type_, _SNOWFLAKE_TYPES)


def _databricks_type(type_: pa.DataType) -> str:
    return _type_name(type_, _DATABRICKS_TYPES)


def _type_name(type_: pa.DataType, names: Sequence[str]) -> str:
    tests = (
        pa.types.is_timestamp,
        pa.types.is_date,
        pa.types.is_decimal,
        pa.types.is_integer,
        pa.types.is_boolean,
        pa.types.is_floating,
    )
    return next((name for test, name in zip(tests, names, strict=False) if test(type_)), names[-1])


_BIGQUERY_TYPES = ("TIMESTAMP", "DATE", "BIGNUMERIC", "INTEGER", "BOOLEAN", "FLOAT", "STRING")
_SNOWFLAKE_TYPES = ("timestamp_tz", "date", "fixed", "fixed", "boolean", "real", "text")
_DATABRICKS_TYPES = ("TIMESTAMP", "DATE", "DECIMAL", "LONG", "BOOLEAN", "DOUBLE", "STRING")


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime | date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _bigquery_value(value: Any) -> Any:
    """As in rows of the REST API: records are fields, lists are values, times microseconds."""
    if isinstance(value, dict):
        return {"f": [{"v": _bigquery_value(each)} for each in value.values()]}
    if isinstance(value, list):
        return [{"v": _bigquery_value(each)} for each in value]
    return str(int(_seconds(value) * 1_000_000)) if isinstance(value, datetime) else _text(value)


def _snowflake_text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return f"{_seconds(value):.9f} 1440"
    return str((value - date(1970, 1, 1)).days) if isinstance(value, date) else _text(value)


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
