"""Snippets that send change events, complete with the key."""

from __future__ import annotations

import json
from typing import Any

from accounts.snippets import Snippet


def event_snippets(url: str, key: str) -> list[Snippet]:
    """Snippets for `/api/events` at `url` and a plaintext key. Each sends one event, the Kubernetes one an event of the cluster."""
    return [
        Snippet("curl", "curl", "Sends one deployment.", _curl(url, key)),
        Snippet(
            "github-actions",
            "GitHub Actions",
            "A step after the deployment. Save the key as the secret FINOPS_EVENT_KEY.",
            _github_actions(url),
        ),
        Snippet(
            "gitlab-ci",
            "GitLab CI",
            "A job after the deployment. Save the key as the masked variable FINOPS_EVENT_KEY.",
            _gitlab_ci(url),
        ),
        Snippet(
            "kubernetes",
            "Kubernetes",
            "A receiver of kubernetes-event-exporter. Save the key as the environment variable FINOPS_EVENT_KEY.",
            _kubernetes(url),
        ),
    ]


def _example() -> dict[str, Any]:
    return {
        "kind": "deployment",
        "title": "checkout v142 to production",
        "actor": "ana@example.com",
        "url": "https://github.com/example/checkout/releases/v142",
        "scope": {"service": "Amazon EC2", "tag:team": ["payments"]},
        "event_id": "checkout-v142",
    }


def _curl(url: str, key: str) -> str:
    body = json.dumps({"events": [_example()]}, indent=2)
    return (
        f'curl {url} \\\n  -H "Authorization: Bearer {key}" \\\n'
        f"  -H 'Content-Type: application/json' \\\n  -d '{body}'"
    )


def _github_actions(url: str) -> str:
    return f"""- name: Send deployment to FinOps
  env:
    FINOPS_EVENT_KEY: ${{{{ secrets.FINOPS_EVENT_KEY }}}}
  run: |
    jq -n '{{events: [{{
        kind: "deployment",
        title: "\\(env.GITHUB_REPOSITORY) \\(env.GITHUB_REF_NAME)",
        actor: env.GITHUB_ACTOR,
        url: "\\(env.GITHUB_SERVER_URL)/\\(env.GITHUB_REPOSITORY)/actions/runs/\\(env.GITHUB_RUN_ID)",
        event_id: "\\(env.GITHUB_RUN_ID)-\\(env.GITHUB_RUN_ATTEMPT)"
      }}]}}' |
    curl --fail-with-body {url} \\
      -H "Authorization: Bearer $FINOPS_EVENT_KEY" --data-binary @-
"""


def _gitlab_ci(url: str) -> str:
    return f"""finops-event:
  stage: .post
  image: alpine:3
  script:
    - apk add --no-cache curl jq
    - |
      jq -n '{{events: [{{
          kind: "deployment",
          title: "\\(env.CI_PROJECT_PATH) \\(env.CI_COMMIT_SHORT_SHA)",
          actor: env.GITLAB_USER_LOGIN,
          url: env.CI_PIPELINE_URL,
          event_id: env.CI_PIPELINE_ID
        }}]}}' |
      curl --fail-with-body {url} -H "Authorization: Bearer $FINOPS_EVENT_KEY" --data-binary @-
"""


def _kubernetes(url: str) -> str:
    return f"""logLevel: error
route:
  routes:
    - match:
        - kind: "Deployment|Node|HorizontalPodAutoscaler"
          receiver: finops
receivers:
  - name: finops
    webhook:
      endpoint: {url}
      headers:
        Authorization: "Bearer ${{FINOPS_EVENT_KEY}}"
      layout:
        events:
          - kind: change
            title: "{{{{ .InvolvedObject.Kind }}}} {{{{ .InvolvedObject.Namespace }}}}/{{{{ .InvolvedObject.Name }}}}: {{{{ .Reason }}}}"
            actor: "{{{{ .Source.Component }}}}"
            event_id: "{{{{ .UID }}}}-{{{{ .Count }}}}"
"""
