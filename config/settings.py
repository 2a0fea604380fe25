"""All settings, read from the environment. Nothing else in the project reads it.

`DATABASE_URL`, `REDIS_URL` and `DATA_DIR` are the locations of services and data; without them the product
runs embedded: SQLite under `var/`, no Redis, one machine. `PHRASEBOX_ENV=production` enables strict checks,
and prevents starting with unsafe settings. docs/operation.md lists every name.
"""

import gc
import json
import logging
import os
import re
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email


def _one_of(name: str, allowed: tuple[str, ...]) -> str:
    """Return the variable `name`, which must be one of `allowed`; by default the first of them."""
    value = os.environ.get(name) or allowed[0]
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is unknown; use one of: {', '.join(allowed)}")
    return value


def _number(name: str, usual: int) -> int:
    """Return the variable `name`, a whole number from 0 on; `usual` if it is unset."""
    value = os.environ.get(name) or str(usual)
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name}={value!r} is not a number; use digits only, as in {name}={usual}")
    return int(value)


BASE_DIR = Path(__file__).resolve().parent.parent
_VERSION = re.search(r'^__version__ = "(.+)"$', (BASE_DIR / "phrasebox" / "__init__.py").read_text(), re.M)
#: The version of the product, from the library, which must not be imported here.
PRODUCT_VERSION = _VERSION.group(1) if _VERSION is not None else ""
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()
# A start makes half a million objects that stay. By default Python visits them again and again, which takes
# a fifth of the start.
gc.set_threshold(50_000, 20, 10)
# Only our user may read what we write (annotation/common/private_files.py).
os.umask(0o077)
# matplotlib caches the list of fonts, by default in the home folder, which a server need not have.
os.environ.setdefault("MPLCONFIGDIR", str(DATA_DIR / "matplotlib"))
# numba caches compiled code, by default beside the source, which may be read-only.
os.environ.setdefault("NUMBA_CACHE_DIR", str(DATA_DIR / "numba"))
PRODUCTION = _one_of("PHRASEBOX_ENV", ("development", "production")) == "production"

# Who may talk to us, and what we are keyed with ------------------------------------------------

DEFAULT_SECRET = "insecure-key-for-development-only"
SHORTEST_SECRET = 50
SECRET_KEY = os.environ.get("SECRET_KEY") or DEFAULT_SECRET
DEBUG = _one_of("DEBUG", ("0", "1")) == "1"
#: Default address of `manage.py serve`.
DEFAULT_SITE_URL = "http://127.0.0.1:8000"


def _site_url() -> str:
    """Return the prefix of every address of this server in e-mails, webhooks and invitations."""
    value = os.environ.get("SITE_URL", "").strip().rstrip("/") or DEFAULT_SITE_URL
    host = urlsplit(value).netloc.rpartition("@")[2]
    if not host or value not in (f"http://{host}", f"https://{host}"):
        raise ImproperlyConfigured(
            f"SITE_URL={value!r} is not the address of a server; use one such as https://example.org"
        )
    return value


#: In development, `manage.py serve` sets its own address.
SITE_URL = _site_url()
#: Whether browsers reach us by TLS. A proxy terminates it and sets X-Forwarded-Proto.
HTTPS = SITE_URL.startswith("https://")
#: The host of SITE_URL and others; requests to other hosts are rejected.
ALLOWED_HOSTS = [
    re.sub(r":\d+$", "", urlsplit(SITE_URL).netloc),
    *filter(None, map(str.strip, os.environ.get("ALLOWED_HOSTS", "").split(","))),
    *(() if PRODUCTION else ("127.0.0.1", "localhost", "[::1]")),
]
#: Whether webhooks may call this machine: only for tests.
WEBHOOKS_TO_LOOPBACK = _one_of("WEBHOOKS_TO_LOOPBACK", ("0", "1")) == "1"


