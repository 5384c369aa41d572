"""System checks that refuse unsafe settings. `manage.py check` shows them; the servers do not start with one.

Production is FINOPS_ENV=production. Development generates its own secrets; production must be given them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from finops import environment
from finops.lib.extras import MissingExtra, require_extra
from finops.lib.telemetry import metrics
from finops.worker.queues import CONNECTIONS as WORKER_CONNECTIONS

TAG = "production"
MIN_SECRET_LENGTH = 50
MIN_TOKEN_LENGTH = 32
MIN_DIFFERENT_CHARACTERS = 10
PROCESSES_MISSING_REDIS = "finops.E005"


def refuse_unsafe() -> None:
    """Raise ImproperlyConfigured, with every reason, when one of these checks has an error."""
    _refuse(run_checks(tags=[TAG]))


def refuse_pooler() -> None:
    """Raise ImproperlyConfigured where DATABASE_URL is that of a pooler that DATABASE_PREPARED does not suit. The database
    must answer."""
    _refuse(check_pooler())


def _refuse(messages: list[CheckMessage]) -> None:
    errors = [message for message in messages if message.is_serious()]
    if errors:
        raise ImproperlyConfigured("Refusing to start:\n" + "\n".join(f"  {error}" for error in errors))


@register(TAG)
def check_processes(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: data that several processes share cannot be in the memory of one."""
    if settings.WEB_PROCESSES <= 1 or settings.REDIS_URL:
        return []
    return [
        Error(
            f"WEB_PROCESSES is {settings.WEB_PROCESSES} without REDIS_URL: each process would count rate limits for itself.",
            hint="Set REDIS_URL, start with `manage.py up`, or set WEB_PROCESSES=1 (it serves with threads).",
            id=PROCESSES_MISSING_REDIS,
        )
    ]


@register(Tags.database)
def check_pooler(databases: Sequence[str] | None = ("default",), **kwargs: Any) -> list[CheckMessage]:
    """Runs with `migrate` and `check --database default`: it needs the database."""
    if not settings.DATABASE_PREPARED or "default" not in (databases or ()) or not shares_sessions():
        return []
    return [
        Error(
            "DATABASE_URL leads to a pooler that gives each transaction another connection; prepared statements and "
            "cursors of one transaction would be missing in the next.",
            hint="Set DATABASE_PREPARED=0, or let the pooler keep a connection for each client (pool_mode=session).",
            id="finops.E009",
        )
    ]


@register(Tags.database)
def check_connections(databases: Sequence[str] | None = ("default",), **kwargs: Any) -> list[CheckMessage]:
    """Runs with `migrate` and `check --database default`, when there is no pooler."""
    if not settings.DATABASE_PREPARED or not settings.DATABASE_POOL or "default" not in (databases or ()):
        return []
    available = available_connections()
    needed = settings.WEB_PROCESSES * settings.DATABASE_POOL + WORKER_CONNECTIONS
    if needed <= available:
        return []
    return [
        checks.Warning(
            f"PostgreSQL gives {available} connections; WEB_PROCESSES * DATABASE_POOL and the workers may open "
            f"{settings.WEB_PROCESSES} * {settings.DATABASE_POOL} + {WORKER_CONNECTIONS} = {needed}.",
            hint="Raise max_connections, or lower DATABASE_POOL or WEB_PROCESSES.",
            id="finops.W002",
        )
    ]


def available_connections() -> int:
    """Return the connections that PostgreSQL allows to users who are not superusers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        return int(cursor.fetchone()[0])


@register(TAG)
def check_environment(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: a misspelled setting would silently use a default."""
    from finops.settings import env

    return [
        checks.Warning(f"{name} is set but not used.", hint=advice, id="finops.W003")
        for name, advice in environment.problems(os.environ, env.names).items()
    ]


