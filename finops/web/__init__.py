"""What stands between the HTTP server and Django: who is let in, for how long a body may take, whose turn it is.

Imports nothing of the project but `finops.lib`; `finops/wsgi.py` puts it in front of Django.
"""