def _model_origins() -> dict[str, str]:
    """Return the origins of models that the operator trusts, wherever they are, each with its key or ""."""
    origins = {}
    for entry in filter(None, map(str.strip, os.environ.get("MODEL_ORIGINS", "").split(","))):
        origin, _, key = entry.partition(" ")
        parts = urlsplit(origin)
        if (
            parts.scheme not in ("http", "https")
            or not parts.netloc
            or origin != f"{parts.scheme}://{parts.netloc}"
        ):
            raise ImproperlyConfigured(
                f"MODEL_ORIGINS: {origin!r} is no origin; use one such as http://10.0.0.5:9090, with a key "
                "after a space if it needs one, and commas between several"
            )
        origins[origin.lower()] = key.strip()
    return origins


#: Models at these origins may be asked although they are not on the internet; keys are sent to their origin.
MODEL_ORIGINS = _model_origins()


def _contact() -> str:
    """Return the contact address of the consent text; "" if it is unset."""
    value = os.environ.get("CONTACT_EMAIL", "").strip()
    try:
        if value:
            validate_email(value)
    except ValidationError:
        raise ImproperlyConfigured(
            f"CONTACT_EMAIL={value!r} is no e-mail address; use one that somebody reads"
        ) from None
    return value


CONTACT_EMAIL = _contact()


def _problems() -> list[str]:
    """Return settings that are invalid in production, one line each with its remedy."""
    problems = []
    if SECRET_KEY == DEFAULT_SECRET:
        problems.append("SECRET_KEY is not set; set it to a long random string and keep it")
    elif len(SECRET_KEY) < SHORTEST_SECRET:
        problems.append(f"SECRET_KEY has {len(SECRET_KEY)} characters; use at least {SHORTEST_SECRET}")
    if DEBUG:
        problems.append("DEBUG=1 shows internals to visitors; unset it")
    if WEBHOOKS_TO_LOOPBACK:
        problems.append("WEBHOOKS_TO_LOOPBACK=1 lets webhooks reach this machine's own services; unset it")
    if not os.environ.get("SITE_URL"):
        problems.append("SITE_URL is not set; name the address that browsers use, as in https://example.org")
    if not CONTACT_EMAIL:
        problems.append("CONTACT_EMAIL is not set; name an e-mail address at which you answer workers")
    if "*" in ALLOWED_HOSTS:
        problems.append("ALLOWED_HOSTS=* accepts any host; name the hosts of this server")
    return problems


if PRODUCTION and (problems := _problems()):
    raise ImproperlyConfigured(
        "\n".join(f"PHRASEBOX_ENV=production cannot start: {line}" for line in problems)
    )

