"""The pool of database connections, against a server that ends some of them."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from finops.lib.postgresql.base import DatabaseWrapper, is_alive
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool_wrapper() -> Iterator[DatabaseWrapper]:
    options = {**connection.settings_dict["OPTIONS"], "pool": {"min_size": 0, "max_size": 2, "timeout": 10}}
    wrapper = DatabaseWrapper({**connection.settings_dict, "OPTIONS": options}, alias="pooled")
    yield wrapper
    wrapper.close()
    wrapper.close_pool()


def backend(wrapper: DatabaseWrapper) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def fetch_row(sql: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()


def test_a_pooled_connection_that_the_server_closed_is_not_used(pool_wrapper: DatabaseWrapper) -> None:
    first = backend(pool_wrapper)
    pool_wrapper.close()
    assert fetch_row("SELECT pg_terminate_backend(%s, 5000)", first) == (True,)
    assert backend(pool_wrapper) != first


def test_an_open_connection_is_reused(pool_wrapper: DatabaseWrapper) -> None:
    first = backend(pool_wrapper)
    pool_wrapper.close()
    assert backend(pool_wrapper) == first


def test_a_connection_with_news_of_the_server_is_alive(pool_wrapper: DatabaseWrapper) -> None:
    pool_wrapper.ensure_connection()
    listening: psycopg.Connection[Any] = pool_wrapper.connection
    listening.execute("LISTEN news")
    assert is_alive(listening)
    with psycopg.connect(listening.info.dsn, password=listening.info.password, autocommit=True) as other:
        other.execute("NOTIFY news")
    wait_until(lambda: bool(select.select([listening], [], [], 0)[0]))
    assert is_alive(listening)
