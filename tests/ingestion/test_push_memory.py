"""What a push held is let go with its answer: an account at its limit sends a thousand of 230 KB a minute."""

from __future__ import annotations

import gc
import json
import weakref

import pytest
from django.test import RequestFactory, override_settings

from ingestion.views.push import push
from tests.ingestion.push_client import PATH, PushClient, event

BODIES = {
    "accepted": json.dumps({"events": [event()]}),
    "rejected in part": json.dumps({"events": [event(), 1]}),
    "malformed": "[",
    "too large": " " * 2_000,
}


def push_and_weakref(body: str, key: str) -> weakref.ref[object]:
    request = RequestFactory().post(
        PATH, body, content_type="application/json", headers={"authorization": f"Bearer {key}"}
    )
    push(request).close()
    return weakref.ref(request)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("credential", ["living key", "no key"])
def test_no_object_of_a_push_waits_for_the_garbage_collector(
    push_client: PushClient, body: str, credential: str
) -> None:
    key = push_client.key if credential == "living key" else "x"
    gc.disable()
    try:
        with override_settings(USAGE_MAX_BODY_BYTES=1_000):
            survivors = push_and_weakref(body, key)
        assert survivors() is None
    finally:
        gc.enable()
