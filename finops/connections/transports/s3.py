"""Buckets of S3 and compatible services: credentials, the guard of endpoints, and explanations of errors.

An endpoint that a person enters is checked when it is opened, and each address again when it is connected to, in
aiohttp's socket factory: so neither changed DNS nor a redirect leads elsewhere, and no redirect is followed. AWS's
own hosts need no guard.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import fsspec

from finops.connections.connector import AccessError, MonthConflict, SourceError, SourceUnavailable
from finops.connections.transports.bucket import CHUNK_BYTES, BucketObject, StorageBucket, causes, safe_key
from finops.lib import time_limit
from finops.lib.outbound.addresses import is_allowed, is_public
from finops.lib.outbound.endpoints import DeliveryTimeout, resolve_endpoint
from finops.lib.sentences import truncate

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


class PrivateAddress(OSError):
    """A host name resolved to an address that requests must not be sent to."""


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
    """Open a bucket, without a request. Raises UrlRefusal and SourceUnavailable for an endpoint that requests must
    not be sent to, and AccessError without credentials. `virtual_host` for services with the bucket in the host name
    only, such as Alibaba's."""
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
        skip_instance_cache=True,  # else fsspec keeps the secrets for as long as the process lives
    )
    filesystem.retries = (
        1  # botocore has tried again; five times that would be a minute for a server that is down
    )
    return S3Bucket(filesystem, bucket, prefix, credentials)


