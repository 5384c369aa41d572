"""Functions that run in the processes of a server."""

from __future__ import annotations

from django.db import connection

from finops.celery import app
from finops.lib.telemetry import context
from finops.lib.telemetry.context import Work
from finops.worker.queues import SHORT
from tests.cast import make_cast, signed_in


def send_note() -> None:
    with context.work(Work("sent-3")):
        app.send_task("finops.note_worker", queue=SHORT)


def session_of_owner() -> dict[str, str]:
    """Her account and her cookie."""
    cast = make_cast()
    cookie = signed_in(cast.owner).cookies["finops_session"]
    return {"slug": cast.account.slug, "session": cookie.value}


def record_statements() -> None:
    """PostgreSQL notes each statement that writes invitations, as it sees it."""
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE TABLE statements (text text);
            CREATE FUNCTION note_statement() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO statements VALUES (current_query()); RETURN NULL; END $$;
            CREATE TRIGGER note AFTER INSERT OR UPDATE ON accounts_invitation
                FOR EACH STATEMENT EXECUTE FUNCTION note_statement();
        """)


def statements() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT text FROM statements")
        return [text for (text,) in cursor.fetchall()]
