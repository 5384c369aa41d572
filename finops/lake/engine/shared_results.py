"""Lake results that one web process computed, shared with the others through Redis, if there is one.

A process asks its own cache (`result_cache`) first, so it asks Redis once for a question. The same reasoning holds
here: the files are part of the key and never change. The key also has the version of the code that computed the
result, since an old and a new version may run side by side, and each result is sealed with SECRET_KEY because Arrow's
C++ reader parses it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac
from redis import Redis, RedisError

from finops.lake.engine.result_cache import ResultKey
from finops.lib.circuit_breaker import CircuitBreaker

KEPT_SECONDS: Final = 3600
"""Entries expire, so that a Redis whose memory is full evicts them."""
MAX_BYTES: Final = 256 * 1024
"""A larger result takes longer to transfer than it saves."""

_PREFIX: Final = "finops:lake:"
_ORDER: Final = f"{_PREFIX}order"
"""The sorted set of entry names with their sizes, by time of arrival: the oldest are removed first."""
_TOTAL: Final = f"{_PREFIX}bytes"
_SEAL_BYTES: Final = 32
_PUT: Final = """
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
if redis.call('ZADD', KEYS[2], redis.call('TIME')[1], KEYS[1] .. ' ' .. #ARGV[1]) == 1 then
  redis.call('INCRBY', KEYS[3], #ARGV[1])
end
while tonumber(redis.call('GET', KEYS[3])) > tonumber(ARGV[3]) do
  local first = redis.call('ZPOPMIN', KEYS[2])
  if #first == 0 then redis.call('SET', KEYS[3], 0) break end
  local name, size = string.match(first[1], '^(%S+) (%d+)$')
  redis.call('DEL', name)
  redis.call('DECRBY', KEYS[3], size)
end
"""

_breaker = CircuitBreaker("Redis", "each process keeps answers for itself")


def get(key: ResultKey, schema: pa.Schema) -> pa.Table | None:
    """The result that any process computed; None without one, without Redis, and for data that does not have this
    `schema`."""
    name = _name(key)
    sealed = _ask("get", name) if _is_used() else None
    if not isinstance(sealed, bytes):
        return None
    seal, data = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    if not constant_time_compare(seal, _seal(name, data)):
        return None
    table = pa.ipc.open_stream(data).read_all()
    return table if table.schema == schema else None


def put(key: ResultKey, table: pa.Table) -> None:
    """Store a result for other processes, up to LAKE_ANSWERS_BYTES in total."""
    if not _is_used() or table.get_total_buffer_size() > MAX_BYTES:
        return
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    data = buffer.getvalue().to_pybytes()
    name = _name(key)
    value = _seal(name, data) + data
    if len(value) <= MAX_BYTES:
        _ask("eval", _PUT, 3, name, _ORDER, _TOTAL, value, KEPT_SECONDS, settings.LAKE_ANSWERS_BYTES)


def _is_used() -> bool:
    return bool(settings.REDIS_URL) and settings.LAKE_ANSWERS_BYTES > 0


def _name(key: ResultKey) -> str:
    parts = (_code(), str(key.directory), key.query, key.start, key.end, key.currency, *key.files)
    digest = hashlib.sha256()
    for part in parts:
        text = str(part).encode(errors="surrogatepass")
        digest.update(b"%d:" % len(text) + text)
    return _PREFIX + digest.hexdigest()


def _seal(name: str, data: bytes) -> bytes:
    return salted_hmac(__name__ + name, data, algorithm="sha256").digest()


@cache
def _code() -> str:
    """A hash of the code that a result depends on besides its question: the engine package."""
    digest = hashlib.sha256(version("duckdb").encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def engine_version() -> str:
    """`duckdb 1.5.6, code 0123456789ab`."""
    return f"duckdb {version('duckdb')}, code {_code()[:12]}"


def _ask(command: str, *arguments: Any) -> Any:
    """Run a Redis command; None while Redis is unavailable, and the result is then computed."""
    if _breaker.is_open():
        return None
    try:
        with _breaker.call():
            return getattr(_redis(settings.REDIS_URL), command)(*arguments)
    except RedisError as error:
        _breaker.record_failure(error)
        return None


@cache
def _redis(url: str) -> Redis:
    return Redis.from_url(url, **settings.REDIS_OPTIONS)