def _sign_in(credentials: S3Credentials) -> dict[str, Any]:
    """Return s3fs's arguments. A session is renewed before it expires: reading a month may take longer than a
    session."""
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
        # Storage that speaks as S3 does often takes no checksums behind a body, which botocore sends by itself.
        "request_checksum_calculation": "when_required" if endpoint else "when_supported",
        # Else AWS_ENDPOINT_URL, with which an operator names the lake's own server, would be asked for a customer's bucket.
        "ignore_configured_endpoint_urls": True,
        "http_session_cls": EndpointSession if endpoint else NoRedirectSession,
    }
    if endpoint:
        check_endpoint(endpoint)
        config["connector_args"] = {
            "socket_factory": guarded_socket(secure=endpoint.lower().startswith("https://"))
        }
        config["proxies"] = {}  # a proxy would look the name up again
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
            with suppress(Exception):  # a connection that does not close politely is closed all the same
                fsspec.asyn.sync(self._filesystem.loop, _close, creator, timeout=CLOSE_SECONDS)

    def _version(self, info: dict[str, Any]) -> str:
        return str(info.get("ETag") or info.get("LastModified") or "")

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        place: dict[str, str] = {}
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
            yield [
                BucketObject(
                    each["Key"], int(each["Size"]), self._version(each), str(each.get("LastModified", ""))
                )
                for each in page.get("Contents", ())
            ]
            if not page.get("IsTruncated"):
                return
            place = {"ContinuationToken": page["NextContinuationToken"]}

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        """Yield blocks of an object. Each request has the listed ETag (If-Match), so no version is compared here."""
        key = f"{self.prefix}{safe_key(item.key)}"
        yield (
            self._range(key, start, min(start + CHUNK_BYTES, item.bytes), item.version)
            for start in range(0, item.bytes, CHUNK_BYTES)
        )
        if not item.bytes:
            self._filesystem.call_s3("head_object", Bucket=self.name, Key=key, **_if_match(item.version))

    def _range(self, key: str, start: int, end: int, version: str) -> bytes:
        """Return a range of bytes. Retried if the connection breaks within a response, so that a large month does not
        start again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return bytes(fsspec.asyn.sync(self._filesystem.loop, self._get, key, start, end, version))
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
            # One byte more shows an answer that is longer than what was asked for, without reading all of it.
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
                with suppress(Exception):  # what is left of it goes by the bucket's own rule
                    self._call("abort_multipart_upload", **upload)
                raise

    def _part(self, upload: dict[str, Any], number: int, content: Any) -> dict[str, Any]:
        time_limit.check()
        answer = self._call("upload_part", **upload, PartNumber=number, Body=content.read(PART_BYTES))
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def _remove(self, key: str) -> None:
        self._call("delete_object", Bucket=self.name, Key=key)

    def _call(self, method: str, **arguments: Any) -> Any:
        call, loop = self._filesystem._call_s3, self._filesystem.loop
        seconds = time_limit.timeout(PART_SECONDS)
        return fsspec.asyn.sync(loop, call, method, **arguments, timeout=seconds)

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
    await asyncio.sleep(0)  # sockets are closed in the loop's next turn


def _if_match(version: str) -> dict[str, str]:
    """Return the If-Match header; none for a server whose listing has no ETags: then only the size is compared."""
    return {"IfMatch": version} if version.startswith('"') else {}


_CONFLICT: Final = {"PreconditionFailed", "412", "NoSuchKey", "InvalidRange", "416"}
_DENIED: Final = {
    "AccessDenied",
    "AccessDeniedException",
    "403",
    "AllAccessDisabled",
    "AccountProblem",
    "KMS.DisabledException",
}
_BAD_KEY: Final = {
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidToken",
    "AuthFailure",
}
_EXPIRED: Final = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
_BUSY: Final = {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests"}
_NO_BUCKET: Final = {"NoSuchBucket", "404", "InvalidBucketName"}
_OTHER_REGION: Final = {
    "PermanentRedirect",
    "301",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
}


def explain_aws(
    error: Exception, *, permission: str, resource: str, principal: str, where: str
) -> SourceError:
    """Explain an error of botocore, aiobotocore or aiohttp. Raises MonthConflict for an object that changed."""
    from botocore.exceptions import ClientError, NoCredentialsError, PartialCredentialsError

    from finops.connections.transports.s3_session import EndpointRedirect

    chain = list(causes(error))
    if any(isinstance(each, EndpointRedirect) for each in chain):
        return SourceError(f"{where}: the endpoint redirects. Redirects are not followed.", field="endpoint")
    if any(isinstance(each, PrivateAddress) for each in chain):
        return SourceError(
            f"{where}: the endpoint is in a private or reserved network.",
            field="endpoint",
        )
    if any(isinstance(each, NoCredentialsError | PartialCredentialsError) for each in chain):
        return AccessError(
            "This server has no AWS identity. Enter access keys, or ask the operator for a role."
        )
    answered = next((each for each in chain if isinstance(each, ClientError)), None)
    if answered is None:
        return SourceUnavailable(
            f"{where} could not be reached, or the connection broke: {type(error).__name__}."
        )
    return _explain_answer(
        answered.response, permission=permission, resource=resource, principal=principal, where=where
    )


def _explain_answer(
    response: Any, *, permission: str, resource: str, principal: str, where: str
) -> SourceError:
    code = str(response.get("Error", {}).get("Code", ""))
    meta = response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode") or 0)
    if code in _CONFLICT or status == 412:
        raise MonthConflict(f"{resource} changed after it was listed.")
    if code in _BUSY or status == 429 or status >= 500:
        busy = SourceUnavailable(f"{where} is overloaded or down: {truncate(code, 60) or status}.")
        busy.retry_after = _seconds(meta.get("HTTPHeaders", {}).get("retry-after"))
        return busy
    if code in _EXPIRED | _BAD_KEY:
        return _explain_key(code, principal, where)
    if code in _NO_BUCKET:
        return SourceError(
            f"{where}: the bucket does not exist. Check its name, region and endpoint.", field="bucket"
        )
    if code in _OTHER_REGION or status in (301, 302, 303, 307, 308):
        return SourceError(
            f"{where}: the bucket is in another region. Enter that region.",
            field="region",
        )
    if code == "RequestTimeTooSkewed":
        return SourceError("This server's clock differs from AWS by more than 15 minutes. Correct it.")
    if code in _DENIED or status in (401, 403):
        return AccessError(
            f"{principal[:1].upper()}{principal[1:]} is not allowed {permission} on {resource}."
        )
    return SourceError(f"{where} refused {permission} on {resource}: {truncate(code, 60) or status}.")


def _explain_key(code: str, principal: str, where: str) -> SourceError:
    if code not in _EXPIRED:
        return AccessError(
            f"{where} rejected {principal}: unknown, or with a wrong secret ({code}). Enter both again."
        )
    if principal.startswith("the role"):
        return SourceUnavailable(f"The session of {principal} expired. The next sync starts a new one.")
    return AccessError(f"The credentials of {principal} have expired. Enter new ones.")


def _seconds(text: str | None) -> float | None:
    """Return Retry-After in seconds; a date is ignored in favor of our own back-off."""
    try:
        return min(max(float(text or ""), 0.0), 86_400.0)
    except ValueError:
        return None
