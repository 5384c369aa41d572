"""Rules of every connector, each found automatically; `docs/connectors.md` is written from them."""

from __future__ import annotations

import inspect
import json
import logging
import os
import pickle
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import hcl2
import msgspec
import pytest
import sqlglot
import yaml
from pytest_django import Settings

from finops.connections.configs import requirement_of, title_of
from finops.connections.connector import (
    CheckFinding,
    Connector,
    ConnectorConfig,
    SetupStep,
    fields_of,
    public_fields,
    secret_fields,
)
from finops.connections.connectors import connector_of, connectors
from finops.connections.forms import ConnectionForm
from finops.lib.errors import UserError
from finops.templatetags.console import icon
from tests.recordings import IF_MEANT
from tests.servers import free_port

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "connectors.md"
EXTERNAL_ID: Final = "finops-0123456789abcdef-feedfeedfeedfeedfeedfeed"
CANARY: Final = "c4n4ry-that-nobody-may-see"
SECRET_WORDS: Final = re.compile(r"secret|token|password|passphrase|private|(?<!_id)key$|api_key|credentials")
NO_SECRETS: Final = frozenset({"access_key_id"})
SQL_DIALECTS: Final = ("bigquery", "snowflake", "databricks", "postgres")

NAMES: Final = list(connectors())


@pytest.fixture(params=NAMES)
def connector(request: pytest.FixtureRequest) -> Connector[Any]:
    return connector_of(request.param)


def sample(connector: Connector[Any], **more: str) -> ConnectorConfig:
    """A config that names everything, with secrets that can be looked for."""
    values: dict[str, Any] = {}
    for each in fields_of(connector):
        examples = [example for meta in metas(each) for example in meta.examples or ()]
        if each.name in secret_fields(connector.Config):
            values[each.name] = CANARY
        elif each.name in more:
            values[each.name] = more[each.name]
        elif each.required or (each.type is not bool and examples and isinstance(examples[0], str)):
            assert examples, f"{connector.name}: an example of {each.name}"
            values[each.name] = examples[0]
    config: ConnectorConfig = connector.Config(external_id=EXTERNAL_ID, **values)
    return config


def metas(field: msgspec.structs.FieldInfo) -> Iterator[msgspec.Meta]:
    hints = [field.type, *getattr(field.type, "__args__", ())]
    for hint in hints:
        yield from (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, msgspec.Meta))


def test_names_and_titles_are_their_own() -> None:
    connectors = [connector_of(name) for name in NAMES]

    assert {"aws_data_exports", "aws_cur", "folder"} <= set(NAMES)
    assert len({each.title for each in connectors}) == len(connectors)
    assert [each.name for each in connectors] == NAMES
    with pytest.raises(UserError, match="no connector 'nowhere'"):
        connector_of("nowhere")


def test_a_connector_says_what_it_is(connector: Connector[Any]) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", connector.name)
    assert connector.title
    assert connector.provider
    assert connector.description.endswith(".")
    assert connector.docs_url.startswith("https://")
    assert "<svg" in icon(connector.icon)
    assert (inspect.getdoc(inspect.getmodule(type(connector))) or "").endswith(".")


# Steps


def steps(connector: Connector[Any]) -> list[SetupStep]:
    return list(connector.steps(EXTERNAL_ID))


def test_steps_have_titles_and_snippets_that_parse(connector: Connector[Any]) -> None:
    assert steps(connector)
    for step in steps(connector):
        assert step.title
        assert bool(step.language) <= bool(step.snippet)
        parse(step)


def parse(step: SetupStep) -> None:
    """Raises where the snippet is not of its language."""
    if step.language == "json":
        json.loads(step.snippet)
    elif step.language == "yaml":
        assert yaml.safe_load(step.snippet)
    elif step.language == "hcl":
        assert hcl2.loads(step.snippet)
    elif step.language == "sh":
        checked = subprocess.run(
            ["bash", "-n"], input=step.snippet, capture_output=True, text=True, check=False
        )
        assert checked.stderr == ""
    elif step.language == "sql":
        assert any(_is_sql(step.snippet, dialect) for dialect in SQL_DIALECTS)
    else:
        assert step.language == ""


def _is_sql(text: str, dialect: str) -> bool:
    try:
        return bool(sqlglot.parse(text, dialect=dialect))
    except sqlglot.ParseError:
        return False


def test_a_role_trusts_this_connection_alone(connector: Connector[Any]) -> None:
    for step in steps(connector):
        if "sts:AssumeRole" in step.snippet:
            assert EXTERNAL_ID in step.snippet


