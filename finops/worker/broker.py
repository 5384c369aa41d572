"""Messages to workers about work that the database already records as due: beat sends the same within a minute."""

from __future__ import annotations

from kombu.exceptions import OperationalError

from finops.celery import app
from finops.lib.circuit_breaker import CircuitBreaker

_breaker = CircuitBreaker("The broker", "beat queries due tasks")


def publish(task: str, *arguments: int, expires: float) -> None:
    """Send the task to a worker now. An unavailable broker is no failure; it delays a caller by the timeouts of
    CELERY_BROKER_TRANSPORT_OPTIONS at most, and one caller of a process in 5 seconds. `expires`: seconds."""
    if _breaker.is_open():
        return
    try:
        with _breaker.call():
            app.send_task(task, args=list(arguments), expires=expires)
    except (OperationalError, OSError) as error:
        _breaker.record_failure(error)
