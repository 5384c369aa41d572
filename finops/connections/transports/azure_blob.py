"""Azure Blob Storage: lists by pages of XML, reads by ranges, and explains errors.

Source: learn.microsoft.com/rest/api/storageservices, List Blobs, Get Blob, and its error codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from finops.connections.connector import AccessError, MonthConflict, SourceError
from finops.connections.transports.bucket import BucketObject
from finops.connections.transports.http import HttpApi
from finops.connections.transports.rest_bucket import (
    NO_HEADERS,
    OCTETS,
    RestBucket,
    RestCredential,
    range_header,
)
from finops.lib.outbound import ResponseStream
from finops.lib.sentences import truncate

PAGE: Final = 5_000
VERSION: Final = "2021-12-02"
ROLE: Final = "Storage Blob Data Reader"
WRITE_ROLE: Final = "Storage Blob Data Contributor"
_READS: Final = (ROLE, "list and read", "Read and List")
_WRITES: Final = (WRITE_ROLE, "write to and delete in", "Read, Write, Delete and List")


@dataclass(frozen=True, kw_only=True)
class BlobApi(HttpApi):
    """The REST API. Errors are identified by the code that Azure sends in a header. Raises MonthConflict for a blob
    that changed."""

    container: str = ""
    principal: str = field(default="", repr=False)
    is_write: bool = False

    def _error_of(self, response: ResponseStream) -> SourceError:
        code = truncate(response.headers.get("x-ms-error-code", ""), 60)
        if response.status in (412, 416) or code == "BlobNotFound":
            raise MonthConflict(f"A blob of {self.container} changed after it was listed.")
        if response.status == 404:
            return SourceError(
                f"{self.vendor}: container {self.container} does not exist. Check its name and the storage account.",
                field="container",
            )
        if response.status in (401, 403):
            return AccessError(self._denial(code))
        return super()._error_of(response)

    def _denial(self, code: str) -> str:
        if code == "AuthenticationFailed":
            return f"{self.vendor} rejected {self.principal}: it is wrong, expired or not valid yet ({code}). Enter a new one."
        if code in ("AuthorizationFailure", "AuthorizationSourceIPMismatch"):
            return (
                f"{self.vendor} refuses this server's address, or {self.principal} ({code}). Allow the address under Networking "
                f"of the storage account, and give it the role {WRITE_ROLE if self.is_write else ROLE} on the container "
                f"{self.container}."
            )
        role, action, permissions = _WRITES if self.is_write else _READS
        return (
            f"{self.principal[:1].upper()}{self.principal[1:]} may not {action} {self.container} ({code or 'HTTP 403'}). "
            f"Give it the role {role} on that container, or a SAS with the permissions {permissions}."
        )


class AzureBlobBucket(RestBucket):
    """A path of a container."""

    def __init__(self, base_url: str, container: str, prefix: str, credential: RestCredential) -> None:
        super().__init__(container, prefix, scheme="azure")
        self._credential = credential
        self._api = BlobApi(
            connector="azure_blob",
            vendor="Azure Storage",
            base_url=base_url,
            key_fix="Enter new credentials.",
            scope_fix=f"Give it the role {ROLE}.",
            container=container,
            principal=credential.principal,
            secrets=tuple(value for _, value in credential.params() if len(value) > 20),
        )

    def _content(
        self,
        path: str,
        params: list[tuple[str, str | int]],
        headers: Mapping[str, str],
        limit: int | None = None,
    ) -> bytes:
        request_headers = {"x-ms-version": VERSION, **self._credential.headers(), **headers}
        options = {} if limit is None else {"limit": limit}
        return self._api.content(path, [*params, *self._credential.params()], request_headers, **options)

    def _write(self, key: str, file: Path) -> None:
        """Write an object in one request, which may have up to 5,000 MiB."""
        self._send("PUT", key, {"x-ms-blob-type": "BlockBlob", "Content-Type": OCTETS}, file)

    def _remove(self, key: str) -> None:
        self._send("DELETE", key)

    def _send(
        self, method: str, key: str, headers: Mapping[str, str] = NO_HEADERS, file: Path | None = None
    ) -> None:
        request_headers = {"x-ms-version": VERSION, **self._credential.headers(), **headers}
        path = f"/{self.name}/{quote(key, safe='/')}"
        replace(self._api, is_write=True).send(method, path, self._credential.params(), request_headers, file)

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        marker = ""
        while True:
            params: list[tuple[str, str | int]] = [
                ("restype", "container"),
                ("comp", "list"),
                ("maxresults", PAGE),
            ]
            params += [(name, text) for name, text in (("prefix", prefix), ("marker", marker)) if text]
            page = _parse_page(self._content(f"/{self.name}", params, {}))
            yield [each for blob in page.iter("Blob") if (each := _listed_object(blob))]
            before, marker = marker, page.findtext("NextMarker") or ""
            if not marker:
                return
            if marker == before:
                raise SourceError(f"{self.url}: the listing is incomplete. Sync again.")

    def _read_range(self, item: BucketObject, key: str, start: int, end: int) -> bytes:
        headers = {"If-Match": item.version, **range_header(start, end)}
        return self._content(f"/{self.name}/{quote(key, safe='/')}", [], headers, end - start)


def _parse_page(content: bytes) -> ElementTree.Element:
    """Parse a page of a listing. Raises SourceError for other documents. XML entities, which can expand without
    limit, are refused before parsing."""
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise SourceError("Azure Storage returned an invalid listing: it has a document type.")
    try:
        return ElementTree.fromstring(content.decode("utf-8-sig"))  # noqa: S314 without entities
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise SourceError("Azure Storage returned an invalid listing. Check the endpoint.") from error


def _listed_object(blob: ElementTree.Element) -> BucketObject | None:
    """Return an object; None for a folder, which accounts with a hierarchical namespace list too."""
    name = blob.find("Name")
    if name is None or blob.findtext("Properties/ResourceType") == "directory":
        return None
    key = name.text or ""
    etag = (blob.findtext("Properties/Etag") or "").strip('"')
    modified = parsedate_to_datetime(blob.findtext("Properties/Last-Modified") or "").astimezone(UTC)
    return BucketObject(
        unquote(key) if name.get("Encoded") == "true" else key,
        int(blob.findtext("Properties/Content-Length") or 0),
        f'"{etag}"',
        modified.isoformat(),
    )
