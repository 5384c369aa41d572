"""OCI Object Storage: lists, reads and writes with its REST API; requests are signed with a user's API key.

Source: docs.oracle.com/iaas/Content/API/Concepts/signingrequests.htm and its Object Storage API, ListObjects,
GetObject, PutObject and DeleteObject.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import format_datetime
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from finops.connections.connector import AccessError, MonthConflict, SourceError
from finops.connections.transports.bucket import BucketObject
from finops.connections.transports.http import MAX_PAGE_BYTES, HttpApi, path_part
from finops.connections.transports.rest_bucket import OCTETS, RestBucket, range_header
from finops.lib import clock
from finops.lib.errors import INVALID_JSON
from finops.lib.outbound import ResponseStream
from finops.lib.sentences import truncate

CONNECTOR: Final = "oci_storage"
"""Its name in CONNECTOR_BASE_URLS."""
PAGE: Final = 1_000
_SIGNED: Final = "(request-target) host date"

T = TypeVar("T")


@dataclass(frozen=True)
class OciKey:
    """`key_id` is `TENANCY/USER/FINGERPRINT`."""

    key_id: str
    private_key: RSAPrivateKey = field(repr=False)

    def headers(self, target: str, host: str, method: str = "get") -> dict[str, str]:
        """Return the signature headers of a request; `target` is path and query as sent. Object Storage requires no
        signature of a PUT's body."""
        date = format_datetime(clock.now(), usegmt=True)
        text = f"(request-target): {method} {target}\nhost: {host}\ndate: {date}"
        signature = base64.b64encode(self.private_key.sign(text.encode(), PKCS1v15(), SHA256())).decode()
        return {
            "Date": date,
            "Authorization": f'Signature version="1",keyId="{self.key_id}",algorithm="rsa-sha256",headers="{_SIGNED}",'
            f'signature="{signature}"',
        }


class _OciObject(msgspec.Struct, rename="camel"):
    name: str
    etag: str = ""
    size: int = 0
    time_modified: str = ""


class _OciPage(msgspec.Struct, rename="camel"):
    objects: list[_OciObject]
    next_start_with: str | None = None


@dataclass(frozen=True, kw_only=True)
class OciApi(HttpApi):
    """The REST API. Raises MonthConflict for an object that changed or was deleted. `denial` explains what is missing
    if the bucket is not visible."""

    key: OciKey
    denial: str
    is_read: bool = False

    def get_content(
        self,
        path: str,
        params: Sequence[tuple[str, str | int]] = (),
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_PAGE_BYTES,
    ) -> bytes:
        """Return a body with the headers of the signature. Raises the errors of `content`."""
        query = urlencode(params, quote_via=quote)
        signature = self._signature("get", f"{path}?{query}" if query else path)
        return self.content(path, params, {**signature, **(headers or {})}, limit)

    def send_content(self, method: str, path: str, file: Path | None = None) -> None:
        """Send a file with the headers of the signature. Raises the errors of `send`."""
        self.send(method, path, (), {**self._signature(method.lower(), path), "Content-Type": OCTETS}, file)

    def _signature(self, method: str, target: str) -> dict[str, str]:
        return self.key.headers(target, urlsplit(self._url("")).netloc, method)

    def _error_of(self, response: ResponseStream) -> SourceError:
        if response.status in (412, 416) or (response.status == 404 and self.is_read):
            raise MonthConflict("A report changed after it was listed.")
        if response.status in (403, 404):
            return AccessError(self.denial)
        return super()._error_of(response)


class OciBucket(RestBucket):
    """A prefix of a bucket in a namespace. Raises SourceError for an invalid private key."""

    def __init__(
        self, base_url: str, namespace: str, bucket: str, prefix: str, *, key: OciKey, denial: str
    ) -> None:
        super().__init__(bucket, prefix, scheme="oci")
        self.url = f"oci://{bucket}@{namespace}/{self.prefix}".rstrip("/")
        self._path = f"/n/{path_part(namespace)}/b/{path_part(bucket)}/o"
        self._base_url, self._key, self._denial = base_url, key, denial

    def _api(self, *, is_read: bool) -> OciApi:
        return OciApi(
            connector=CONNECTOR,
            vendor="OCI Object Storage",
            base_url=self._base_url,
            key_fix="Check tenancy, user and fingerprint, or add a new API key to the user and enter it.",
            scope_fix=self._denial,
            key=self._key,
            denial=self._denial,
            is_read=is_read,
        )

    def _write(self, key: str, file: Path) -> None:
        self._api(is_read=False).send_content("PUT", f"{self._path}/{path_part(key)}", file)

    def _remove(self, key: str) -> None:
        self._api(is_read=True).send_content("DELETE", f"{self._path}/{path_part(key)}")

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        api = self._api(is_read=False)

        def page_of(start: str) -> _OciPage:
            params: list[tuple[str, str | int]] = [("fields", "name,size,etag,timeModified"), ("limit", PAGE)]
            params += [(name, text) for name, text in (("prefix", prefix), ("start", start)) if text]
            return _decode(api.get_content(self._path, params))

        for page in api.pages(page_of, lambda page: page.next_start_with or ""):
            yield [BucketObject(each.name, each.size, each.etag, each.time_modified) for each in page.objects]

    def _read_range(self, item: BucketObject, key: str, start: int, end: int) -> bytes:
        headers = {"If-Match": item.version, **range_header(start, end)}
        return self._api(is_read=True).get_content(f"{self._path}/{path_part(key)}", (), headers, end - start)


def _decode(content: bytes) -> _OciPage:
    try:
        return msgspec.json.decode(content, type=_OciPage)
    except INVALID_JSON as error:
        raise SourceError(
            f"OCI Object Storage returned an invalid listing: {truncate(str(error), 200)}."
        ) from error
