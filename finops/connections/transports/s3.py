"""Buckets of S3 and compatible services: credentials, and the guard of endpoints.

An endpoint that a person enters is checked when it is opened, and each address again when it is connected to, in aiohttp's socket
factory: so neither changed DNS nor a redirect leads elsewhere, and no redirect is followed. AWS's own hosts need no guard.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import fsspec

from finops.connections.connector import AccessError, SourceError, SourceUnavailable
from finops.connections.transports.aws_errors import PrivateAddress, explain_aws
from finops.connections.transports.bucket import (
    CHUNK_BYTES,
    MAX_PAGES,
    BucketObject,
    StorageBucket,
    safe_key,
)
from finops.lib import time_limit
from finops.lib.outbound.addresses import is_allowed, is_public
from finops.lib.outbound.endpoints import DeliveryTimeout, resolve_endpoint

CONNECT_SECONDS: Final = 10
READ_SECONDS: Final = 60
PAGE_SECONDS: Final = 120
"""Time limit in seconds of a page of a listing, to its last byte."""
PART_BYTES: Final = CHUNK_BYTES
"""Bytes of a part of an upload: with 10,000 parts the largest file is 160 GB."""
PART_SECONDS: Final = 600
CLOSE_SECONDS: Final = 5
ATTEMPTS: Final = 3
"""Attempts of a request, with botocore's back-off."""
PAGE: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class S3Credentials:
    """Credentials. `ambient`: the identity of this server instead of a key. `principal` is the name in messages.
    Those of a session have an `expiry`, and `renew`, which signs in again."""

    key: str | None = None
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ambient: bool = False
    principal: str = "the access key"
    expiry: datetime | None = None
    renew: Callable[[], S3Credentials] | None = field(default=None, repr=False)


def open_s3(
    bucket: str,
    prefix: str,
    credentials: S3Credentials,
    *,
    region: str = "",
    endpoint: str = "",
    virtual_host: bool = False,
) -> S3Bucket:
    """Open a bucket, without a request. Raises UrlRefusal and SourceUnavailable for an endpoint that requests must not be sent to,
    and AccessError without credentials. `virtual_host` for services with the bucket in the host name only, such as Alibaba's."""
    import s3fs

    if not credentials.ambient and not (credentials.key and credentials.secret):
        raise AccessError("Enter an access key with its secret, or the ARN of a role.")
    filesystem = s3fs.S3FileSystem(
        anon=False,
        **_sign_in(credentials),
        endpoint_url=endpoint or None,
        client_kwargs={"region_name": region or "us-east-1"},
        config_kwargs=_client_config(endpoint, virtual_host=virtual_host),
        use_listings_cache=False,
        skip_instance_cache=True,  # otherwise fsspec caches the secrets until the process ends
    )
    filesystem.retries = (
        1  # botocore retries; with five times as many a server that is down would take a minute
    )
    return S3Bucket(filesystem, bucket, prefix, credentials)


def _sign_in(credentials: S3Credentials) -> dict[str, Any]:
    """Return s3fs's arguments. A session is renewed before it expires: reading a month may take longer than a session."""
    if credentials.renew:
        from finops.connections.transports.s3_session import renewable_session

        return {"session": renewable_session(credentials)}
    return {"key": credentials.key, "secret": credentials.secret, "token": credentials.token}


def _client_config(endpoint: str, *, virtual_host: bool) -> dict[str, Any]:
    from finops.connections.transports.s3_session import EndpointSession, NoRedirectSession

    config: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "retries": {"max_attempts": ATTEMPTS, "mode": "standard"},
        "s3": {"addressing_style": "virtual" if virtual_host else "path" if endpoint else "auto"},
        # S3-compatible storage often rejects the trailing checksums that botocore sends by default.
        "request_checksum_calculation": "when_required" if endpoint else "when_supported",
        # Otherwise requests for a customer's bucket would go to AWS_ENDPOINT_URL, an operator's setting for the lake.
        "ignore_configured_endpoint_urls": True,
        "http_session_cls": EndpointSession if endpoint else NoRedirectSession,
    }
    if endpoint:
        check_endpoint(endpoint)
        config["connector_args"] = {
            "socket_factory": guarded_socket(secure=endpoint.lower().startswith("https://"))
        }
        config["proxies"] = {}  # a proxy would resolve the name again
    return config


