"""A sample of Stripe: answers of its API from lists of invoices and subscriptions that the demo writes on this server.

Everything except the network is the Stripe connector's: pages, months, revenue, gauges. It needs no key, so its hourly syncs never
fail. Not offered in the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from finops.connections.connector import SecretText, SourceError
from finops.connections.connectors.stripe import Stripe, StripeConfig
from finops.connections.transports.http import HttpApi
from finops.connections.transports.local import sample_folder

LISTS: Final = {"/v1/invoices": "invoices.json", "/v1/subscriptions": "subscriptions.json"}


class StripeSampleConfig(StripeConfig, frozen=True, kw_only=True):
    """No key."""

    api_key: Annotated[SecretText, msgspec.Meta(title="Restricted key", max_length=400)] = ""


class StripeSample(Stripe):
    name = "stripe_sample"
    title = "Stripe (replay)"
    description = "Usage: revenue, subscriptions and seats of the demo company's customers."
    order = 890
    is_offered = False
    Config = StripeSampleConfig

    def api(self, config: StripeConfig) -> HttpApi:
        return _Replay(
            connector=self.name,
            vendor="Stripe",
            base_url="https://stripe.invalid",
            key_fix="",
            scope_fix="",
            folder=replay_folder(),
        )


def replay_folder() -> Path:
    """Return the folder of the lists, which have the form of Stripe's API."""
    return sample_folder() / "stripe"


@dataclass(frozen=True, kw_only=True)
class _Replay(HttpApi):
    """Lists with the paging of Stripe: `created`, `limit` and `starting_after`."""

    folder: Path

    def _attempt(
        self,
        method: str,
        url: str,
        query: str,
        body: bytes | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> bytes:
        try:
            rows = msgspec.json.decode((self.folder / LISTS[urlsplit(url).path]).read_bytes())
        except (OSError, KeyError, msgspec.DecodeError) as error:
            raise SourceError("This server has no sample data of Stripe. Load the demo again.") from error
        params = {name: values[0] for name, values in parse_qs(query).items()}
        content = msgspec.json.encode(_page(rows, params))
        self.progress(len(content))
        return content


def _page(rows: list[dict[str, Any]], params: Mapping[str, str]) -> dict[str, Any]:
    first, end = (
        int(params.get(f"created[{name}]", default)) for name, default in (("gte", "0"), ("lt", str(1 << 62)))
    )
    matches = [each for each in rows if first <= each["created"] < end]
    after, limit = params.get("starting_after"), int(params.get("limit", "10"))
    start = next((place + 1 for place, each in enumerate(matches) if each["id"] == after), 0)
    page = matches[start : start + limit]
    return {"object": "list", "data": page, "has_more": start + limit < len(matches)}
