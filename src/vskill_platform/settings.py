"""Every setting, read once from the environment; docs/settings.md explains each."""

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from vskill_platform.blob_settings import blob_options
from vskill_platform.errors import ConfigError
from vskill_platform.mail_settings import mail_server
from vskill_platform.mirror_settings import check_mirrors
from vskill_platform.secret_settings import FILE_SUFFIX, Secret, hide_secrets, read_secret, read_url
from vskill_platform.setting_values import (
    format_duration,
    is_loopback,
    is_plain_url,
    listed,
    parse_value,
    refuse_misspelt,
)
from vskill_platform.sign_on_settings import SignOnFields, check_sign_on

PREFIX = "VSKILL_"

#: A host, optionally with a scheme and a port.
_HOST = re.compile(r"(?:(https?)://)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?")
_HOST_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")
#: Settings that may contain a password.
URLS = frozenset({"database_url", "database_listen_url"})
MAX_FEATURED = 12
#: Request fields that options of the judge may not change.
_ASKED_BY_US = frozenset({"model", "messages", "stream", "n", "tools"})


class Settings(SignOnFields, frozen=True, kw_only=True):
    database_url: str = "sqlite:///vskill-platform.db"
    #: The same database for notifications, if a pooler is in between.
    database_listen_url: str = ""
    #: The maximum number of connections of one process to a database server.
    database_pool_size: Annotated[int, msgspec.Meta(ge=2, le=100)] = 8
    #: Where archives and uploads are stored, if not in the database: file:///folder or s3://bucket.
    blobs_url: str = ""
    #: Credentials for a bucket; if empty, those in the environment are used.
    blobs_key_id: str = ""
    blobs_key: Secret = msgspec.field(default_factory=Secret)
    #: How long the signed URLs of a bucket are valid, to which downloads redirect; 0s for no
    #: redirects.
    blobs_signed_url_lifetime: timedelta = timedelta(0)
    #: The folder of the search index and other files that can be built again.
    cache_dir: str = ""
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 8000
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"
    #: Whether every request gets a line in the log.
    access_log: bool = False
    #: The token with which Prometheus reads /metrics; operators need none.
    metrics_token: Secret = msgspec.field(default_factory=Secret)
    #: The port on which `work` serves /metrics; 0 for none.
    metrics_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    #: The name of this process in heartbeats and histories.
    node: str = msgspec.field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")
    #: The file with the operator's policy; empty for none.
    policy: str = ""
    #: The file with the operator's own scanners; empty for none.
    scanners: str = ""
    #: The URL of this registry, such as https://skills.example.
    public_url: str = ""

    #: Other host names of this registry, separated by commas.
    allowed_hosts: str = ""
    #: Who may submit on the web: everyone, users with an account, or publishers. By default, a
    #: registry that others can reach accepts nothing from visitors without an account.
    submit_by: Literal["anyone", "signed_in", "publishers"] = "anyone"
    #: The lifetime of a session.
    session_lifetime: timedelta = timedelta(days=7)
    #: Requests per minute of one address, user or token.
    reads_per_minute: int = 600
    writes_per_minute: int = 60
    #: Sign-in attempts per minute from one address, or with one name.
    sign_ins_per_minute: int = 10
    connections_per_address: int = 200
    #: Uploads to namespaces without owners, such as @local, per day (UTC): of one visitor, and of
    #: all.
    unowned_uploads_per_day: int = 200
    unowned_upload_bytes_per_day: int = 256 * 1024 * 1024
    unowned_namespace_bytes_per_day: int = 2 * 1024 * 1024 * 1024
    #: Addresses of trusted reverse proxies, separated by commas.
    trusted_proxies: str = ""

    #: How many skills the discovery index of the whole registry lists, most installed first.
    discovery_skills: Annotated[int, msgspec.Meta(ge=0, le=200)] = 20
    git_cache_bytes: Annotated[int, msgspec.Meta(ge=1024 * 1024)] = 1024 * 1024 * 1024

    max_batch_size: int = 3
    max_concurrency: int = 10
    #: How many skills are checked at the same time, each in its own process.
    scan_processes: int = msgspec.field(default_factory=lambda: os.cpu_count() or 1)
    max_retries: int = 3
    #: Before the n-th retry, a message waits n times this long.
    retry_delay: timedelta = timedelta(seconds=10)

    # The deadlines are nested: a slow judge must not fail the message, a slow message must not lose
    # its lease, and a lost lease must not fail the submission. check_nesting() enforces this.
    judge_deadline: timedelta = timedelta(seconds=30)
    message_deadline: timedelta = timedelta(seconds=55)
    lease: timedelta = timedelta(seconds=85)
    stuck_threshold: timedelta = timedelta(minutes=5)
    #: How long running checks and open requests may take to finish after a stop signal.
    stop_grace: timedelta = timedelta(seconds=20)

    # Reviews.
    #: When a review is overdue; then there is a reminder once a day.
    review_reminder: timedelta = timedelta(days=1)
    #: The program to run for a reminder, with its arguments, as a JSON list; empty for none.
    notify_command: str = ""

    # How long records are kept; 0s means forever.
    #: Submissions that failed, or were rejected or withdrawn, and never published anything.
    keep_failed: timedelta = timedelta(days=90)
    keep_dead_letters: timedelta = timedelta(days=90)
    keep_audit: timedelta = timedelta(0)
    #: Yanked versions; then their files are deleted, and the number stays taken.
    keep_yanked: timedelta = timedelta(0)

    # Sources.
    #: The host of `owner/repo`.
    default_host: str = "github.com"
    #: Hosts that are allowed although their addresses are private, separated by commas.
    private_hosts: str = ""
    #: Folders on this machine from which skills may be submitted, separated by commas.
    local_folders: str = ""
    #: The deadline of one fetch, and the timeout of a host's response.
    fetch_deadline: timedelta = timedelta(seconds=40)
    host_timeout: timedelta = timedelta(seconds=10)
    fetches_per_host: int = 2
    fetches_per_submitter: int = 4
    anonymous_pending: int = 200
    #: How often a followed repository is checked for new commits.
    follow_every: timedelta = timedelta(hours=1)
    #: The secret with which git hosts sign push webhooks; without it, they are refused.
    push_secret: Secret = msgspec.field(default_factory=Secret)

    # Mirrors of other registries.
    #: The file that lists them; empty for none.
    mirrors: str = ""
    #: Who may cause a skill to be fetched: everyone, or users with an account.
    mirror_by: Literal["anyone", "signed_in"] = "signed_in"
    #: Whether only skills that are already here are served, for all mirrors in the file.
    mirror_offline: bool = False
    #: How many skills of one mirror may be queued, and how many requests a visitor has per hour.
    mirror_pending: int = 50
    mirror_requests_per_hour: int = 60
    #: How often a mirrored skill is compared with the other registry.
    mirror_every: timedelta = timedelta(hours=6)

    #: Slugs of the skills that the home page shows first, separated by commas.
    featured_skills: str = ""
    # The judge of tier 2; disabled without a URL.
    judge_url: str = ""
    judge_model: str = ""
    judge_key: Secret = msgspec.field(default_factory=Secret)
    #: Additional fields of the request, as a JSON object.
    judge_options: str = '{"temperature": 0, "max_tokens": 2000}'
    judge_max_chars: Annotated[int, msgspec.Meta(ge=1000)] = 120_000
    #: The price of a million tokens.
    judge_price_in: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    judge_price_out: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    judge_daily_tokens: int = 5_000_000
    judge_over_budget: Literal["review", "tier1"] = "review"
    judge_may_lower: bool = False


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings; an error about an invalid value names the variable, and no secret."""
    try:
        return _load_settings(environ)
    except ConfigError as error:
        message = str(error)
        for name, value in environ.items():
            if name.startswith(PREFIX):
                message = hide_secrets(message, of=value)
        raise ConfigError(message) from None  # not chained: the original may quote a password


def _load_settings(environ: Mapping[str, str]) -> Settings:
    names = {variable(field.name): field for field in msgspec.structs.fields(Settings)}
    files = {
        name + FILE_SUFFIX
        for name, field in names.items()
        if field.type is Secret or field.name in URLS
    }
    refuse_misspelt(environ, set(names) | files, prefix=PREFIX)
    values = {
        field.name: parse_value(name, environ[name], field.type)
        for name, field in names.items()
        if name in environ and field.type is not Secret and field.name not in URLS
    }
    values |= {
        field.name: url
        for name, field in names.items()
        if field.name in URLS and (url := read_url(name, environ))
    }
    values |= {
        field.name: read_secret(name, environ)
        for name, field in names.items()
        if field.type is Secret
    }
    settings = Settings(**values)
    if not settings.cache_dir and not settings.database_url.startswith("sqlite:"):
        settings = msgspec.structs.replace(settings, cache_dir=_default_cache_dir(environ))
    if "submit_by" not in values and not is_for_this_machine(settings):
        settings = msgspec.structs.replace(settings, submit_by="signed_in")
    checks = (check_nesting, check_judge, check_paths, check_public_url, check_access)
    more = (check_cache_dir, check_retention, check_sign_on, blob_options, notify_arguments)
    for check in (*checks, *more, featured_slugs, mail_server):
        check(settings)
    check_mirrors(
        settings.mirrors, settings.mirror_every, private_origins=allowed_origins(settings)
    )
    return settings


def _default_cache_dir(environ: Mapping[str, str]) -> str:
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the specification ignores relative paths
        base = Path(environ.get("HOME", "~")).expanduser() / ".cache"
    return str(base / "vskill-platform" / "registry")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def check_nesting(settings: Settings) -> None:
    names = ("judge_deadline", "message_deadline", "lease", "stuck_threshold")
    for inner, outer in pairwise(names):
        if getattr(settings, inner) >= getattr(settings, outer):
            raise ConfigError(
                f"{variable(inner)} ({format_duration(getattr(settings, inner))}) must be shorter "
                f"than {variable(outer)} ({format_duration(getattr(settings, outer))})"
            )


def check_judge(settings: Settings) -> None:
    """Refuse settings of a judge that could never work; any URL is accepted."""
    if not settings.judge_url:
        for name in ("judge_model", "judge_key"):
            if str(getattr(settings, name)):
                raise ConfigError(f"{variable(name)} is set, but {variable('judge_url')} is not")
        return
    if not settings.judge_model:
        raise ConfigError(f"{variable('judge_model')} must be set to the name of a model")
    if not is_plain_url(settings.judge_url):
        raise ConfigError(
            f"{variable('judge_url')} must be like https://host/v1, without a user, password, "
            f"query or fragment; set the key in {variable('judge_key')}"
        )
    judge_options(settings)


def judge_options(settings: Settings) -> dict[str, Any]:
    """Return the fields that the operator adds to each request."""
    name = variable("judge_options")
    try:
        options = msgspec.json.decode(settings.judge_options, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ConfigError(f"{name} must be a JSON object: {error}") from error
    if taken := sorted(_ASKED_BY_US & set(options)):
        raise ConfigError(f"{name} must not set {', '.join(taken)}")
    return options


def notify_arguments(settings: Settings) -> list[str]:
    """Return the notification program with its arguments; empty if none is set."""
    if not settings.notify_command:
        return []
    name = variable("notify_command")
    try:
        arguments = msgspec.json.decode(settings.notify_command, type=list[str])
    except msgspec.DecodeError as error:
        raise ConfigError(
            f'{name} must be a JSON list such as ["/usr/local/bin/notify", "reviews"], not a shell '
            f"command: {error}"
        ) from error
    if not arguments or not arguments[0] or any("\0" in argument for argument in arguments):
        raise ConfigError(f"{name} must name a program")
    return arguments


def check_paths(settings: Settings) -> None:
    """Refuse an invalid host or folder; a folder may be created later."""
    allowed_origins(settings)
    allowed_origins(settings, "webhook_private_hosts")
    allowed_folders(settings)
    if not _HOST.fullmatch(settings.default_host) or "://" in settings.default_host:
        raise ConfigError(
            f"{variable('default_host')}={settings.default_host}: use a host such as git.example"
        )


def check_cache_dir(settings: Settings) -> None:
    if settings.cache_dir and not Path(settings.cache_dir).is_absolute():
        raise ConfigError(f"{variable('cache_dir')}={settings.cache_dir}: use an absolute path")


def check_public_url(settings: Settings) -> None:
    if settings.public_url and not is_plain_url(settings.public_url):
        raise ConfigError(
            f"{variable('public_url')} must be like https://skills.example, without a user, "
            "password, query or fragment"
        )


def is_for_this_machine(settings: Settings) -> bool:
    """Return whether only this machine can reach the web, according to the settings."""
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    return is_loopback(settings.host) and (public is None or is_loopback(public))


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """Return the host names of this registry, in lower case and without ports."""
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    named = [text.lower() for text in listed(settings.allowed_hosts)]
    return frozenset(filter(None, (public, settings.host.lower(), *named)))


def check_access(settings: Settings) -> None:
    for text in listed(settings.allowed_hosts):
        if not _HOST_NAME.fullmatch(text.lower()):
            raise ConfigError(
                f"{variable('allowed_hosts')}: {text!r} is not a host name such as skills.example, "
                "without scheme and port"
            )
    for text in listed(settings.trusted_proxies):
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError as error:
            raise ConfigError(f"{variable('trusted_proxies')}: {error}") from error
    for name in ("session_lifetime", "host_timeout"):
        if getattr(settings, name) <= timedelta(0):
            raise ConfigError(f"{variable(name)} must be longer than 0s")
    if not timedelta(minutes=1) <= settings.follow_every <= timedelta(days=7):
        raise ConfigError(f"{variable('follow_every')} must be between 1m and 7d")
    for name in ("push_secret", "metrics_token"):
        if 0 < len(getattr(settings, name).reveal()) < 16:  # noqa: PLR2004 - in the message
            raise ConfigError(f"{variable(name)} must have 16 characters or more")


def check_retention(settings: Settings) -> None:
    """Refuse a retention that looks like a mistake, such as `90` minutes or seconds."""
    for name in ("keep_failed", "keep_dead_letters", "keep_audit", "keep_yanked"):
        if timedelta(0) < (kept := getattr(settings, name)) < timedelta(days=1):
            raise ConfigError(
                f"{variable(name)} ({format_duration(kept)}) must be at least 1d, or 0s (no limit)"
            )


def allowed_origins(settings: Settings, name: str = "private_hosts") -> frozenset[str]:
    """Return scheme, host and port of each host that may have private addresses."""
    origins = set()
    for text in listed(getattr(settings, name)):
        found = _HOST.fullmatch(text.lower())
        if not found:
            raise ConfigError(
                f"{variable(name)}: {text!r} is not like git.example, git.example:8443 "
                "or http://git.example:8080"
            )
        scheme, host, port = found.groups()
        port = port or ("80" if scheme == "http" else "443")
        origins.add(f"{scheme or 'https'}://{host}:{port}")
    return frozenset(origins)


def allowed_folders(settings: Settings) -> tuple[Path, ...]:
    """Return the folders from which skills may be submitted."""
    folders = tuple(Path(text).expanduser() for text in listed(settings.local_folders))
    for folder in folders:
        if not folder.is_absolute():
            raise ConfigError(f"{variable('local_folders')}: {folder} is not an absolute path")
    return folders


def featured_slugs(settings: Settings) -> tuple[str, ...]:
    """Return the slugs of the skills that the home page shows first."""
    slugs = tuple(dict.fromkeys(listed(settings.featured_skills)))
    if len(slugs) > MAX_FEATURED or not all("/" in slug for slug in slugs):
        at_most = f"at most {MAX_FEATURED} slugs like owner/repo/skill, separated by commas"
        raise ConfigError(f"{variable('featured_skills')} must have {at_most}")
    return slugs
