from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from finops.checks import TAG, check_connections, refuse_unsafe
from finops.lib.secrets import development_secret
from finops.worker.queues import CONNECTIONS

SAFE: dict[str, Any] = {
    "PRODUCTION": True,
    "DEBUG": False,
    "SECRET_KEY": secrets.token_urlsafe(48),
    "KEY_PEPPER": secrets.token_urlsafe(48),
    "DATABASE_URL": "postgres://finops@db.example.com/finops",
    "PUBLIC_URL": "https://finops.example.com",
    "ALLOWED_HOSTS": ["finops.example.com"],
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "WEB_PROCESSES": 1,
    "REDIS_URL": "",
    "METRICS_TOKEN": secrets.token_urlsafe(48),
}


def checks(settings: Settings, **changes: Any) -> set[str]:
    for name, value in {**SAFE, **changes}.items():
        setattr(settings, name, value)
    return {str(message.id) for message in run_checks(tags=[TAG])}


def test_a_safe_production_passes(settings: Settings) -> None:
    assert checks(settings) == set()
    refuse_unsafe()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"SECRET_KEY": ""}, "finops.E001"),
        ({"SECRET_KEY": "short"}, "finops.E001"),
        ({"SECRET_KEY": "a" * 64}, "finops.E001"),
        ({"SECRET_KEY": "django-insecure-" + secrets.token_urlsafe(48)}, "finops.E001"),
        ({"KEY_PEPPER": ""}, "finops.E002"),
        ({"KEY_PEPPER": "changeme"}, "finops.E002"),
        ({"KEY_PEPPER": SAFE["SECRET_KEY"]}, "finops.E002"),
        ({"DEBUG": True}, "finops.E003"),
        ({"DATABASE_URL": ""}, "finops.E004"),
        ({"WEB_PROCESSES": 2}, "finops.E005"),
        ({"ALLOWED_HOSTS": ["*"]}, "finops.E006"),
        ({"PUBLIC_URL": "http://finops.example.com"}, "finops.E007"),
        ({"METRICS_LISTEN": "9464"}, "finops.E013"),
        ({"PUBLIC_URL": "https://example.com/finops"}, "finops.E021"),
        ({"PUBLIC_URL": "https://example.com?x=1"}, "finops.E021"),
        ({"METRICS_LISTEN": "0.0.0.0:many"}, "finops.E013"),
        ({"METRICS_TOKEN": "prometheus"}, "finops.E011"),
        ({"METRICS_TOKEN": "a" * 64}, "finops.E011"),
        ({"METRICS_TOKEN": "a token with spaces, of many characters 0123456789"}, "finops.E011"),
        ({"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}, "finops.W001"),
    ],
)
def test_each_danger_has_its_own_id(settings: Settings, changes: dict[str, Any], expected: str) -> None:
    assert checks(settings, **changes) == {expected}


def test_without_metrics_no_token_is_needed(settings: Settings) -> None:
    assert checks(settings, METRICS_TOKEN="") == set()


def test_a_secret_that_development_made_up_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    assert checks(settings, SECRET_KEY=development_secret("SECRET_KEY", tmp_path)) == {"finops.E001"}


def test_several_processes_pass_with_redis(settings: Settings) -> None:
    assert checks(settings, WEB_PROCESSES=4, REDIS_URL="redis://cache.example.com/0") == set()


def test_several_processes_without_redis_are_refused_in_development_too(settings: Settings) -> None:
    assert checks(settings, PRODUCTION=False, WEB_PROCESSES=2) == {"finops.E005"}


def test_development_needs_nothing_set(settings: Settings) -> None:
    assert (
        checks(settings, PRODUCTION=False, SECRET_KEY="x", DATABASE_URL="", PUBLIC_URL="http://127.0.0.1")
        == set()
    )


def test_refusing_names_every_reason_at_once_and_shows_no_secret(settings: Settings) -> None:
    checks(settings, SECRET_KEY="short-secret-value", DEBUG=True)
    with pytest.raises(ImproperlyConfigured) as error:
        refuse_unsafe()
    assert "finops.E001" in str(error.value)
    assert "finops.E003" in str(error.value)
    assert "short-secret-value" not in str(error.value)


def test_the_web_server_does_not_start_in_an_unsafe_production() -> None:
    environment = {**os.environ, "FINOPS_ENV": "production", "PUBLIC_URL": "https://finops.example.com"}
    result = subprocess.run(
        [sys.executable, "-c", "import finops.asgi"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "Refusing to start" in result.stderr
    assert "SECRET_KEY is not set" in result.stderr


def test_a_network_that_cannot_be_read_is_named(settings: Settings) -> None:
    assert checks(settings, ALERT_ALLOWED_NETWORKS=["10.0.0.0/8", "fd00::/8", "127.0.0.1"]) == set()
    assert checks(settings, ALERT_ALLOWED_NETWORKS=["10.0.0.0/8", "10.0.0.0/33"]) == {"finops.E008"}


@pytest.mark.django_db
def test_web_processes_and_workers_that_may_open_more_connections_than_the_database_has(
    settings: Settings,
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW max_connections")
        available = int(cursor.fetchone()[0]) - 3
    settings.DATABASE_PREPARED, settings.WEB_PROCESSES = True, 2
    settings.DATABASE_POOL = (available - CONNECTIONS) // 2
    assert check_connections() == []

    settings.DATABASE_POOL += 1
    (warning,) = check_connections()
    assert warning.id == "finops.W002"
    assert f"2 * {settings.DATABASE_POOL} + {CONNECTIONS} = " in warning.msg
    settings.DATABASE_PREPARED = False  # a pooler's clients are none of PostgreSQL's
    assert check_connections() == []
