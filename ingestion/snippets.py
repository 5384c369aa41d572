"""What a backend engineer pastes to push a first event with a new key. Each works as it stands."""

from __future__ import annotations

import dataclasses
import json

from finops.lib import clock


@dataclasses.dataclass(frozen=True)
class Snippet:
    id: str
    title: str
    hint: str
    text: str


def snippets_for(url: str, key: str) -> list[Snippet]:
    """Snippets for the push endpoint at `url` and a plaintext key; each sends one event of now."""
    return [
        Snippet("curl", "curl", "Run in a terminal.", _curl(url, key)),
        Snippet("python", "Python", "Standard library only, Python 3.7 or later.", _python(url, key)),
        Snippet("node", "Node.js", "No package needed, Node 18 or later.", _node(url, key)),
    ]


def _event() -> dict[str, object]:
    return {
        "customer_id": "customer-1",
        "customer_name": "First customer",
        "metric": "api_requests",
        "unit": "requests",
        "quantity": 1,
        "dimensions": {"region": "eu"},
        "timestamp": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _curl(url: str, key: str) -> str:
    body = json.dumps({"events": [_event()]}, indent=2)
    return f"curl {url} \\\n  -H \"Authorization: Bearer {key}\" \\\n  -d '{body}'"


def _python(url: str, key: str) -> str:
    event = json.dumps(_event(), indent=4)
    return f"""import json, urllib.request

events = [{event}]  # up to 1,000 in one request
request = urllib.request.Request(
    "{url}",
    data=json.dumps({{"events": events}}).encode(),
    headers={{"Authorization": "Bearer {key}", "Content-Type": "application/json"}},
)
answer = json.load(urllib.request.urlopen(request, timeout=30))
print(answer)  # {{"accepted": 1, "rejected": 0, "errors": []}}
"""


def _node(url: str, key: str) -> str:
    event = json.dumps(_event(), indent=2)
    return f"""(async () => {{
  const events = [{event}]; // up to 1,000 in one request
  const answer = await fetch("{url}", {{
    method: "POST",
    headers: {{ Authorization: "Bearer {key}", "Content-Type": "application/json" }},
    body: JSON.stringify({{ events }}),
  }});
  console.log(await answer.json()); // {{ accepted: 1, rejected: 0, errors: [] }}
}})();
"""