# What we are made of ---------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",  # the scripts of its pages, so that no other server is needed
    # For signing in by OpenID Connect. None of allauth's own addresses is served
    # (annotation.recruitment.oidc).
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "annotation",
    "evaluation",
    "config",  # for its command
]
MIDDLEWARE = [
    "config.middleware.RequestLog",
    "config.middleware.ReadableForms",
    "config.middleware.WorkerCalls",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    # Every view requires a sign-in by default.
    "config.middleware.SignInRequired",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                        "annotation.task_types.files.Templates",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            # Template libraries: these are with the pages, not at an app's root.
            "libraries": {
                **{
                    name: f"annotation.web.tags.{name}"
                    for name in ("boxes", "examples", "pages", "staff", "tasks")
                },
                "figures": "evaluation.web.tags.figures",
            },
        },
    }
]
AUTH_USER_MODEL = "annotation.Account"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
#: Nobody gets an account through another server, or by an equal e-mail address.
ACCOUNT_ADAPTER = "annotation.recruitment.sign_in_elsewhere.NoSignUp"
SOCIALACCOUNT_ADAPTER = "annotation.recruitment.sign_in_elsewhere.SignInElsewhere"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
SOCIALACCOUNT_AUTO_SIGNUP = False
SOCIALACCOUNT_STORE_TOKENS = False
ACCOUNT_EMAIL_VERIFICATION = SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
#: In seconds. A server that is away must not delay a page for longer.
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign_in"

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _oidc() -> dict[str, str] | None:
    """Return the server for signing in (OpenID Connect); None if OIDC_ISSUER is unset."""
    issuer = os.environ.get("OIDC_ISSUER", "").strip()
    client = os.environ.get("OIDC_CLIENT_ID", "").strip()
    secret = os.environ.get("OIDC_CLIENT_SECRET", "").strip()
    if not (issuer or client or secret):
        return None
    if not (issuer and client and secret):
        raise ImproperlyConfigured(
            "set all of OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, or none of them"
        )
    login = os.environ.get("OIDC_LOGIN_ORIGIN", "").strip() or issuer
    origins = []
    for name, address in (("OIDC_ISSUER", issuer), ("OIDC_LOGIN_ORIGIN", login)):
        parts = urlsplit(address)
        if not parts.hostname or not (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        ):
            raise ImproperlyConfigured(
                f"{name}={address} is not valid; expected https://HOST or https://HOST/PATH"
            )
        origins.append(f"{parts.scheme}://{parts.netloc}")
    return {
        "issuer": issuer.rstrip("/"),
        "client_id": client,
        "secret": secret,
        "name": os.environ.get("OIDC_NAME", "").strip() or urlsplit(issuer).hostname or "",
        "login_origin": origins[-1],
    }


#: Another way of signing in, besides passwords. Its pages widen the policy below, for the redirect.
OIDC = _oidc()

LANGUAGE_CODE = "en"
#: Languages of pages, each by its own name: the reader's choice, else the browser's.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# Where things are ------------------------------------------------------------------------------

SQLITE, POSTGRESQL = "django.db.backends.sqlite3", "django.db.backends.postgresql"


