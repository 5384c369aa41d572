"""Messages to workers about what the database already says is due: beat asks for the same within a minute."""

from __future__ import annotations

from kombu.exceptions import OperationalError

from finops.celery import app
from finops.lib.circuit_breaker import CircuitBreaker

_breaker = CircuitBreaker("The broker", "beat asks for what is due")


def publish(task: str, *arguments: int, expires: float) -> None:
    """Ask a worker for the task now. A broker that is away is no failure, and holds a caller for the patience of
    CELERY_BROKER_TRANSPORT_OPTIONS at most, in 5 seconds one of a process. `expires`: seconds."""
    if _breaker.is_open():
        return
    try:
        with _breaker.call():
            app.send_task(task, args=list(arguments), expires=expires)
    except (OperationalError, OSError) as error:
        _breaker.record_failure(error)
