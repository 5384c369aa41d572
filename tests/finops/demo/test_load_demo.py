"""`manage.py load_demo` on a real database and lake."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from accounts.models import Account, User
from accounts.services import create_account
from finops.lib import clock

TODAY = datetime(2026, 11, 20, 9, tzinfo=UTC)
URL = "http://127.0.0.1:8123"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_var(settings: LazySettings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.LAKE_URL = str(tmp_path / "lake")
    settings.PUBLIC_URL = URL
    return tmp_path


def load(*, months: int = 1, moment: datetime = TODAY, **options: Any) -> str:
    out = io.StringIO()
    with clock.frozen(moment):
        call_command("load_demo", months=months, stdout=out, **options)
    return out.getvalue()


def handout(var: Path) -> dict[str, str]:
    content: dict[str, str] = json.loads((var / "demo.json").read_text())
    return content


def test_production_has_no_demo_data_and_says_where_to_get_it(settings: LazySettings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match=r"`make run`.* FINOPS_ENV=development manage\.py load_demo"):
        load()
    assert not User.objects.exists()


@pytest.mark.slow
def test_no_program_installs_or_imports_the_demo() -> None:
    script = (
        "import sys, django; django.setup(); import finops.urls, finops.management.commands.up, finops.celery as c; "
        "c.app.loader.import_default_modules(); print([n for n in sys.modules if n.startswith('finops.demo.')])"
    )
    environment = {
        **os.environ,
        "FINOPS_ENV": "production",
        "SECRET_KEY": "s" * 60,
        "KEY_PEPPER": "p" * 60,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
    }
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
    assert not apps.is_installed("finops.demo")


def test_an_account_that_is_not_the_demos_is_left_alone() -> None:
    somebody = User.objects.create_user("ann@example.com", "a long password here")
    create_account(name="Lumenly", slug="lumenly", owner=somebody)
    for reset in (False, True):
        with pytest.raises(CommandError, match="does not own it"):
            load(reset=reset)
    assert Account.objects.get(slug="lumenly").memberships.get().user == somebody
