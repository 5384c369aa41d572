"""The broker of a single machine loses no message and breaks no worker, however many write at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty

import pytest
from django.conf import settings
from kombu import Connection

from finops.celery import app

MESSAGES = 400
WRITERS = 4


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    folders = {
        "data_folder_in": str(tmp_path / "messages"),
        "data_folder_out": str(tmp_path / "messages"),
        "control_folder": str(tmp_path / "control"),
    }
    for folder in folders.values():
        Path(folder).mkdir(exist_ok=True)
    made = Connection(
        "filesystem://localhost", transport="finops.folder_broker:Transport", transport_options=folders
    )
    yield made
    made.release()


def test_it_is_the_one_that_tasks_go_through() -> None:
    assert settings.CELERY_BROKER_TRANSPORT == "finops.folder_broker:Transport"
    assert type(app.connection_for_write().transport).__module__ == "finops.folder_broker"


def test_each_message_is_read_once_while_others_are_written(connection: Connection) -> None:
    """The folder is read without a pause, as often as it takes: a reader that met half a file would raise."""
    read: list[str] = []
    name = f"tasks-{uuid.uuid4().hex}"  # kombu remembers for the whole process which queues are bound

    def write(writer: int) -> None:
        with connection.clone() as own, own.SimpleQueue(name) as queue:
            for number in range(MESSAGES // WRITERS):
                queue.put(f"{writer}-{number}")

    with ThreadPoolExecutor(WRITERS) as pool, connection.SimpleQueue(name) as queue:
        writing = [pool.submit(write, writer) for writer in range(WRITERS)]
        while not all(one.done() for one in writing):
            read += _all_of(queue)
        for one in writing:
            one.result()
        read += _all_of(queue)

    assert len(read) == MESSAGES
    assert len(set(read)) == MESSAGES


def test_queues_that_are_bound_while_others_look_are_all_there(connection: Connection) -> None:
    def look(_: int) -> list[object]:
        with connection.clone() as own:
            return list(own.default_channel.get_table("tasks"))

    with ThreadPoolExecutor(WRITERS) as pool:
        looking = [pool.submit(look, number) for number in range(200)]
        for number in range(20):
            connection.default_channel._queue_bind("tasks", f"key{number}", "", f"queue{number}")
        for one in looking:
            one.result()

    assert len(connection.default_channel.get_table("tasks")) == 20


def _all_of(queue: object) -> list[str]:
    found: list[str] = []
    while True:
        try:
            message = queue.get(block=False)  # type: ignore[attr-defined]
        except Empty:
            return found
        message.ack()
        found.append(message.payload)
