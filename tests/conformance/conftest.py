from __future__ import annotations

from tests.servers import live_server_process

__all__ = ["live_server_process"]
