from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from finops.celery import app
from finops.lake import tasks
from finops.lake.models import LakeSegment
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.facts import JANUARY, line, store


def test_beat_asks_for_the_sweep_every_hour_and_drops_what_waited_longer() -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["lake.sweep"]
    assert entry == {"task": "lake.sweep", "schedule": 3_600, "options": {"expires": 3_600}}


def test_beat_asks_for_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= app.tasks.keys()


@pytest.mark.django_db
def test_the_task_sweeps_over_every_account(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        store(account, [line(JANUARY, 1)])
        store(account, [])
    with clock.frozen(datetime.now(UTC) + timedelta(hours=2)):
        tasks.sweep()
    assert not LakeSegment.objects.unscoped().exists()