@register(TAG)
def check_cluster(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: a remote cluster cannot read a directory of this machine."""
    address = urlsplit(settings.SPARK_REMOTE)
    lake = settings.SPARK_LAKE_URL or settings.LAKE_URL
    if not settings.SPARK_REMOTE or (address.scheme == "sc" and (address.hostname in _HERE or "://" in lake)):
        return []
    if address.scheme != "sc":
        text, hint = "SPARK_REMOTE is no address of Spark Connect.", "Write it as sc://host:15002."
    else:
        text, hint = (
            "SPARK_REMOTE is another machine, and LAKE_URL a folder.",
            "Set LAKE_URL to s3://bucket/path.",
        )
    return [Error(text, hint=hint, id="finops.E014")]


_HERE: Final = ("127.0.0.1", "localhost", "::1")


@register(TAG)
def check_public_url(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: links and cookies are those of a whole host."""
    address = urlsplit(settings.PUBLIC_URL)
    if not address.hostname or not (address.path or address.query or address.fragment):
        return []
    return [
        Error(
            f"PUBLIC_URL is {settings.PUBLIC_URL!r}: the console needs a host of its own, without a path.",
            hint="Write it as https://finops.example.com.",
            id="finops.E021",
        )
    ]


@register(TAG)
def check_metrics_address(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: with an invalid address a worker would serve no metrics."""
    try:
        if settings.METRICS_LISTEN:
            metrics.listen_address(settings.METRICS_LISTEN)
    except ValueError as error:
        return [Error(str(error), hint="Write it as 0.0.0.0:9464 or [::]:9464.", id="finops.E013")]
    return []


@register(TAG)
def check_extras(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: a setting whose package is not installed must not look as if it worked."""
    needed = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": settings.TRACES_URL,
        "SENTRY_DSN": settings.SENTRY_DSN,
        "Encryption of backups": settings.BACKUP_KEY,
    }
    errors: list[CheckMessage] = []
    for subject in (subject for subject, value in needed.items() if value):
        try:
            require_extra(subject)
        except MissingExtra as error:
            errors.append(Error(error.message, id="finops.E022"))
    return errors


@register(TAG)
def check_networks(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: an invalid network would fail at each alert."""
    return [
        Error(
            f"ALERT_ALLOWED_NETWORKS has {text!r}, not a network.",
            hint="Write it as 10.20.0.0/16 or fd00:20::/32, several with commas between.",
            id="finops.E008",
        )
        for text in settings.ALERT_ALLOWED_NETWORKS
        if not _is_network(text)
    ]


@register(TAG)
def check_backups(**kwargs: Any) -> list[CheckMessage]:
    """In every environment: a schedule that cannot run must not look like a working one."""
    if settings.BACKUP_HOURS > 0 and settings.BACKUP_KEEP >= 1:
        return []
    return [
        Error(
            f"BACKUP_HOURS is {settings.BACKUP_HOURS:g} and BACKUP_KEEP {settings.BACKUP_KEEP}.",
            hint="Set BACKUP_HOURS above 0, such as 24, and BACKUP_KEEP to 1 or more.",
            id="finops.E012",
        )
    ]


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


@register(TAG)
def check_production(**kwargs: Any) -> list[CheckMessage]:
    if not settings.PRODUCTION:
        return []
    return [*_secrets(), *_addresses(), *_rest()]


def _secrets() -> Iterator[CheckMessage]:
    for name, number in (("SECRET_KEY", 1), ("KEY_PEPPER", 2)):
        problem = _secret_problem(_setting(name))
        if problem:
            yield Error(
                f"{name} {problem}.", hint=f"{_MAKE_SECRET} Put it in {name}.", id=f"finops.E00{number}"
            )
    if _setting("SECRET_KEY") and _setting("SECRET_KEY") == _setting("KEY_PEPPER"):
        yield Error(
            "KEY_PEPPER equals SECRET_KEY: who learns one could forge both sessions and keys.",
            hint=f"{_MAKE_SECRET} Put it in KEY_PEPPER.",
            id="finops.E002",
        )


def _addresses() -> Iterator[CheckMessage]:
    address = urlsplit(settings.PUBLIC_URL)
    if address.scheme != "https" or not address.hostname:
        yield Error(
            f"PUBLIC_URL is {settings.PUBLIC_URL!r}; sessions and keys would travel in the clear.",
            hint="Set it to the https address people and clients use, e.g. https://finops.example.com.",
            id="finops.E007",
        )
    if "*" in settings.ALLOWED_HOSTS or not settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS accepts any Host header, so anyone may choose the host in the links we send.",
            hint="Leave it unset (it follows PUBLIC_URL) or name the hosts.",
            id="finops.E006",
        )


def _rest() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        yield Error(
            "DEBUG is on: error pages show settings and source.", hint="Unset DEBUG.", id="finops.E003"
        )
    if not settings.DATABASE_URL:
        yield Error(
            "DATABASE_URL is not set; the embedded PostgreSQL is for development.",
            hint="Set it to a PostgreSQL 15 or later, e.g. postgres://user:password@host/finops.",
            id="finops.E004",
        )
    if settings.METRICS_TOKEN and (problem := _token_problem(settings.METRICS_TOKEN)):
        yield Error(
            f"METRICS_TOKEN {problem}: who guesses it reads how the service is doing.",
            hint=f"{_MAKE_SECRET} Put it in METRICS_TOKEN, and where Prometheus reads it.",
            id="finops.E011",
        )
    if "console" in settings.EMAIL_BACKEND:
        yield checks.Warning(
            "EMAIL_URL is not set: verification and reset mails go to the log only.",
            hint="Set it, e.g. smtp+tls://user:password@mail.example.com:587.",
            id="finops.W001",
        )


_MAKE_SECRET = "Make one: python -c 'import secrets; print(secrets.token_urlsafe(48))'."  # noqa: S105 - advice


def _token_problem(token: str) -> str:
    """A bearer token is a word of ASCII (RFC 6750)."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        return "has a space or a character that headers cannot have"
    return _secret_problem(token, MIN_TOKEN_LENGTH)


def _secret_problem(secret: str, min_length: int = MIN_SECRET_LENGTH) -> str:
    if not secret:
        return "is not set"
    if secret in _development_secrets():
        return "is the development default, stored in a file"
    if len(secret) < min_length:
        return f"has {len(secret)} characters; {min_length} are the least"
    if len(set(secret)) < MIN_DIFFERENT_CHARACTERS or secret.startswith("django-insecure-"):
        return "is not random"
    return ""


def _setting(name: str) -> str:
    # Django refuses to hand out an empty SECRET_KEY; here an empty one is what is looked for.
    try:
        return str(getattr(settings, name))
    except ImproperlyConfigured:
        return ""


def _development_secrets() -> set[str]:
    path = settings.VAR_DIR / "secrets.json"
    return set(json.loads(path.read_text()).values()) if path.exists() else set()


ATTEMPTS: Final = 5


def shares_sessions() -> bool:
    """Return whether two open connections reach the same session of PostgreSQL, as through a pooler that gives each
    transaction another connection. A pooler that has just opened a second connection for others may not be detected.

    PgBouncer invents the process id that a client gets at the start, so a single query can rule out a pooler.
    """
    with closing(connection.copy()) as first, closing(connection.copy()) as second:
        if _session(first) == first.connection.info.backend_pid:
            return False
        return any(_session(first) == _session(second) for _ in range(ATTEMPTS))


def _session(of: BaseDatabaseWrapper) -> int:
    with of.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
