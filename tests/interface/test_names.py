"""Names that others use: people's bookmarks, operators' environments and scripts, messages that wait in a queue."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import environ
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class

from finops.celery import app
from tests import recordings
from tests.isolation.discovery import OUR_PREFIXES, routes

ROOT = Path(settings.BASE_DIR)
READ_ELSEWHERE = re.compile(r'os\.environ(?:\.get\(|\.pop\(|\[)\s*"([A-Z_]+)"')


def test_every_url_is_as_recorded() -> None:
    """With the role that an account's page needs, and the methods that a view of a class allows."""
    lines = sorted(
        f"{route.path or '/'}  {route.name or '-'}  {getattr(route.view, 'required_role', '-')}"
        for route in routes()
    )

    recordings.compare_text("interface/urls.txt", "".join(f"{line}\n" for line in lines))


def test_every_variable_of_the_environment_is_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the value that it has when nobody sets it."""
    defaults: dict[str, str] = {}
    read = environ.Env.get_value

    def record_value(
        env: environ.Env, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **options: Any
    ) -> Any:
        defaults[var] = _default(var, default)
        return read(env, var, cast, default, **options)

    monkeypatch.setattr(environ.Env, "get_value", record_value)
    runpy.run_path(str(ROOT / "finops" / "settings.py"))
    for path in sorted(each for package in OUR_PREFIXES for each in (ROOT / package).rglob("*.py")):
        for name in READ_ELSEWHERE.findall(path.read_text()):
            defaults.setdefault(name, "read outside of the settings")

    recordings.compare_text(
        "interface/environment.txt", "".join(f"{name}  {defaults[name]}\n" for name in sorted(defaults))
    )


def _default(name: str, value: Any) -> str:
    if name == "LAKE_CONCURRENCY":
        return "the machine's processors"
    return str(value).replace(str(settings.VAR_DIR), "VAR_DIR").replace(str(ROOT), "BASE_DIR")


def test_every_setting_of_cookies_and_sessions_is_as_recorded() -> None:
    names = [
        name
        for name in dir(settings)
        if re.match(r"(SESSION|CSRF|LANGUAGE)_COOKIE_NAME|CSRF_HEADER_NAME", name)
    ]

    recordings.compare_json("interface/cookies.json", {name: getattr(settings, name) for name in names})


def test_every_command_is_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    own_commands = {
        name: str(app) for name, app in get_commands().items() if str(app).startswith(OUR_PREFIXES)
    }
    commands: dict[str, argparse.ArgumentParser] = {
        f"manage.py {name}": load_command_class(own_commands[name], name).create_parser("manage.py", name)
        for name in sorted(own_commands)
    }
    for program in ("finops.web", "finops.worker"):
        commands[f"python -m {program}"] = _parser(program, monkeypatch)

    recordings.compare_json(
        "interface/commands.json", {name: _arguments(parser) for name, parser in commands.items()}
    )


def _parser(program: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The one that a program has when it reads its arguments."""

    class Reads(Exception):
        pass

    def parse_args(parser: argparse.ArgumentParser, *_: Any) -> None:
        raise Reads(parser)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    with pytest.raises(Reads) as reads:
        importlib.import_module(f"{program}.__main__").main()
    parser: argparse.ArgumentParser = reads.value.args[0]
    return parser


def _arguments(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Without those that every command of Django has."""
    usual = {action.dest for action in BaseCommand().create_parser("manage.py", "any")._actions}
    return {
        ", ".join(action.option_strings) or action.dest: {
            "values": action.nargs,
            "choices": list(action.choices) if action.choices else None,
            "required": action.required,
        }
        for action in parser._actions
        if action.dest not in usual
    }


def test_every_task_is_as_recorded() -> None:
    """A message that waits names its task and its arguments; another release reads it."""
    app.loader.import_default_modules()
    tasks = {
        name: {"arguments": str(_without_annotations(task.run)), **settings.CELERY_TASK_ROUTES.get(name, {})}
        for name, task in sorted(app.tasks.items())
        if task.run.__module__.startswith(OUR_PREFIXES)
    }
    queues = [(queue.name, queue.exchange.name, queue.routing_key) for queue in settings.CELERY_TASK_QUEUES]

    recordings.compare_json(
        "interface/tasks.json",
        {
            "tasks": tasks,
            "schedule": settings.CELERY_BEAT_SCHEDULE,
            "queues": queues,
            "default queue": settings.CELERY_TASK_DEFAULT_QUEUE,
        },
    )


def _without_annotations(run: Any) -> inspect.Signature:
    signature = inspect.signature(run)
    parameters = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=signature.empty)


def test_every_stored_name_of_a_model_is_as_recorded() -> None:
    """Permissions, content types and the admin's log name models so; choices are what columns hold."""
    models = sorted(apps.get_models(include_auto_created=True), key=lambda model: model._meta.label_lower)
    lines = [f"{model._meta.label_lower}  {model._meta.db_table}" for model in models]
    for model in models:
        if not model.__module__.startswith(OUR_PREFIXES):
            continue
        for field in model._meta.concrete_fields:
            if field.choices:
                values = ", ".join(str(value) for value, _label in field.flatchoices)
                lines.append(f"{model._meta.db_table}.{field.column}  {values}")

    recordings.compare_text("interface/models.txt", "".join(f"{line}\n" for line in lines))
