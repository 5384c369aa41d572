"""Admission of requests between the HTTP server and Django: limits of requests, time limits of bodies, and fair queueing.

Imports nothing of the project but `finops.lib`; `finops/asgi.py` puts it in front of Django.
"""
