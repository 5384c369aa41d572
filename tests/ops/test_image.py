"""The image: linted, built without what only building needs, and run as compose.yaml does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import yaml
from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from moto.server import ThreadedMotoServer

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from ops import front_end_files, image
from tests.deployment import redis_server
from tests.load_balancer import socket_on_loopback
from tests.mcpserver.mcp_client import McpClient
from tests.ops.built_image import BuiltImage, Container, built
from tests.ops.dockerfile import Build, instructions
from tests.ops.variables import EXAMPLE, ROOT, unknown
from tests.s3 import variables
from tests.servers import LiveServer, _database, free_port
from tests.waiting import wait_until

DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
LARGEST_KB = 1_000_000
READY_SECONDS = 120.0
HOST = "finops.example.com"
SECRETS = {
    "SECRET_KEY": "".join(chr(97 + number % 26) for number in range(60)),
    "KEY_PEPPER": "".join(chr(122 - number % 26) for number in range(60)),
}
BUNDLING = """
FROM scratch AS build
WORKDIR /srv/app
ENV NAME=build PLACE=/srv/app
COPY main.txt ./
COPY parts parts
# A comment.
RUN cat main.txt parts/*.txt > bundle.txt \\
    && echo "$NAME in $PLACE" > name.txt
FROM scratch
COPY --from=build /srv/app /srv/app
WORKDIR /srv/app
CMD ["cat", "bundle.txt"]
"""


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")

    answer = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stdout) == (0, "")


def test_the_image_runs_as_an_unprivileged_user_and_has_a_health_check() -> None:
    run_stage = DOCKERFILE.read_text().split("\nFROM ")[-1]
    arguments = [line for line in run_stage.splitlines() if line.startswith(("CMD", "ENTRYPOINT"))]

    assert "\nUSER 10001\n" in run_stage
    assert "/healthz" in run_stage
    assert "\nSTOPSIGNAL SIGTERM\n" in run_stage
    assert all(line.split(maxsplit=1)[1].startswith("[") for line in arguments)


def test_every_variable_of_the_image_is_one_of_the_settings() -> None:
    run_stage = DOCKERFILE.read_text().split("\nFROM ")[-1]
    names = set(re.findall(r"^(?:ENV|   ) ([A-Z_]+)=", run_stage, re.MULTILINE))

    assert "VAR_DIR" in names
    assert unknown(names - {"PYTHONDONTWRITEBYTECODE", "TMPDIR"}) == []


def test_the_image_holds_every_package_of_the_program_and_no_test() -> None:
    allowed = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    packages = {app.split(".")[0] for app in settings.INSTALLED_APPS if (ROOT / app.split(".")[0]).is_dir()}

    assert packages < allowed
    assert [name for name in allowed if not (ROOT / name).exists()] == []
    assert "tests" not in allowed


@pytest.mark.slow
def test_the_image_holds_the_front_end_files_that_are_served(tmp_path: Path) -> None:
    front_end_files.copy(tmp_path)

    assert (tmp_path / "@tabler/core/dist/css/tabler.min.css").stat().st_size > 0
    assert (tmp_path / front_end_files.ICONS / "plus.svg").is_file()
    assert not (tmp_path / "esbuild").exists()


# -- steps without buildah ------------------------------------------------------------------------------------------


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "context/parts").mkdir(parents=True)
    (tmp_path / "context/main.txt").write_text("main\n")
    (tmp_path / "context/parts/a.txt").write_text("a\n")
    return tmp_path / "context"


def test_the_steps_of_a_dockerfile_see_what_was_copied(context: Path, tmp_path: Path) -> None:
    stage = Build(BUNDLING, context, "", tmp_path / "out").last
    texts = {path.name: path.read_text() for path in stage.place.glob("*.txt")}

    assert texts == {
        "main.txt": "main\n",
        "bundle.txt": "main\na\n",
        "name.txt": f"build in {tmp_path}/out/0/srv/app\n",
    }
    assert stage.command == ["cat", "bundle.txt"]


@pytest.mark.parametrize(
    ("dockerfile", "ignored"),
    [(BUNDLING.replace("COPY parts parts\n", ""), ""), (BUNDLING, "parts")],
    ids=["not-copied", "ignored"],
)  # fmt: skip
def test_a_step_whose_files_were_not_copied_fails(
    dockerfile: str, ignored: str, context: Path, tmp_path: Path
) -> None:
    with pytest.raises((subprocess.CalledProcessError, FileNotFoundError)):
        Build(dockerfile, context, ignored, tmp_path / "out")


# -- the built image ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def the_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltImage]:
    with built(tmp_path_factory.mktemp("image")) as of_checkout:
        yield of_checkout


def _output(built_image: BuiltImage, command: str) -> str:
    line = built_image.command("sh", "-c", command)
    return subprocess.run(line, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.slow
@pytest.mark.xdist_group("image")
def test_the_built_image_holds_what_runs_and_nothing_that_only_builds(the_image: BuiltImage) -> None:
    assert int(_output(the_image, "du -sk .").split()[0]) < LARGEST_KB
    assert _output(the_image, "ls .venv/bin | grep -E '^(npm|node|pip)$'") == ""
    assert _output(the_image, "ls LICENSE NOTICE tests 2>/dev/null") == "LICENSE\nNOTICE"
    if isinstance(the_image, Container):
        assert _output(the_image, "command -v npm node gcc cc pip") == ""
        assert _output(the_image, "find . ! -readable") == ""
        assert _output(the_image, "touch x || touch /etc/x || touch /x || echo no") == "no"


@pytest.mark.slow
@pytest.mark.xdist_group("image")
def test_a_build_that_ignores_its_sources_fails(the_image: BuiltImage, tmp_path: Path) -> None:
    if not isinstance(the_image, Container):
        return  # the steps are tested above
    ignored = tmp_path / "ignored"
    ignored.write_text((ROOT / ".dockerignore").read_text().replace("!static\n", ""))

    with pytest.raises(subprocess.CalledProcessError):
        image.build("localhost/finops-broken", image.available_base(image.BASE), ignored)


def key() -> str:
    """An account with an assistant's key, made beside the image with its secrets."""
    owner = User.objects.create_user("ann@example.com", "a long enough secret")
    account, actor = create_account(name="Acme", owner=owner, slug="acme"), Actor.of_user(owner)
    with account_scope(account):
        return mint_mcp_key(account=account, actor=actor, name="tests", scope="read")[1]


@contextmanager
def _s3() -> Iterator[dict[str, str]]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield variables(f"http://{host}:{port}")
    finally:
        server.stop()


def _environment(service: dict[str, Any], **of_servers: str) -> dict[str, str]:
    """Of a service of compose.yaml, with the example's settings and these servers instead of the other services."""
    example = dict(re.findall(r"^([A-Z_]+)=(.+)$", EXAMPLE.read_text(), re.MULTILINE))
    return {**example, **service["environment"], **SECRETS, **of_servers}


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextmanager
def _servers(database: str) -> Iterator[dict[str, str]]:
    """Variables of the servers that the tests have, in place of compose's."""
    parts = urlsplit(database)
    unix_socket = Path(parse_qs(parts.query)["host"][0], ".s.PGSQL.5432")
    with socket_on_loopback(unix_socket) as port, redis_server() as redis, _s3() as s3:
        url = f"postgres://{parts.username}:{parts.password}@127.0.0.1:{port}{parts.path}"
        yield {"DATABASE_URL": url, "REDIS_URL": redis, "METRICS_LISTEN": f"127.0.0.1:{free_port()}", **s3}


@contextmanager
def _compose(built_image: BuiltImage, database: str, log: Path) -> Iterator[httpx.Client]:
    """The programs of compose.yaml in its order, all well; a client as behind its proxy."""
    port = free_port()
    (default,) = [value for name, value in instructions(DOCKERFILE.read_text()) if name == "CMD"]
    commands = {name: service.get("command", yaml.safe_load(default)) for name, service in COMPOSE.items()}
    commands["web-1"] = [part.replace("8000", str(port)) for part in commands["web-1"]]
    with ExitStack() as stack:
        servers = stack.enter_context(_servers(database))
        lines = {
            name: built_image.command(*commands[name], **_environment(COMPOSE[name], **servers))
            for name in ("bucket", "migrate", "web-1", "worker-1", "beat")
        }
        for name in ("bucket", "migrate"):
            subprocess.run(lines.pop(name), check=True)
        programs = [stack.enter_context(_running(line, log)) for line in lines.values()]
        headers = {"Host": HOST, "X-Forwarded-Proto": "https"}
        client = stack.enter_context(
            httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30)
        )

        def are_well() -> bool:
            assert {program.poll() for program in programs} == {None}, log.read_text()
            try:
                return set(client.get("/readyz").json()["checks"].values()) == {"ok"}
            except httpx.TransportError:
                return False

        wait_until(are_well, lambda: f"/readyz is not well:\n{log.read_text()}", seconds=READY_SECONDS)
        yield client


@pytest.mark.slow
@pytest.mark.xdist_group("image")
def test_the_programs_of_compose_answer_an_assistant_from_the_image(
    the_image: BuiltImage, django_db_setup: None, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with _database(None) as database, _compose(the_image, database, log) as client:
        beside = {**os.environ, **SECRETS, "DATABASE_URL": database, "VAR_DIR": str(tmp_path)}
        plaintext = LiveServer("", beside, log).run("tests.ops.test_image:key")

        def send(
            method: str, path: str, body: bytes, *, content_type: str, headers: dict[str, str]
        ) -> HttpResponse:
            all_headers = {**headers, "Content-Type": content_type}
            answer = client.request(method, path, content=body, headers=all_headers)
            return HttpResponse(answer.content, status=answer.status_code, headers=dict(answer.headers))

        answer = McpClient(plaintext, send).ask("querySpend", period="last_30_days")
        assert answer["account"]["name"] == "Acme"
        assert answer["console_url"].startswith(f"https://{HOST}/a/acme/")
        page = client.get(reverse("account_login")).text
        styles = re.findall(r'href="(/static/[^"]+\.css)"', page)
        assert styles
        assert {client.get(style).status_code for style in styles} == {200}