def _database() -> dict[str, object]:
    """Return the database of DATABASE_URL, or SQLite in DATA_DIR, created if missing."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        try:
            DATA_DIR.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ImproperlyConfigured(f"DATA_DIR={DATA_DIR} cannot be created: {error.strerror}") from error
        url = f"sqlite:///{DATA_DIR / 'phrasebox.sqlite3'}"
    try:
        # Threads reuse their connection; a dead one is noticed before it is used again.
        database = dict(dj_database_url.parse(url, conn_max_age=600, conn_health_checks=True))
    except ValueError:
        database = {"ENGINE": None}
    if database["ENGINE"] not in (SQLITE, POSTGRESQL):
        raise ImproperlyConfigured(
            "DATABASE_URL is not valid; expected postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH"
        )
    if database["ENGINE"] == SQLITE:
        database["OPTIONS"] = {
            # A transaction that will write waits for its lock at the beginning, instead of failing half-way
            # when a reader tries to become a writer.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,  # seconds
            # In WAL mode NORMAL loses no committed transaction when the process dies.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return database


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


def _packages(variable: str) -> list[str]:
    """Return names of Python packages, separated by commas."""
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


#: Packages with additional task types (`annotation.task_types.discovery`), corpus formats and measures
#: (`phrasebox.plug_ins`), and ranking methods (`models_core.estimators.discovery`).
TASK_TYPE_PACKAGES = _packages("TASK_TYPE_PACKAGES")
FORMAT_PACKAGES = _packages("FORMAT_PACKAGES")
METRIC_PACKAGES = _packages("METRIC_PACKAGES")
METHOD_PACKAGES = _packages("METHOD_PACKAGES")
OPERATION_PACKAGES = _packages("OPERATION_PACKAGES")

#: Nothing under DATA_DIR has an address: pictures are served by a view that checks permissions.
MEDIA_ROOT = DATA_DIR / "media"
#: Bytes that must be free there; otherwise /readyz fails.
DISK_RESERVE = _number("DISK_RESERVE", 100) * 10**6
#: Maximum bytes of one account's uploads for new corpora (UPLOAD_QUOTA, in MB).
UPLOAD_QUOTA = _number("UPLOAD_QUOTA", 20_000) * 10**6
#: Limits of a process that reads a user's file: megabytes, and seconds between two messages.
READER_MEMORY, READER_SECONDS = _number("READER_MEMORY", 1_500), _number("READER_SECONDS", 120)
#: Its environment, without secrets.
READER_ENVIRONMENT = {
    name: os.environ[name]
    for name in ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR")
    if name in os.environ
}
#: Prefix under which the proxy serves DATA_DIR for us (X-Accel-Redirect); empty if we send files ourselves.
PICTURE_PROXY_PREFIX = os.environ.get("PICTURE_PROXY_PREFIX", "")
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "annotation.task_types.files.Signs",
]
#: The documentation, built by `make docs` and shown under /docs/.
DOCS_SITE = BASE_DIR / "build" / "docs"
#: Where `collectstatic` puts the files for production. Embedded, files are served from their sources.
STATIC_ROOT = Path(os.environ.get("STATIC_ROOT") or DATA_DIR / "static") if PRODUCTION else None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "config.static.StaticFiles"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# What browsers may do --------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "upgrade-insecure-requests": HTTPS,
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
#: Stores the digest of a session's key, never the key.
SESSION_ENGINE = "annotation.common.session_store"
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else "session"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
# Lax permits links from e-mails and crowd platforms, but no forms from other sites.
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "csrf"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Strict"
LANGUAGE_COOKIE_NAME = "__Host-language" if HTTPS else "language"
LANGUAGE_COOKIE_SECURE = HTTPS
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600  # seconds
#: In which accounts have signed in: these wait less after others' attempts.
KNOWN_BROWSER_COOKIE_NAME = "__Host-known" if HTTPS else "known"
#: Half of the code for coming back; the session has the other.
RETURN_CODE_COOKIE_NAME = "__Host-return-code" if HTTPS else "return-code"
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
# Whether subdomains and browsers' built-in lists are included is the domain owner's decision.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    # No browsable pages: they contain inline code, which the policy above forbids.
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Phrasebox",
    "VERSION": "1",
    "LICENSE": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
    "SERVERS": [{"url": "/", "description": "The server that this document comes from"}],
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": False,
    "PREPROCESSING_HOOKS": ["annotation.api.document.describe_operations"],
    "POSTPROCESSING_HOOKS": [
        "annotation.api.document.complete_document",
    ],
    "DESCRIPTION": "Everything a page can do, for programs. [How to begin](/docs/api.html).",
}
#: Calls of the REST API per account and minute: reads (in each process), and writes.
API_READS_A_MINUTE = _number("API_READS_A_MINUTE", 1200)
API_WRITES_A_MINUTE = _number("API_WRITES_A_MINUTE", 240)

# E-mail and platforms --------------------------------------------------------------------------

#: Schemes of EMAIL_URL, and their default ports.
MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def _mail(address: str) -> SplitResult:
    """Return the parts of EMAIL_URL; empty if it is unset."""
    parts = urlsplit(address)
    try:
        if not address or (parts.scheme in MAIL_PORTS and parts.hostname and parts.port != 0):
            return parts
    except ValueError:
        pass  # a port that is no number
    raise ImproperlyConfigured(
        "EMAIL_URL is not valid; expected smtp://HOST:PORT, or smtp+tls:// or smtps://USER:PASSWORD@HOST:PORT"
    )


_MAIL = _mail(os.environ.get("EMAIL_URL", ""))
#: Whether e-mail can be sent. In development it is printed on the terminal.
SENDS_MAIL = bool(_MAIL.scheme) or not PRODUCTION
EMAIL_BACKEND = "django.core.mail.backends." + (
    "smtp.EmailBackend" if _MAIL.scheme else "console.EmailBackend" if SENDS_MAIL else "dummy.EmailBackend"
)
EMAIL_HOST = _MAIL.hostname or "localhost"
EMAIL_PORT = _MAIL.port or MAIL_PORTS.get(_MAIL.scheme, 25)
EMAIL_HOST_USER = unquote(_MAIL.username or "")
EMAIL_HOST_PASSWORD = unquote(_MAIL.password or "")
EMAIL_USE_TLS = _MAIL.scheme == "smtp+tls"
EMAIL_USE_SSL = _MAIL.scheme == "smtps"
#: In seconds. A mail server that is away must not delay the jobs that send e-mail.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = os.environ.get("EMAIL_FROM") or "phrasebox@localhost"
#: The secret of Prolific's webhook signatures.
PROLIFIC_WEBHOOK_SECRET = os.environ.get("PROLIFIC_WEBHOOK_SECRET", "")
#: The token for asking Prolific's API about a submission's participant.
PROLIFIC_API_TOKEN = os.environ.get("PROLIFIC_API_TOKEN", "")
#: Whether Prolific signs the links of our studies: then links without its signature are rejected.
PROLIFIC_SIGNED_LINKS = _one_of("PROLIFIC_SIGNED_LINKS", ("0", "1")) == "1"


def _key_set(path: str) -> dict[str, object] | None:
    """Return the public keys in the file PROLIFIC_JWKS; None if it is unset and they are fetched."""
    if not path:
        return None
    try:
        keys = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(keys["keys"], list) and keys["keys"]:
            return dict(keys)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ImproperlyConfigured(
        f"PROLIFIC_JWKS={path} contains no public keys; save the content of "
        "https://api.prolific.com/.well-known/study/jwks.json there, or unset it"
    )


PROLIFIC_JWKS = _key_set(os.environ.get("PROLIFIC_JWKS", ""))

# Work beside the pages -------------------------------------------------------------------------

REDIS_URL = os.environ.get("REDIS_URL") or None
CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# A Job's row is authoritative; the broker only delivers its id.
CELERY_TASK_IGNORE_RESULT = True
# A delivery is acknowledged after its work: a killed worker's task is delivered again, and tasks are
# idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A job that takes longer is queued again from its checkpoint, and has five minutes to notice.
CELERY_TASK_SOFT_TIME_LIMIT = 2 * 3600  # seconds
CELERY_TASK_TIME_LIMIT = CELERY_TASK_SOFT_TIME_LIMIT + 300
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the limit of any task, or else Redis would deliver it a second time while it runs.
    "visibility_timeout": CELERY_TASK_TIME_LIMIT + 600,
    # A request for a job does not wait for a broker that is away: the sweep sends it later.
    "socket_connect_timeout": 2,
    "socket_timeout": 10,
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2}
# A worker consumes both by default (--queues). Separated, a long job cannot delay the periodic work.
CELERY_TASK_QUEUES: dict[str, dict[str, object]] = {"jobs": {}, "periodic": {}}
CELERY_TASK_DEFAULT_QUEUE = "jobs"
CELERY_TASK_ROUTES = {"annotation.periodic": {"queue": "periodic"}}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULER = "config.beat:Scheduler"

#: For METEOR, a measure of captions in Java; empty: searched automatically.
JAVA_HOME = os.environ.get("JAVA_HOME", "")
METEOR_JAR = os.environ.get("METEOR_JAR", "")

# What we say -----------------------------------------------------------------------------------

logging.captureWarnings(PRODUCTION)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "config.logs.JsonFormatter"},
        "plain": {"()": "config.logs.Discreet", "format": "%(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "json" if PRODUCTION else "plain"},
    },
    "root": {"handlers": ["console"], "level": "INFO" if PRODUCTION else "WARNING"},
    "loggers": {
        # These two have handlers of their own; here all logs go through the root.
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        "gunicorn.error": {"handlers": [], "propagate": True},
    },
}
