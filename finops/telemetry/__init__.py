"""What operators see of requests, tasks and the database: the middleware, the signals of workers, the page /metrics.

Metrics that any module may count are declared in `finops.lib.telemetry.metrics`.
"""
