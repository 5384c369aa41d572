"""Google Cloud Storage: lists, reads and writes with its JSON API, and explains its errors.

Source: cloud.google.com/storage/docs/json_api/v1/objects, list, get, insert and delete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from finops.connections.connector import AccessError, MonthConflict, SourceError
from finops.connections.transports.bucket import BucketObject
from finops.connections.transports.http import HttpApi, path_part
from finops.connections.transports.rest_bucket import OCTETS, RestBucket, RestCredential, range_header
from finops.lib.outbound import ResponseStream

API_URL: Final = "https://storage.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_only"
WRITE_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"
ROLE: Final = "roles/storage.objectViewer"
WRITE_ROLE: Final = "roles/storage.objectUser"
_LIST: Final = "storage.objects.list"
_GET: Final = "storage.objects.get"
_CREATE: Final = "storage.objects.create"
_DELETE: Final = "storage.objects.delete"
CONNECTOR: Final = "google_storage"
"""Its name in CONNECTOR_BASE_URLS."""
PAGE: Final = 1_000

T = TypeVar("T")


class _Item(msgspec.Struct):
    name: str
    generation: str
    size: str = "0"
    updated: str = ""


class _ListPage(msgspec.Struct, rename="camel"):
    items: list[_Item] = []
    next_page_token: str = ""


@dataclass(frozen=True, kw_only=True)
class GcsApi(HttpApi):
    """The JSON API. Raises MonthConflict for an object that changed or was deleted."""

    bucket: str = ""
    permission: str = ""
    principal: str = field(default="", repr=False)

    def _error_of(self, response: ResponseStream) -> SourceError:
        names_object = self.permission in (_GET, _DELETE)
        if response.status in (412, 416) or (response.status == 404 and names_object):
            raise MonthConflict(f"An object of gs://{self.bucket} changed after it was listed.")
        if response.status == 404:
            return SourceError(f"There is no bucket gs://{self.bucket}. Check its name.", field="bucket")
        if response.status == 403:
            return AccessError(
                f"{self.principal[:1].upper()}{self.principal[1:]} is not allowed {self.permission} on gs://{self.bucket}. Grant "
                f"it {_role_of(self.permission)} on the bucket."
            )
        return super()._error_of(response)


def _role_of(permission: str) -> str:
    return WRITE_ROLE if permission in (_CREATE, _DELETE) else ROLE


class GcsBucket(RestBucket):
    """A prefix of a bucket."""

    def __init__(self, bucket: str, prefix: str, credential: RestCredential) -> None:
        super().__init__(bucket, prefix, scheme="gs")
        self._credential = credential
        self._path = f"/storage/v1/b/{path_part(bucket)}/o"

    def _api(self, permission: str) -> GcsApi:
        return GcsApi(
            connector=CONNECTOR,
            vendor="Google Cloud Storage",
            base_url=API_URL,
            key_fix="Enter a new key of the service account.",
            scope_fix=f"Grant it {_role_of(permission)}.",
            bucket=self.name,
            permission=permission,
            principal=self._credential.principal,
            headers=self._credential.headers(),
        )

    def _write(self, key: str, file: Path) -> None:
        """Write an object in one request; it exists once all of it has arrived. Replacing an object needs
        storage.objects.delete too."""
        params = [("uploadType", "media"), ("name", key)]
        self._api(_CREATE).send("POST", f"/upload{self._path}", params, {"Content-Type": OCTETS}, file)

    def _remove(self, key: str) -> None:
        self._api(_DELETE).send("DELETE", f"{self._path}/{path_part(key)}")

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        fields = "items(name,size,generation,updated),nextPageToken"

        def page_of(token: str) -> _ListPage:
            params: list[tuple[str, str | int]] = [("fields", fields), ("maxResults", PAGE)]
            params += [(name, text) for name, text in (("prefix", prefix), ("pageToken", token)) if text]
            return self._api(_LIST).get(self._path, params, _ListPage)

        for page in self._api(_LIST).pages(page_of, lambda page: page.next_page_token):
            yield [
                BucketObject(each.name, int(each.size), each.generation, each.updated) for each in page.items
            ]

    def _read_range(self, item: BucketObject, key: str, start: int, end: int) -> bytes:
        params: list[tuple[str, str | int]] = [("alt", "media"), ("generation", item.version)]
        api = self._api(_GET)
        return api.content(
            f"{self._path}/{path_part(key)}",
            [*params, ("ifGenerationMatch", item.version)],
            range_header(start, end),
            end - start,
        )
