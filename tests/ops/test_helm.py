"""The Helm chart: linted and rendered by helm, each object after Kubernetes' own schema, and what its pods promise."""

from __future__ import annotations

import os
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from finops.worker.programs import worker_commands
from finops.worker.queues import QUEUES
from ops import helm_program
from tests.ops.variables import ROOT, unknown

CHART = ROOT / "ops" / "helm" / "finops"
NEEDED = {
    "publicUrl": "https://finops.example.com",
    "lakeUrl": "s3://finops/lake",
    "existingSecret": "finops-env",
}
EVERYTHING: dict[str, Any] = {
    **NEEDED,
    "settings": {"DEFAULT_FROM_EMAIL": "FinOps <finops@example.com>", "AWS_DEFAULT_REGION": "eu-central-1"},
    "settingsFromSecrets": {"DATABASE_URL": {"name": "db-app", "key": "uri"}},
    "imagePullSecrets": [{"name": "registry"}],
    "image": {"digest": "sha256:" + 64 * "0"},
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"azure.workload.identity/use": "true"},
    "serviceAccount": {
        "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/finops"}
    },
    "persistence": {"existingClaim": "uploads"},
    "web": {"autoscaling": {"enabled": True}, "nodeSelector": {"a": "b"}, "priorityClassName": "high"},
    "workerDefaults": {"tolerations": [{"key": "a", "operator": "Exists"}]},
    "commands": {
        "backup": {"command": ["python", "manage.py", "backup", "s3://b/c"], "schedule": "15 2 * * *"}
    },
    "ingress": {"className": "nginx", "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "0"}},
    "networkPolicy": {"allowMetadataServer": True, "metricsFrom": []},
    "monitoring": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}},
    "extraVolumes": [{"name": "bills", "persistentVolumeClaim": {"claimName": "bills"}}],
    "extraVolumeMounts": [{"name": "bills", "mountPath": "/bills", "readOnly": True}],
}
SMALLEST = {
    **NEEDED,
    "ingress": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "migrate": {"enabled": False},
    "serviceAccount": {"create": False},
    "workers": {"short": {"replicas": 1}},
    "web": {"podDisruptionBudget": {"enabled": False}},
    "commands": {"check": None, "check-lake": None},
}
SETS = {"needed": NEEDED, "everything": EVERYTHING, "smallest": SMALLEST}
OPERATOR_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
"""Of the Prometheus Operator: Kubernetes has no schema of them."""
VERSIONS = ("1.29", "1.37")
"""Oldest that the chart allows, and newest."""

pytestmark = pytest.mark.usefixtures("helm")


@pytest.fixture(scope="session")
def helm() -> None:
    assert helm_program.is_available(), "helm is missing: make helm"


def run(*arguments: str, values: Any) -> subprocess.CompletedProcess[str]:
    command = [str(helm_program.PROGRAM), *arguments, "--values", "-"]
    return subprocess.run(command, input=yaml.safe_dump(values), capture_output=True, text=True, check=False)


@cache
def objects(name: str) -> list[dict[str, Any]]:
    """What helm makes of one of SETS."""
    result = run("template", "finops", str(CHART), "--namespace", "finops", values=SETS[name])
    assert result.returncode == 0, result.stderr
    return [each for each in yaml.safe_load_all(result.stdout) if each]


def find_object(kind: str, name: str, of: str = "needed") -> dict[str, Any]:
    return next(each for each in objects(of) if (each["kind"], each["metadata"]["name"]) == (kind, name))


def pod_of(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Metadata and spec of the pods that an object makes."""
    spec = manifest.get("spec", {})
    template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
    return template if isinstance(template, dict) else None


PODS = ["web", "worker-short", "worker-imports", "worker-insights", "beat", "migrate", "check", "check-lake"]


def pods(of: str = "needed") -> dict[str, dict[str, Any]]:
    """By the name behind the release's."""
    return {
        each["metadata"]["name"].removeprefix("finops-"): pod for each in objects(of) if (pod := pod_of(each))
    }


def container(name: str, of: str = "needed") -> dict[str, Any]:
    (only,) = pods(of)[name]["spec"]["containers"]
    return dict(only)


def environment(name: str, of: str = "needed") -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container(name, of)["env"]}


def matches(selector: dict[str, str], pod: dict[str, Any]) -> bool:
    return all(pod["metadata"]["labels"].get(name) == value for name, value in selector.items())


