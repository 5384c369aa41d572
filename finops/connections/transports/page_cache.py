"""Pages of JSON that are cached between the syncs of a connection, and requested again with their ETag (RFC 9110,
13.1.2): an unchanged page is 304 without a body, which GitHub does not count against its rate limit.

Only the fields of a page's type are cached, a few hundred bytes for each entry of the list. Connectors are stateless:
the sync sets a `PageCache` around their calls (`use_page_cache`), which is empty for the first sync.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlencode

import msgspec

from finops.connections.connector import SourceError
from finops.connections.transports.http import MAX_PAGE_BYTES, HttpApi, Params
from finops.lib import clock
from finops.lib.errors import INVALID_JSON
from finops.lib.outbound import DeliveryTimeout, ResponseStream

MAX_BYTES: Final = 32 * 1024**2
"""Maximum bytes of all pages of a connection; the most recently used ones stay."""
UNUSED: Final = timedelta(days=7)
_TOUCH_SECONDS: Final = 24 * 3_600

T = TypeVar("T")


class CachedPage(msgspec.Struct, frozen=True, array_like=True):
    """A cached page. `body` has the fields of the page's type. A page that `is_final` is not requested again."""

    etag: str
    credential: str
    body: bytes
    used_at: int
    is_final: bool = False


_decoder = msgspec.msgpack.Decoder(dict[str, CachedPage])


class PageCache:
    """Pages by URL."""

    def __init__(self, content: bytes = b"") -> None:
        """Load the cache from `content`; empty if it cannot be read, for example from an older version."""
        try:
            self._pages = _decoder.decode(zlib.decompress(content)) if content else {}
        except (zlib.error, msgspec.DecodeError):
            self._pages = {}

    def find(self, url: str) -> CachedPage | None:
        return self._pages.get(url)

    def touch(self, url: str) -> None:
        """Mark the page as used. Stored once a day, so that a listing without changes leaves the same content."""
        page = self._pages[url]
        if page.used_at < _now() - _TOUCH_SECONDS:
            self.put(url, msgspec.structs.replace(page, used_at=_now()))

    def put(self, url: str, page: CachedPage) -> None:
        self._pages[url] = page

    @property
    def content(self) -> bytes:
        """Return the content without pages that were not used for a week, and those beyond MAX_BYTES."""
        oldest, total = _now() - int(UNUSED.total_seconds()), 0
        pages = {}
        for url, page in sorted(self._pages.items(), key=lambda item: -item[1].used_at):
            total += len(page.body) + len(url)
            if page.used_at >= oldest and total <= MAX_BYTES:
                pages[url] = page
        return zlib.compress(msgspec.msgpack.encode(pages))


class _Current(threading.local):
    cache: PageCache | None = None


_current = _Current()


def current_cache() -> PageCache:
    """Return the cache of this thread's sync."""
    return _current.cache or PageCache()


@contextmanager
def use_page_cache(path: Path | None) -> Iterator[None]:
    """Context manager in which connectors use the pages of a file; it is written at the end, also on errors."""
    if path is None:
        yield
        return
    _current.cache = cache = PageCache(path.read_bytes() if path.exists() else b"")
    try:
        yield
    finally:
        _current.cache = None
        path.write_bytes(cache.content)


class _NotModifiedAnswer(SourceError):
    """A response with status 304."""


@dataclass(frozen=True, kw_only=True)
class CachingApi(HttpApi):
    """An API whose pages are cached."""

    cache: PageCache = field(default_factory=current_cache, repr=False)

    def get_page(
        self, path: str, params: Params, type_: type[T], is_final: Callable[[T], bool] = lambda _page: False
    ) -> T:
        """Return a page as `get` does; the cached one if the vendor reports no change, or if it was final."""
        url, query = self._url(path), urlencode(params)
        key, credential = f"{url}?{query}", self._credential()
        page = self.cache.find(key)
        value = _value_of(page, type_) if page else None
        if page is None or value is None:
            return self._get_anew(key, url, query, type_, is_final, credential)
        self.cache.touch(key)
        if page.is_final:
            return value
        try:
            etag = page.etag if page.credential == credential else ""
            return self._get_anew(key, url, query, type_, is_final, credential, etag)
        except _NotModifiedAnswer:
            return value

    def _get_anew(
        self,
        key: str,
        url: str,
        query: str,
        type_: type[T],
        is_final: Callable[[T], bool],
        credential: str,
        etag: str = "",
    ) -> T:
        headers = {"Accept": "application/json", **self.headers, **({"If-None-Match": etag} if etag else {})}

        def receive(response: ResponseStream) -> tuple[bytes, str]:
            content = b"".join(self._parts(response, MAX_PAGE_BYTES))
            try:
                msgspec.json.decode(content, type=msgspec.Raw)
            except INVALID_JSON as error:
                raise DeliveryTimeout("an incomplete response") from error
            return content, response.headers.get("etag", "")

        def request() -> tuple[bytes, str]:
            request_headers = self._with_token_header(headers)
            return self._request("GET", url, query, None, request_headers, self.page_seconds, receive)

        content, new_etag = self._retry(request)
        value = self._decode(content, type_)
        page = CachedPage(new_etag, credential, msgspec.json.encode(value), _now(), is_final(value))
        self.cache.put(key, page)
        return value

    def _credential(self) -> str:
        """Return a digest of the credential: pages of one credential are not shown to another, and GitHub's ETags
        depend on the token."""
        text = msgspec.json.encode(dict(self.headers), order="sorted")
        return blake2b(text, digest_size=16).hexdigest()

    def _error_of(self, response: ResponseStream) -> SourceError:
        return _NotModifiedAnswer("Not modified.") if response.status == 304 else super()._error_of(response)


def _value_of(page: CachedPage, type_: type[T]) -> T | None:
    """Return the page's value; None for a page of an older version with other fields."""
    try:
        return msgspec.json.decode(page.body, type=type_)
    except INVALID_JSON:
        return None


def _now() -> int:
    return int(clock.now().timestamp())