# Config


def test_each_field_has_a_title_and_fits_the_form(connector: Connector[Any]) -> None:
    own = set(ConnectionForm.base_fields)
    for each in fields_of(connector):
        assert any(meta.title for meta in metas(each)), each.name
        assert each.name not in own
    ConnectionForm(connector).as_p()


def test_a_field_named_like_a_secret_is_redacted(connector: Connector[Any]) -> None:
    public = set(public_fields(connector.Config)) - NO_SECRETS

    assert [name for name in public if SECRET_WORDS.search(name)] == []


def test_a_config_never_shows_its_secrets(connector: Connector[Any]) -> None:
    config = sample(connector)

    for text in (repr(config), str(config), f"{config}", f"{[config]}"):
        assert CANARY not in text
        assert type(config).__name__ in text


def test_a_fetch_can_run_in_a_separate_process(connector: Connector[Any]) -> None:
    config = sample(connector)

    kind, same = pickle.loads(pickle.dumps((connector, config)))  # noqa: S301 our own

    assert (type(kind), same) == (type(connector), config)
    assert same.external_id == EXTERNAL_ID


# Test connection


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> str:
    """An address of this machine where nobody listens; no name has an address."""
    here = f"http://127.0.0.1:{free_port()}"
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.AWS_STS_URL = here
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setattr("finops.connections.transports.http.sleep", lambda _seconds: None)
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **more: Any) -> Any:
        if str(host).removeprefix("b'").startswith("127."):
            return real(host, *arguments, **more)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return here


def test_a_check_of_what_cannot_be_reached_is_a_finding(
    connector: Connector[Any], no_network: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    addresses = dict.fromkeys(("endpoint", "base_url", "url"), no_network)

    findings = connector.check(sample(connector, **addresses))

    assert findings
    assert {type(each) for each in findings} == {CheckFinding}
    assert all(each.title for each in findings)
    failed = [each for each in findings if not each.is_ok]
    assert failed
    assert all(each.fix for each in failed)
    assert CANARY not in f"{findings}{caplog.text}"


def test_months_of_what_cannot_be_reached_are_an_error_for_people(
    connector: Connector[Any], no_network: str
) -> None:
    addresses = dict.fromkeys(("endpoint", "base_url", "url"), no_network)

    with pytest.raises(UserError) as error:
        connector.months(sample(connector, **addresses))

    assert CANARY not in error.value.message


# The document


def document() -> str:
    """docs/connectors.md."""
    head = (
        "# Connectors\n\nWhere cost comes from by itself. Written from `finops/connections/connectors/` by "
        "`RECORD=1 .venv/bin/python -m pytest tests/finops/connections/test_contract.py`.\n"
    )
    offered = [each for name in NAMES if (each := connector_of(name)).is_offered]
    return "\n".join([head, *map(_section, offered)])


def _section(connector: Connector[Any]) -> str:
    lines = [
        f"## {connector.title}",
        "",
        f"{connector.description} [Documentation]({connector.docs_url})",
        "",
    ]
    fields = list(fields_of(connector))
    lines += ["| setting | needed | what |", "|---|---|---|"] if fields else []
    secrets = set(secret_fields(connector.Config))
    for each in fields:
        descriptions = [meta.description for meta in metas(each) if meta.description]
        description = " ".join(
            [*descriptions[-1:], *(["Sealed, never shown again."] if each.name in secrets else [])]
        )
        lines.append(f"| {title_of(each)} | {_requirement(connector, each)} | {_cell(description)} |")
    lines += ["", *(f"{number}. {step.title}" for number, step in enumerate(steps(connector), 1)), ""]
    return "\n".join(lines)


def _requirement(connector: Connector[Any], field: msgspec.structs.FieldInfo) -> str:
    condition = requirement_of(field)
    if not condition:
        return "yes" if field.required else ""
    other = next(each for each in fields_of(connector) if each.name == condition["field"])
    choices = " or ".join(name.replace("_", " ") for name in condition["choices"])
    pair = next((each for each in fields_of(connector) if each.name == condition["pair"]), None)
    needed = f"if {title_of(other)} is {choices}{', without Endpoint' if condition['unless'] else ''}"
    return f"{needed}, or with {title_of(pair)}" if pair else needed


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def test_the_document_is_up_to_date() -> None:
    if os.environ.get("RECORD"):
        DOCUMENT.write_text(document())

    assert document() == DOCUMENT.read_text(), IF_MEANT