def check_endpoint(endpoint: str) -> None:
    """Check an endpoint. Raises UrlRefusal for an address that requests must not be sent to, SourceUnavailable for a
    name without DNS entry."""
    try:
        resolve_endpoint(endpoint, "endpoint", time.monotonic() + CONNECT_SECONDS)
    except DeliveryTimeout as error:
        raise SourceUnavailable(f"endpoint: {error} Check the host's name.", field="endpoint") from error


def guarded_socket(*, secure: bool) -> Callable[[Any], socket.socket]:
    """aiohttp's socket factory, called with each address just before it is connected to. Raises PrivateAddress."""

    def make(address_info: Any) -> socket.socket:
        family, kind, protocol, _, address = address_info
        if not is_allowed(address[0]) and not (secure and is_public(address[0])):
            raise PrivateAddress(f"{address[0]} is not sent to")
        return socket.socket(family, kind, protocol)

    return make


class S3Bucket(StorageBucket):
    """A prefix of an S3-compatible bucket."""

    def __init__(self, filesystem: Any, bucket: str, prefix: str, credentials: S3Credentials) -> None:
        super().__init__(filesystem, bucket, prefix, scheme="s3")
        self._principal = credentials.principal

    def close(self) -> None:
        creator = getattr(self._filesystem, "_s3creator", None)
        if creator is not None:
            with suppress(Exception):  # the connection is closed even if closing it fails
                fsspec.asyn.sync(self._filesystem.loop, _close, creator, timeout=CLOSE_SECONDS)

    def _version(self, info: dict[str, Any]) -> str:
        return str(info.get("ETag") or info.get("LastModified") or "")

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        return map(self._objects_of, self._answers(prefix))

    def _objects_of(self, page: Mapping[str, Any]) -> list[BucketObject]:
        return [
            BucketObject(
                each["Key"], int(each["Size"]), self._version(each), str(each.get("LastModified", ""))
            )
            for each in page.get("Contents", ())
        ]

    def _answers(self, prefix: str, **first: str) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a listing. `first` are arguments of its first request: S3 keeps them in its token."""
        place = first
        while True:
            page = fsspec.asyn.sync(
                self._filesystem.loop,
                self._filesystem._call_s3,
                "list_objects_v2",
                Bucket=self.name,
                Prefix=prefix,
                MaxKeys=PAGE,
                **place,
                timeout=time_limit.timeout(PAGE_SECONDS),
            )
            yield page
            if not page.get("IsTruncated"):
                return
            place = {**first, "ContinuationToken": page["NextContinuationToken"]}

    def folders(self, below: str = "") -> list[str]:
        """Return the names of the folders directly below a folder, sorted. Raises SourceError above MAX_PAGES pages."""
        start = f"{self.prefix}{below}"
        names: set[str] = set()
        with self._errors("list", below):
            for number, page in enumerate(self._answers(start, Delimiter="/")):
                time_limit.check()
                if number >= MAX_PAGES:
                    raise SourceError(f"{self._shown(below)} has more folders than are read.")
                paths = (str(each["Prefix"]) for each in page.get("CommonPrefixes", ()))
                names.update(each[len(start) :].rstrip("/") for each in paths if each.startswith(start))
        return sorted(names - {""})

    def objects_after(self, below: str, after: str) -> Iterator[BucketObject]:
        """Yield the objects below a folder whose keys sort after `after`, in the order of their keys, a page at a time. Both are
        relative to the prefix."""
        start = f"{self.prefix}{below}"
        pages = self._answers(start, StartAfter=f"{self.prefix}{after}")
        while True:
            with self._errors("list", below):
                time_limit.check()
                page = next(pages, None)
                listed = [self._relative(each, start) for each in self._objects_of(page or {})]
            if page is None:
                return
            yield from listed

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        """Yield blocks of an object. Each request has the listed ETag (If-Match), so no version is compared here."""
        key = f"{self.prefix}{safe_key(item.key)}"
        yield (
            self._range(key, start, min(start + CHUNK_BYTES, item.bytes), item.version)
            for start in range(0, item.bytes, CHUNK_BYTES)
        )
        if not item.bytes:
            self._call("head_object", Bucket=self.name, Key=key, **_if_match(item.version))

    def _range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Return a range of bytes. Retried if the connection breaks within a response, so that a large month does not
        start again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return bytes(self._within_limit(self._get, key, start, end, version))
            except ConnectionError:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def _get(self, key: str, start: int, end: int, version: str) -> bytes:
        from aiohttp import ClientError
        from botocore.exceptions import HTTPClientError

        answer = await self._filesystem._call_s3(
            "get_object",
            Bucket=self.name,
            Key=key,
            Range=f"bytes={start}-{end - 1}",
            **_if_match(version),
        )
        data = bytearray()
        try:
            # One more byte detects a response longer than requested, without reading all of it.
            while len(data) <= end - start and (
                part := await answer["Body"].read(end - start + 1 - len(data))
            ):
                data += part
        except (ClientError, HTTPClientError, TimeoutError) as error:
            raise ConnectionError("the connection broke") from error
        finally:
            answer["Body"].close()
        if len(data) < end - start:
            raise ConnectionError("the response ended early")
        return bytes(data)

    def _write(self, key: str, file: Path) -> None:
        """Write an object, in parts if the file is larger than one part."""
        size = file.stat().st_size
        place = {"Bucket": self.name, "Key": key}
        with file.open("rb") as content:
            if size <= PART_BYTES:
                self._call("put_object", **place, Body=content.read())
                return
            upload = {**place, "UploadId": self._call("create_multipart_upload", **place)["UploadId"]}
            try:
                parts = [
                    self._part(upload, number, content) for number in range(1, -(-size // PART_BYTES) + 1)
                ]
                self._call("complete_multipart_upload", **upload, MultipartUpload={"Parts": parts})
            except BaseException:
                with suppress(Exception):  # the bucket's lifecycle rule removes the remaining parts
                    self._call("abort_multipart_upload", **upload)
                raise

    def _part(self, upload: dict[str, Any], number: int, content: Any) -> dict[str, Any]:
        time_limit.check()
        answer = self._call("upload_part", **upload, PartNumber=number, Body=content.read(PART_BYTES))
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def _remove(self, key: str) -> None:
        self._call("delete_object", Bucket=self.name, Key=key)

    def _call(self, method: str, **arguments: Any) -> Any:
        return self._within_limit(self._filesystem._call_s3, method, **arguments)

    def _within_limit(self, request: Callable[..., Any], *positional: Any, **named: Any) -> Any:
        seconds = time_limit.timeout(PART_SECONDS)
        return fsspec.asyn.sync(self._filesystem.loop, request, *positional, **named, timeout=seconds)

    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        resource = f"arn:aws:s3:::{self.name}" + ("" if action == "list" else f"/{self.prefix}{key}")
        permission = _PERMISSIONS[action]
        return explain_aws(
            error, permission=permission, resource=resource, principal=self._principal, where=self.url
        )


_PERMISSIONS: Final = {
    "list": "s3:ListBucket",
    "read": "s3:GetObject",
    "write": "s3:PutObject",
    "delete": "s3:DeleteObject",
}


async def _close(creator: Any) -> None:
    await creator.__aexit__(None, None, None)
    await asyncio.sleep(0)  # sockets are closed in the loop's next iteration


def _if_match(version: str) -> dict[str, str]:
    """Return the If-Match header; none for a server whose listing has no ETags: then only the size is compared."""
    return {"IfMatch": version} if version.startswith('"') else {}
