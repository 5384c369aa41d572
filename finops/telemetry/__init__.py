"""Telemetry of requests, tasks and the database for operators: the middleware, the signals of workers, the page /metrics.

Metrics that any module may count are declared in `finops.lib.telemetry.metrics`.
"""