@pytest.mark.parametrize("name", SETS)
def test_helm_has_nothing_against_it(name: str) -> None:
    result = run("lint", "--strict", str(CHART), values=SETS[name])

    assert result.returncode == 0, result.stdout + result.stderr
    assert "WARNING" not in result.stdout


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SETS)
def test_every_object_is_as_kubernetes_says(name: str, version: str) -> None:
    for manifest in objects(name):
        if manifest["kind"] not in OPERATOR_KINDS:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_a_misspelled_field_of_kubernetes_would_be_found() -> None:
    manifest = {**find_object("Deployment", "finops-web"), "specs": {}}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({}, "existingSecret"),
        ({**NEEDED, "publicUrl": "http://finops.example.com"}, "publicUrl"),
        ({**NEEDED, "publicUrl": "https://example.com/finops"}, "publicUrl"),
        ({**NEEDED, "lakeUrl": "/var/lake"}, "lakeUrl"),
        ({**NEEDED, "webb": {}}, "webb"),
        ({**NEEDED, "web": {"replica": 2}}, "replica"),
        ({**NEEDED, "settings": {"UPLOAD_MAX_BYTES": 21474836480}}, "UPLOAD_MAX_BYTES"),
        ({**NEEDED, "settings": {"SECRET_KEY": "in the open"}}, "settings"),
        ({**NEEDED, "workers": {"shorts": {"replicas": 1}}}, "shorts"),
        ({**NEEDED, "web": {"resources": {"limits": {"memory": None}}}}, "memory"),
        ({**NEEDED, "networkPolicy": {"ingressFrom": []}}, "ingressFrom"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(values: dict[str, Any], place: str) -> None:
    result = run("template", "finops", str(CHART), values=values)

    assert result.returncode != 0
    assert place in result.stderr


def test_the_chart_has_a_program_for_each_queue_and_one_scheduler() -> None:
    commands = dict(worker_commands())

    assert sorted(pods()) == sorted(PODS)
    for queue in QUEUES:
        assert container(f"worker-{queue}")["command"] == ["python", "-m", "finops.worker", queue]
    assert container("beat")["command"][1:] == commands["beat"][1:]
    beat = find_object("Deployment", "finops-beat")["spec"]
    assert (beat["replicas"], beat["strategy"]) == (1, {"type": "Recreate"})


@pytest.mark.parametrize("of", SETS)
def test_a_pod_may_do_little_and_has_a_place_for_what_it_writes(of: str) -> None:
    for name, pod in pods(of).items():
        spec, only = pod["spec"], container(name, of)
        volumes = {volume["name"] for volume in spec["volumes"]}
        places = {mount["mountPath"]: mount["name"] for mount in only["volumeMounts"]}

        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"/var/lib/finops", "/tmp"} <= places.keys()  # noqa: S108 - of the container
        assert set(places.values()) == volumes
        assert only["resources"]["limits"]["memory"]
        assert "cpu" not in only["resources"]["limits"], (
            "a limit of CPU stops a program in the middle of an answer"
        )


def test_uploads_are_shared_and_what_is_of_one_process_is_not() -> None:
    for name in ("web", "worker-short", "worker-imports", "worker-insights"):
        volumes = {volume["name"]: volume for volume in pods()[name]["spec"]["volumes"]}
        places = {mount["mountPath"]: volumes[mount["name"]] for mount in container(name)["volumeMounts"]}

        assert places["/var/lib/finops"]["persistentVolumeClaim"] == {"claimName": "finops"}
        assert all("emptyDir" in places[f"/var/lib/finops/{folder}"] for folder in ("spill", "cache"))
    claim = find_object("PersistentVolumeClaim", "finops")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@pytest.mark.parametrize("of", SETS)
def test_every_variable_is_one_of_the_settings(of: str) -> None:
    names = {name for pod in pods(of) for name in environment(pod, of)} - {"TMPDIR"}

    assert unknown(names) == []
    assert (
        unknown(
            {
                name
                for worker in yaml.safe_load((CHART / "values.yaml").read_text())["workers"].values()
                for name in worker["env"]
            }
        )
        == []
    )


@pytest.mark.parametrize("name", PODS)
def test_secrets_come_from_the_secret_that_is_there(name: str) -> None:
    variables = environment(name)

    for variable in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "KEY_PEPPER"):
        assert variables[variable] == {"secretKeyRef": {"name": "finops-env", "key": variable}}
    other = environment(name if name in pods("everything") else "backup", "everything")
    assert other["DATABASE_URL"] == {"secretKeyRef": {"name": "db-app", "key": "uri"}}
    assert not any(each["kind"] == "Secret" for each in objects("everything"))


def test_memory_of_the_lake_fits_into_that_of_the_pod() -> None:
    units = {"Mi": 2**20, "Gi": 2**30}
    for name in ("web", "worker-short", "worker-imports", "worker-insights"):
        text = container(name)["resources"]["limits"]["memory"]
        limit = int(text[:-2]) * units[text[-2:]]
        children = 4 * int(environment(name).get("IMPORT_MEMORY_BYTES", "0"))

        # 400 MB is what a program holds besides.
        assert int(environment(name)["LAKE_MEMORY_BYTES"]) + 400 * 10**6 <= limit
        assert children + 400 * 10**6 <= limit


