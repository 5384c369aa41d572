"""Apache Spark on this machine while a command runs: a standalone master, two workers, and a Connect server.

`python -m tests.spark_cluster COMMAND …` runs the command with SPARK_TEST_REMOTE and SPARK_TEST_WORKERS, the ids of
the workers' processes. SPARK_HOME is the folder of Spark.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.waiting import wait_until

HOST = "127.0.0.1"
START_SECONDS = 400


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


@contextmanager
def program(folder: Path, name: str, *arguments: str) -> Iterator[int]:
    """Yield the process id of a program of Spark, which ends with the block; its output is in the folder."""
    home = os.environ["SPARK_HOME"]
    with (folder / f"{name}.log").open("w") as log:
        environment = {**os.environ, "SPARK_LOCAL_IP": HOST}
        command = [f"{home}/bin/{arguments[0]}", *arguments[1:]]
        with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
            try:
                yield process.pid
            finally:
                process.terminate()


@contextmanager
def spark_cluster() -> Iterator[tuple[str, list[int]]]:
    """Yield the address of the Connect server, and the process ids of the workers."""
    master, connect = free_port(), free_port()
    url = f"spark://{HOST}:{master}"
    deploy = "org.apache.spark.deploy"
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        start = [
            f"{deploy}.master.Master",
            "--host",
            HOST,
            "--port",
            str(master),
            "--webui-port",
            str(free_port()),
        ]
        stack.enter_context(program(folder, "master", "spark-class", *start))
        wait_until(lambda: is_open(master), seconds=START_SECONDS)
        workers = []
        for number in (1, 2):
            start = [
                f"{deploy}.worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                str(free_port()),
            ]
            start += ["--work-dir", str(folder / f"worker{number}"), url]
            workers.append(stack.enter_context(program(folder, f"worker{number}", "spark-class", *start)))
        settings = {
            "spark.connect.grpc.binding.port": str(connect),
            "spark.executor.memory": "700m",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
        }
        start = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", url]
        start += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        stack.enter_context(program(folder, "connect", "spark-submit", *start, "spark-internal"))
        wait_until(lambda: is_open(connect), seconds=START_SECONDS)
        yield f"sc://{HOST}:{connect}", workers


def main() -> int:
    with spark_cluster() as (remote, workers):
        variables = {"SPARK_TEST_REMOTE": remote, "SPARK_TEST_WORKERS": " ".join(map(str, workers))}
        return subprocess.run(sys.argv[1:], env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
