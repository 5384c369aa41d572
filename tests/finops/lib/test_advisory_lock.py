from __future__ import annotations

import pytest
from django.db import connection, transaction

from finops.lib.advisory_lock import advisory_lock
from tests.waiting import threads

pytestmark = pytest.mark.django_db(transaction=True)


def in_another_thread(name: str) -> bool:
    def try_lock() -> bool:
        with advisory_lock(name) as has_lock:
            return has_lock

    with threads(1) as call:
        return bool(call(try_lock).result())


def test_one_thread_at_a_time_holds_the_lock_and_may_acquire_it_again() -> None:
    with advisory_lock("x") as has_lock:
        assert has_lock
        with advisory_lock("x") as again:
            assert again
        assert not in_another_thread("x")
        assert in_another_thread("y")
    assert in_another_thread("x")


def test_a_failure_ends_the_lock() -> None:
    with pytest.raises(ZeroDivisionError), advisory_lock("x"):
        raise ZeroDivisionError
    assert in_another_thread("x")


def test_no_lock_stays_with_a_session_and_a_rollback_around_it_leaves_it_held() -> None:
    """A pooler gives each transaction another connection: what only the session holds would go to a stranger."""
    with advisory_lock("x"):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            raise ZeroDivisionError
        connection.close()
        assert not in_another_thread("x")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")
        assert not in_another_thread("x")