def test_selectors_find_their_pods() -> None:
    everything = pods("everything")
    web = everything["web"]
    other_pods = [pod for name, pod in everything.items() if name != "web"]

    for manifest in objects("everything"):
        spec = manifest.get("spec", {})
        match manifest["kind"]:
            case "Deployment":
                assert matches(spec["selector"]["matchLabels"], spec["template"])
                assert sum(matches(spec["selector"]["matchLabels"], pod) for pod in everything.values()) == 1
            case "PodDisruptionBudget":
                selected = [
                    name for name, pod in everything.items() if matches(spec["selector"]["matchLabels"], pod)
                ]
                assert selected == [manifest["metadata"]["name"].removeprefix("finops-")]
            case "Service":
                assert matches(spec["selector"], web)
                assert not any(matches(spec["selector"], pod) for pod in other_pods)
            case "HorizontalPodAutoscaler":
                assert spec["scaleTargetRef"]["name"] == "finops-web"
    assert "replicas" not in find_object("Deployment", "finops-web", "everything")["spec"]


def test_ports_have_the_names_that_others_call_them_by() -> None:
    names = {port["name"]: port["containerPort"] for port in container("web")["ports"]}
    service = find_object("Service", "finops")["spec"]["ports"][0]
    backend = find_object("Ingress", "finops")["spec"]["rules"][0]
    monitor = find_object("ServiceMonitor", "finops", "everything")["spec"]["endpoints"][0]
    workers = find_object("PodMonitor", "finops-workers", "everything")["spec"]["podMetricsEndpoints"][0]

    assert service["targetPort"] in names
    assert backend["host"] == "finops.example.com"
    assert backend["http"]["paths"][0]["backend"]["service"] == {
        "name": "finops",
        "port": {"name": service["name"]},
    }
    assert monitor["port"] == service["name"]
    assert workers["port"] in {port["name"] for port in container("worker-short")["ports"]}
    assert monitor["authorization"]["credentials"] == {"name": "finops-env", "key": "METRICS_TOKEN"}


def test_only_the_proxy_and_prometheus_reach_the_web_servers_and_nobody_the_clock() -> None:
    web = find_object("NetworkPolicy", "finops-web")["spec"]
    every = find_object("NetworkPolicy", "finops")["spec"]

    assert [rule["ports"] for rule in web["ingress"]] == [[{"protocol": "TCP", "port": 8000}]]
    spaces = [
        peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        for peer in web["ingress"][0]["from"]
    ]
    assert spaces == ["ingress-nginx", "monitoring"]
    assert all(matches(every["podSelector"]["matchLabels"], pod) for pod in pods().values())
    assert [rule["ports"] for rule in every["ingress"]] == [[{"protocol": "TCP", "port": 9464}]]
    blocks = [peer["ipBlock"] for peer in every["egress"][1]["to"]]
    assert "169.254.0.0/16" in blocks[0]["except"]
    assert (
        "except"
        not in find_object("NetworkPolicy", "finops", "everything")["spec"]["egress"][1]["to"][0]["ipBlock"]
    )


def test_migrations_run_before_the_pods_of_a_release_and_need_none_of_its_objects() -> None:
    job = find_object("Job", "finops-migrate")
    spec = job["spec"]["template"]["spec"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert spec["serviceAccountName"] == "default"
    assert all("emptyDir" in volume for volume in spec["volumes"])


def test_a_command_without_a_schedule_runs_on_demand() -> None:
    assert find_object("CronJob", "finops-check-lake")["spec"]["suspend"] is True
    backup = find_object("CronJob", "finops-backup", "everything")["spec"]
    assert (backup["schedule"], backup["suspend"]) == ("15 2 * * *", False)


def test_prometheus_gets_the_rules_that_are_tried() -> None:
    rules = yaml.safe_load((ROOT / "ops" / "alerts.yml").read_text())

    assert find_object("PrometheusRule", "finops", "everything")["spec"] == rules
    assert (CHART / "files" / "alerts.yml").read_text() == (ROOT / "ops" / "alerts.yml").read_text()


@pytest.mark.parametrize("name", ["worker-short", "beat"])
def test_a_probe_says_whether_the_last_heartbeat_is_a_minute_old(name: str, tmp_path: Path) -> None:
    file = environment(name)["HEARTBEAT_FILE"]
    command = container(name)["livenessProbe"]["exec"]["command"]
    own = [part.replace(file, str(tmp_path / "heartbeat")) for part in command]
    assert own != command

    def passes() -> bool:
        return subprocess.run(own, capture_output=True, check=False).returncode == 0

    before = passes()
    (tmp_path / "heartbeat").touch()
    fresh = passes()
    os.utime(tmp_path / "heartbeat", (time.time() - 90,) * 2)
    stale = passes()

    assert (before, fresh, stale) == (False, True, False)
