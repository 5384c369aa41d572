"""Azure Blob Storage on this machine: Azurite, Microsoft's own, with clients that sign as its documents say.

Source: learn.microsoft.com/rest/api/storageservices, Create an account SAS, Create a service SAS.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from tests.conformance.node import MODULES, NODE
from tests.postgres import RUN_DIR
from tests.servers import free_port
from tests.waiting import wait_until

ACCOUNT = "acmebilling"
KEY = base64.b64encode(b"a key of a storage account").decode()
EXPIRY = "2099-01-01T00:00:00Z"
VERSION = "2021-12-02"
SCRIPT = MODULES / "azurite" / "dist" / "src" / "blob" / "main.js"


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """The URL of its one account. In memory; no telemetry."""
    port = free_port()
    arguments = ["--blobPort", str(port), "--inMemoryPersistence", "--silent", "--disableTelemetry"]
    keys = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}", RUN_DIR: os.environ[RUN_DIR]}
    environment = {**keys, "PATH": os.defpath, "HOME": str(folder)}
    process = subprocess.Popen([str(NODE), str(SCRIPT), *arguments], cwd=folder, env=environment)
    try:
        wait_until(lambda: _answers(port), "Azurite did not start")
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        return bool(httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code)
    except httpx.TransportError:
        return False


@dataclass
class AzureContainer:
    """A container of Azurite, and a client to look behind the connector's back."""

    url: str
    name: str

    def create(self) -> None:
        self._put("", params={"restype": "container"})

    def put(self, key: str, content: bytes = b"content") -> None:
        self._put(f"/{quote(key)}", content, {"x-ms-blob-type": "BlockBlob"})

    def delete(self, key: str) -> None:
        url = f"{self.url}/{self.name}/{quote(key)}?{_account_sas()}"
        httpx.delete(url, headers={"x-ms-version": VERSION}, trust_env=False).raise_for_status()

    def allow(self, permissions: str) -> None:
        """What a SAS of `sas_url("policy")` may do from now on; nothing at all without permissions."""
        policy = (
            f"<AccessPolicy><Expiry>{EXPIRY}</Expiry><Permission>{permissions}</Permission></AccessPolicy>"
        )
        entry = f"<SignedIdentifier><Id>policy</Id>{policy}</SignedIdentifier>" if permissions else ""
        body = f"<?xml version='1.0'?><SignedIdentifiers>{entry}</SignedIdentifiers>".encode()
        # Not by a SAS, which may not do this.
        moment = format_datetime(datetime.now(UTC), usegmt=True)
        resource = f"/{ACCOUNT}/{ACCOUNT}/{self.name}\ncomp:acl\nrestype:container"
        headers = [f"x-ms-date:{moment}", f"x-ms-version:{VERSION}", resource]
        signature = _sign(["PUT", "", "", str(len(body)), *[""] * 8, *headers])
        httpx.put(
            f"{self.url}/{self.name}?restype=container&comp=acl",
            content=body,
            headers={
                "x-ms-date": moment,
                "x-ms-version": VERSION,
                "Authorization": f"SharedKey {ACCOUNT}:{signature}",
            },
            trust_env=False,
        ).raise_for_status()

    def sas_url(self, policy: str = "", permissions: str = "rl", expiry: str = EXPIRY) -> str:
        """Of the container, as its page in the portal gives it."""
        parameters = {} if policy else {"sp": permissions, "se": expiry}
        fields = {**parameters, "si": policy, "sv": VERSION, "sr": "c"}
        canonical = f"/blob/{ACCOUNT}/{self.name}"
        signed = [fields.get("sp", ""), "", fields.get("se", ""), canonical, policy, "", "", VERSION, "c"]
        query = {name: text for name, text in fields.items() if text}
        return f"{self.url}/{self.name}?{urlencode({**query, 'sig': _sign([*signed, *[''] * 7])})}"

    def _put(
        self,
        path: str,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> None:
        url = f"{self.url}/{self.name}{path}?{urlencode(params or {})}&{_account_sas()}"
        all_headers = {"x-ms-version": VERSION, **(headers or {})}
        httpx.put(url, content=content, headers=all_headers, trust_env=False).raise_for_status()


def _account_sas() -> str:
    fields = {"sp": "rwdlac", "ss": "b", "srt": "sco", "se": EXPIRY, "sv": VERSION}
    signed = [ACCOUNT, "rwdlac", "b", "sco", "", EXPIRY, "", "", VERSION, "", ""]
    return urlencode({**fields, "sig": _sign(signed)})


def _sign(fields: Iterable[str]) -> str:
    digest = hmac.new(base64.b64decode(KEY), "\n".join(fields).encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@dataclass
class AzureExport:
    """An export, laid out as Azure does it."""

    container: AzureContainer
    name: str = "focus"
    kind: str = "FocusCost"
    path: str = "exports"

    def folder(self, month_range: str, run: str, time: str = "") -> str:
        parts = [self.path, month_range, self.name, time, f"00000000-0000-0000-0000-{run:0>12}"]
        return "/".join(part for part in parts if part)

    def deliver(self, month_range: str, files: Mapping[str, bytes], run: str = "1", time: str = "") -> None:
        """As Azure does: all files, then the manifest."""
        folder = self.folder(month_range, run, time)
        for name, data in files.items():
            self.container.put(f"{folder}/{name}", data)
        self.put_manifest(month_range, [f"{folder}/{name}" for name in files], run, time)

    def put_manifest(
        self, month_range: str, blobs: Iterable[str], run: str = "1", time: str = "", **more: Any
    ) -> str:
        names = list(blobs)
        manifest = {
            "manifestVersion": "2024-04-01",
            "blobCount": len(names),
            "exportConfig": {"exportName": self.name, "type": self.kind, "timeFrame": "MonthToDate"},
            "deliveryConfig": {"partitionData": True, "dataOverwriteBehavior": "CreateNewReport"},
            "blobs": [{"blobName": name, "byteCount": 1} for name in names],
            **more,
        }
        key = f"{self.folder(month_range, run, time)}/manifest.json"
        self.container.put(key, json.dumps(manifest).encode())
        return key
