"""Two ways of paging a list: by a token of the vendor, and by the last id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from finops.connections.connector import SourceError
from finops.connections.transports.http import HttpApi, Params

MAX_NAMES: Final = 100_000


class TokenPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page with the token of the next one; base class of pages with `data`."""

    has_more: bool | None = None
    next_page: str | None = None

    @property
    def token(self) -> str:
        """Token of the next page; empty on the last. Raises SourceError for a page that announces a next one without its token."""
        if self.has_more is False:
            return ""
        if self.has_more and not self.next_page:
            raise SourceError("The provider announced more pages without an address. Sync again.")
        return self.next_page or ""


class VendorObject(msgspec.Struct, frozen=True):
    """A workspace, project, key or person of a vendor's organization."""

    id: str
    name: str | None = None
    email: str | None = None


class _NamedPage(msgspec.Struct, frozen=True):
    data: list[VendorObject]
    has_more: bool | None = None
    last_id: str | None = None

    @property
    def token(self) -> str:
        return (self.last_id or "") if self.has_more else ""


Page = TypeVar("Page", bound=TokenPage)


def token_pages(api: HttpApi, path: str, params: Params, type_: type[Page]) -> Iterator[Page]:
    """Return all pages of a list. Raises the errors of `HttpApi.get` and `HttpApi.pages`."""
    return api.pages(
        lambda token: api.get(path, [*params, ("page", token)] if token else params, type_),
        lambda page: page.token,
    )


def names_by_id(api: HttpApi, path: str, params: Params, cursor: str) -> dict[str, VendorObject]:
    """Return all entries of a list by id; `cursor` is the parameter for the last id of the previous page. Raises the
    errors of `HttpApi.get`."""
    objects: dict[str, VendorObject] = {}
    for page in api.pages(
        lambda token: api.get(path, [*params, (cursor, token)] if token else params, _NamedPage),
        lambda page: page.token,
    ):
        objects |= {each.id: each for each in page.data}
        if len(objects) > MAX_NAMES:
            break
    return objects


def digest_of(lines: Iterable[str]) -> str:
    """Return a digest of the lines in any order, for the fingerprint of a month."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:40]
