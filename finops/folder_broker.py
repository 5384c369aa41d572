"""The broker of a single machine: kombu's folders of messages, written so that nobody reads half a file.

kombu 5.6 opens a message or a table of queues under its final name and then writes it. A worker that looks in between
takes an empty file, loses the message and ends (seen once in some minutes of steady work). Here a file is written under
another name first.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):  # type: ignore[misc]
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        _write_whole(Path(self.data_folder_out) / name, payload)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        """Two that bind at once are two of the same few queues: each binds again when it connects."""
        binding = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        bindings = self.get_table(exchange)
        if binding not in bindings:
            self.control_folder.mkdir(exist_ok=True)
            _write_whole(self._exchange_file(exchange), [binding, *bindings])


class Transport(filesystem.Transport):  # type: ignore[misc]
    Channel = Channel


def _write_whole(file: Path, content: Any) -> None:
    part = file.with_name(f"{file.name}.{uuid.uuid4().hex}.part")
    part.write_text(dumps(content))
    part.replace(file)
