"""Settings, from the environment. `finops/checks.py` refuses combinations that are unsafe in production."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import global_settings
from redis.backoff import NoBackoff
from redis.retry import Retry
from whitenoise.compress import Compressor

from accounts import form_classes
from accounts.oauth.provider import provider_settings
from finops import embedded
from finops.environment import Environment
from finops.lake.storage.lake_version import application_name
from finops.lib.redis_urls import broker_url
from finops.lib.secrets import development_secret, make_own_dir
from finops.lib.telemetry import logs
from finops.web import security_policy
from finops.worker.periods import beat_schedule
from finops.worker.queues import INSIGHTS, QUEUES, TASK_QUEUES, TASK_ROUTES

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]

PRODUCTION: bool = env.str("FINOPS_ENV", "development") == "production"
DEBUG: bool = env.bool("DEBUG", False)
VAR_DIR = Path(env.str("VAR_DIR", str(BASE_DIR / "var")))

SECRET_KEY: str = (
    env.str("SECRET_KEY", "")
    if PRODUCTION
    else env.str("SECRET_KEY", "") or development_secret("SECRET_KEY", VAR_DIR)
)
KEY_PEPPER: str = (
    env.str("KEY_PEPPER", "")
    if PRODUCTION
    else env.str("KEY_PEPPER", "") or development_secret("KEY_PEPPER", VAR_DIR)
)

# Earlier ones: what they sealed or signed can still be read. Sealed targets move to the new one within a day.
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])

# Where people and clients reach the console; links, the MCP resource name and cookies follow it.
PUBLIC_URL: str = env.str("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS: list[str] = env.list(
    "ALLOWED_HOSTS",
    default=[
        _public.hostname or "127.0.0.1",
        *([] if PRODUCTION else ["127.0.0.1", "localhost", "[::1]", "testserver"]),
    ],
)
CSRF_TRUSTED_ORIGINS: list[str] = [PUBLIC_URL]
# Proxies in front, each of which appends to X-Forwarded-For (finops.lib.client_address).
PROXY_COUNT: int = env.int("PROXY_COUNT", int(env.bool("BEHIND_TLS_PROXY", False)))
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_TLS_PROXY", False) else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"
# Browsers take __Host- over TLS only, from this host alone: no neighbouring subdomain can set such a cookie.
COOKIE_PREFIX = "__Host-" if _public.scheme == "https" else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}finops_session", f"{COOKIE_PREFIX}finops_csrf"
CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 31_536_000 if _public.scheme == "https" else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # finops/operations registers the models
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_linear_migrations",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "oauth2_provider",
    "rest_framework",
    "finops",
    "accounts",
    "accounts.sso",
    "finops.cost_access",  # before what reads cost around a page: whose cost that is comes first
    "finops.lake",
    "finops.activity",
    "finops.notifications",
    "finops.exchange_rates",
    "finops.costs",
    "ingestion",
    "finops.receipts",
    "finops.change_events",
    "finops.connections",
    "finops.allocation",
    "finops.budgets",
    "finops.insights",
    "finops.unitcosts",
    "finops.ai_spend",
    "finops.alerts",
    "finops.issues",
    "finops.audit_webhooks",
    "finops.dashboards",
    "finops.reports",
    "finops.backup",
    "finops.exports",
    "finops.data_exports",
    "mcpserver",
]

MIDDLEWARE = [
    "finops.telemetry.middleware.trace_request",  # first: around all that is answered
    "finops.health.answer_probes",  # first: a probe's Host header is an address, and it has no cookie
    "finops.cost_access.middleware.undecided_access",  # around all endpoints: each sets the cost that its reader may see
    "finops.machine_endpoints.serve_programs",  # all that programs call; the rest is for pages
    "finops.web.refusals.answer_refusal",  # what finops.web.admission refuses; the endpoints above have their own response
    "django.middleware.security.SecurityMiddleware",
    "finops.web.static_files.StaticFilesMiddleware",
    "finops.lib.call_stack.in_one_chunk",  # around pages, whose templates call deeply
    "finops.web.compression.CompressionMiddleware",  # around all that writes pages; static files are compressed already
    "accounts.security.sessions.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "finops.rate_limits.RateLimits",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.reader_formats",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "finops.web.refusals.RefuseNullCharacters",
    "finops.web.refusals.read_whole_form",  # last: after the person is known, before the checks of views
]

ROOT_URLCONF = "finops.urls"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "accounts.context.frame",
            ],
            "builtins": [
                "finops.templatetags.console",
                "finops.templatetags.components",
                "finops.templatetags.help",
            ],
        },
    }
]

# PostgreSQL always. Unset, `manage.py up` runs one of its own at this address; other commands find it there.
DATABASE_URL: str = env.str("DATABASE_URL", "")
EMBEDDED_DATABASE: bool = not DATABASE_URL and not PRODUCTION
if EMBEDDED_DATABASE:
    DATABASE_URL = embedded.database_url(VAR_DIR)
DATABASES = {
    "default": {
        **env.db_url_config(DATABASE_URL or "postgres://finops@127.0.0.1:5432/finops"),
        "ENGINE": "finops.lib.postgresql",
    }
}
DATABASE_POOL, DATABASE_PREPARED = env.int("DATABASE_POOL", 40), env.bool("DATABASE_PREPARED", True)
DATABASES["default"]["OPTIONS"] = {
    **DATABASES["default"].get("OPTIONS", {}),
    "pool": {"min_size": 0, "max_size": DATABASE_POOL, "timeout": 10} if DATABASE_POOL else False,
    # For finops.lib.prepared_statements alone. Off behind a pooler that gives each transaction another connection.
    "prepare_threshold": 2 if DATABASE_PREPARED else None,
    "application_name": application_name(),
}
# Nor does a cursor live on there: rows of a long list are then held by the process that reads them.
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = not DATABASE_PREPARED
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Unset, `manage.py up` runs a server of its own; other commands find it while it runs, and else count limits for themselves.
EMBEDDED_REDIS: bool = not env.str("REDIS_URL", "")
REDIS_URL: str = env.str("REDIS_URL", "") or embedded.running_redis_url(VAR_DIR)
REDIS_TIMEOUT_SECONDS: float = env.float("REDIS_TIMEOUT_SECONDS", 0.5)
REDIS_OPTIONS: dict[str, Any] = {
    "socket_timeout": REDIS_TIMEOUT_SECONDS,
    "socket_connect_timeout": REDIS_TIMEOUT_SECONDS,
    "retry": Retry(NoBackoff(), 0),
}
WEB_PROCESSES: int = env.int("WEB_PROCESSES", 1)
# How many requests of each kind run at once in a process: a share each of the database pool, so that none waits for a
# connection that another kind holds. Of 11, one client has eight; a request that waits costs 0.2 ms of CPU more.
# Files under /static/ need no database.
WEB_SLOTS: dict[str, int] = {
    kind: max(1, share * (DATABASE_POOL or 40) // 40)
    for kind, share in {
        "push": 11,
        "mcp": 11,
        "cost-push": 2,
        "pages": 8,
        "sign-in": 4,
        "uploads": 3,
        "first-uploads": 1,
    }.items()
}
# How long a request's body may take before its rate counts, and the open connections of one address.
WEB_BODY_GRACE_SECONDS: float = env.float("WEB_BODY_GRACE_SECONDS", 10.0)
WEB_CONNECTIONS_PER_ADDRESS: int = env.int("WEB_CONNECTIONS_PER_ADDRESS", 512)
CACHES = {
    "default": {
        "BACKEND": "finops.lib.shared_cache.SharedCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": REDIS_OPTIONS,
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 10_000}}
}

LAKE_URL: str = env.str("LAKE_URL", str(VAR_DIR / "lake"))
BACKUP_KEY, BACKUP_TARGET = env.str("BACKUP_KEY", ""), env.str("BACKUP_TARGET", "")  # docs/operations.md
BACKUP_HOURS, BACKUP_KEEP = env.float("BACKUP_HOURS", 24.0), env.int("BACKUP_KEEP", 30)
LAKE_CACHE_BYTES: int = env.int("LAKE_CACHE_BYTES", 10 * 1024**3)
LAKE_CONCURRENCY: int = env.int("LAKE_CONCURRENCY", os.cpu_count() or 1)
LAKE_MEMORY_BYTES, LAKE_ANSWERS_BYTES = env.int("LAKE_MEMORY_BYTES", 0), env.int("LAKE_ANSWERS_BYTES", 2**26)
LAKE_DEADLINE_SECONDS: float = env.float("LAKE_DEADLINE_SECONDS", 20.0)
SPARK_REMOTE, SPARK_LAKE_URL = env.str("SPARK_REMOTE", ""), env.str("SPARK_LAKE_URL", "")  # docs/scale.md
SPARK_MIN_BYTES: int = env.int("SPARK_MIN_BYTES", 8 * 1024**3)
# What the process of one import may hold; 0: a quarter of the machine, 768 MB to 2 GB (finops.lib.child_process).
IMPORT_MEMORY_BYTES: int = env.int("IMPORT_MEMORY_BYTES", 0)
IMPORT_PART_BYTES: int = env.int("IMPORT_PART_BYTES", 256 << 20)  # finops.costs.services.import_parts

# The MCP endpoint.
MCP_RATE_LIMIT_PER_MINUTE: int = env.int("MCP_RATE_LIMIT_PER_MINUTE", 1_000)
MCP_MAX_BODY_BYTES: int = env.int("MCP_MAX_BODY_BYTES", 1024**2)
MCP_ALLOWED_ORIGINS: list[str] = env.list("MCP_ALLOWED_ORIGINS", default=[])
# How long calls of assistants are gathered before they are written to Assistant activity.
ACTIVITY_WRITE_SECONDS: float = env.float("ACTIVITY_WRITE_SECONDS", 0.5)

# The push endpoint.
USAGE_MAX_BODY_BYTES: int = env.int("USAGE_MAX_BODY_BYTES", 16 * 1024**2)
USAGE_RATE_LIMIT_PER_MINUTE: int = env.int("USAGE_RATE_LIMIT_PER_MINUTE", 1_000)
EVENT_RATE_LIMIT_PER_MINUTE: int = env.int("EVENT_RATE_LIMIT_PER_MINUTE", 1_000)
SCIM_RATE_LIMIT_PER_MINUTE: int = env.int("SCIM_RATE_LIMIT_PER_MINUTE", 1_500)

# Pushes of cost, /api/costs.
COST_PUSH_MAX_PART_BYTES: int = env.int("COST_PUSH_MAX_PART_BYTES", 64 * 1024**2)
COST_PUSH_MAX_PARTS: int = env.int("COST_PUSH_MAX_PARTS", 1_000)
COST_PUSH_RATE_LIMIT_PER_MINUTE: int = env.int("COST_PUSH_RATE_LIMIT_PER_MINUTE", 600)

# The same in the app and in the tools that create them; of dashboards the shared ones.
BUDGETS_PER_ACCOUNT: int = env.int("BUDGETS_PER_ACCOUNT", 50)
DASHBOARDS_PER_ACCOUNT: int = env.int("DASHBOARDS_PER_ACCOUNT", 20)
ALERT_SUBSCRIPTIONS_PER_ACCOUNT: int = env.int("ALERT_SUBSCRIPTIONS_PER_ACCOUNT", 200)

# Alerts. Targets in private networks are refused unless they lie in one of these, e.g. 10.20.0.0/16 for a Mattermost of
# one's own; plain http is allowed there alone.
ALERT_ALLOWED_NETWORKS: list[str] = env.list("ALERT_ALLOWED_NETWORKS", default=[])
ALERT_SEND_SECONDS: float = env.float("ALERT_SEND_SECONDS", 10.0)
PAGERDUTY_EVENTS_URL: str = env.str("PAGERDUTY_EVENTS_URL", "https://events.pagerduty.com/v2/enqueue")

# Cost connections. Folders of this server that may be read as a source, and whether a connection may use this server's own
# identity at a cloud without a role of its own: every account could then read what the identity can.
CONNECTION_FOLDERS: list[str] = env.list("CONNECTION_FOLDERS", default=[])
CONNECTION_AMBIENT_IDENTITY: bool = env.bool("CONNECTION_AMBIENT_IDENTITY", False)
DATA_EXPORT_FOLDERS: list[str] = env.list("DATA_EXPORT_FOLDERS", default=[])  # for data exports
# Where roles are assumed, empty for AWS's own address; and the ARN of this server's identity, which trust policies name.
AWS_STS_URL: str = env.str("AWS_STS_URL", "")
AWS_PRINCIPAL_ARN: str = env.str("AWS_PRINCIPAL_ARN", "")
# Base URLs of vendors' APIs by connector, where not the vendor's own: a proxy, or a server of tests.
CONNECTOR_BASE_URLS: dict[str, str] = env.dict("CONNECTOR_BASE_URLS", default={})

EXCHANGE_RATES_URL: str = env.str("EXCHANGE_RATES_URL", "")  # the European Central Bank's file; empty: none
# Sign-in.
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.security.backend.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_HASHERS = [*global_settings.PASSWORD_HASHERS, "accounts.oauth.hashers.RandomSecretHasher"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_FORMS, MFA_FORMS = form_classes.ACCOUNT_FORMS, form_classes.MFA_FORMS
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = env.str("EMAIL_VERIFICATION", "mandatory" if PRODUCTION else "none")
ACCOUNT_SESSION_REMEMBER = ACCOUNT_PREVENT_ENUMERATION = ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# Before email addresses, second factors and keys with write access: the password or second factor, of the last 15
# minutes.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 900
# Counted by finops.rate_limits, accounts.security.guesses and accounts.adapter, so that a stranger uses up nobody's attempts.
_UNCOUNTED = ("login", "login_failed", "signup", "reset_password", "reset_password_from_key", "confirm_email")
ACCOUNT_RATE_LIMITS, MFA_RATE_LIMITS = dict.fromkeys(_UNCOUNTED), {"webauthn_login": None}
RATELIMIT_FAIL_OPEN = True  # a counter that was lost with Redis refuses no request
MFA_ADAPTER = "accounts.security.mfa.MFAAdapter"
SESSION_ENGINE, MESSAGE_STORAGE = "accounts.security.sessions", "finops.web.messages.MessageStorage"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = ACCOUNT_UNIQUE_EMAIL = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION
vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = 10
# Where people report weaknesses: /.well-known/security.txt. An address, or an https: or mailto: URI.
SECURITY_CONTACT: str = env.str("SECURITY_CONTACT", "")
DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", "FinOps Console <noreply@localhost>")

OAUTH2_PROVIDER_APPLICATION_MODEL = "accounts.OAuthApplication"
OAUTH2_PROVIDER_GRANT_MODEL = "accounts.OAuthGrant"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "accounts.OAuthAccessToken"  # noqa: S105 a model's name
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "accounts.OAuthRefreshToken"  # noqa: S105 a model's name
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "accounts.OAuthIDToken"  # noqa: S105 a model's name
OAUTH2_PROVIDER_DEVICE_GRANT_MODEL = "accounts.OAuthDeviceGrant"
OAUTH2_PROVIDER = provider_settings(PUBLIC_URL)
OAUTH_REDIRECT_SCHEMES: list[str] = env.list("OAUTH_REDIRECT_SCHEMES", default=[])
OAUTH2_PROVIDER["ALLOWED_REDIRECT_URI_SCHEMES"] += OAUTH_REDIRECT_SCHEMES
OAUTH_REGISTER_PER_MINUTE: int = env.int("OAUTH_REGISTER_PER_MINUTE", 60)
OAUTH_TOKEN_PER_MINUTE: int = env.int("OAUTH_TOKEN_PER_MINUTE", 600)
SSO_DNS_SERVERS: list[str] = env.list("SSO_DNS_SERVERS", default=[])  # host:port; empty: the system's

# Tasks. No effect depends on a message surviving: the database says what is due and beat asks again.
# Without Redis there are no messages: finops.celery sends none, and workers and beat refuse to start.
CELERY_BROKER_URL: str = broker_url(REDIS_URL) or "memory://"
# Workers wait a second for a message: longer than REDIS_TIMEOUT_SECONDS.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"socket_timeout": 2, "socket_connect_timeout": 2, "max_retries": 0} if REDIS_URL else {}
)
CELERY_TASK_QUEUES = TASK_QUEUES
CELERY_TASK_ROUTES = TASK_ROUTES
CELERY_TASK_DEFAULT_QUEUE = CELERY_TASK_DEFAULT_EXCHANGE = CELERY_TASK_DEFAULT_ROUTING_KEY = INSIGHTS
CELERY_WORKER_POOL = "finops.worker.pool:LanePool"
# A worker takes every message at once and lets its lanes decide; a full lane must not keep the others' messages out.
CELERY_WORKER_PREFETCH_MULTIPLIER = 0
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# When beat last sent what; finops.celery makes the folder.
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat" / "schedule")
CELERY_BEAT_SCHEDULER = "finops.worker.liveness:Scheduler"
# Redis may be away for as long as it likes: a worker waits for it, and beat tries again with each message.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BEAT_SCHEDULE = beat_schedule(QUEUES)

# Imports and uploads: how long one may take, and how many of an account may wait and run.
JOB_MAX_SECONDS: float = env.float("JOB_MAX_SECONDS", 6 * 3600)
# A fetch of a sync that no byte comes for in so long is ended; a look at what months there are may take so long.
SYNC_STALL_SECONDS: float = env.float("SYNC_STALL_SECONDS", 900)
SYNC_LOOK_SECONDS: float = env.float("SYNC_LOOK_SECONDS", 600)
# A person waits for it, and it holds a slot of the web server; proxies wait 60 seconds.
CONNECTION_TEST_SECONDS: float = env.float("CONNECTION_TEST_SECONDS", 45)
JOBS_PER_ACCOUNT: int = env.int("JOBS_PER_ACCOUNT", 20)

# Uploads stream to disk; only forms are held in memory.
FILE_UPLOAD_HANDLERS = ["finops.costs.uploads.SignedInUploadHandler"]
FILE_UPLOAD_TEMP_DIR = str(VAR_DIR / "uploads")
make_own_dir(Path(FILE_UPLOAD_TEMP_DIR))
FILE_UPLOAD_PERMISSIONS = 0o600
UPLOAD_MAX_BYTES: int = env.int("UPLOAD_MAX_BYTES", 20 * 1024**3)
# Beneath so much room on a disk of this machine, imports, uploads and merges wait (finops.lib.disk).
LOW_DISK_BYTES: int = env.int("LOW_DISK_BYTES", 10**9)

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_DIR", str(VAR_DIR / "static")))
STATICFILES_DIRS, NODE_MODULES = [BASE_DIR / "static"], BASE_DIR / "node_modules"
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "finops.staticfiles.VendorFinder",
]
# Compressing a source map costs seconds and only a developer's tools fetch one.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = [*Compressor.SKIP_COMPRESS_EXTENSIONS, "map"]
# Pages name hashed files only; keeping both would compress everything twice (18 s instead of 6).
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "finops.staticfiles.StaticFilesStorage"},
}
WHITENOISE_MAX_AGE = 3600
# Only our own pages load static files; the header is 33 bytes of each of 40 responses of a first load.
WHITENOISE_ALLOW_ALL_ORIGINS = False

CONTENT_SECURITY_POLICY = security_policy.DIRECTIVES_OF_PAGES

LANGUAGE_CODE, TIME_ZONE, USE_I18N = "en-gb", "UTC", False

# What operators see (docs/operations.md).
LOG_FORMAT: str = env.str("LOG_FORMAT", logs.default_form(production=PRODUCTION))
LOGGING_CONFIG = "finops.lib.telemetry.logs.configure"
LOGGING = logs.configuration(form=LOG_FORMAT, level=env.str("LOG_LEVEL", "INFO"))
METRICS_TOKEN: str = env.str("METRICS_TOKEN", "")  # bearer token of /metrics; empty: no metrics
TRACES_URL: str = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "")  # of a collector; empty: no traces
SENTRY_DSN: str = env.str("SENTRY_DSN", "")  # where errors are reported; empty: nowhere
METRICS_DIR = Path(env.str("METRICS_DIR", str(VAR_DIR / "metrics")))  # shared by the programs of this machine
METRICS_LISTEN: str = env.str("METRICS_LISTEN", "")  # host:port of /metrics of workers; empty: none
# auth.W004: User.email is unique, by a constraint on its lower case that the check does not see.
# oauth2_provider.W008: http redirects serve programs on the person's own machine; OAuthApplication.clean allows no other.
SILENCED_SYSTEM_CHECKS: list[str] = ["auth.W004", "oauth2_provider.W008"]
