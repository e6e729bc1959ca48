"""Settings for the storage of archives and uploads, with their checks."""

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.secret_settings import Secret

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: A shorter time may end before a slow client starts; a longer one outlives a block.
_MIN_SIGNED, _MAX_SIGNED = timedelta(seconds=10), timedelta(hours=1)
_OPTIONS = frozenset({"endpoint", "region"})
_HOW = (
    "use file:///folder or s3://bucket/prefix, with ?endpoint=https://host and &region=name for "
    "storage other than AWS"
)


class BlobOptions(msgspec.Struct, frozen=True, kw_only=True):
    #: Empty for the database itself.
    url: str = ""
    key_id: str = ""
    key: Secret = msgspec.field(default_factory=Secret)
    signed_url_lifetime: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        read_blob_options(self)


class S3Location(msgspec.Struct, frozen=True, kw_only=True):
    bucket: str
    prefix: str
    endpoint: str
    region: str
    key_id: str
    key: Secret

    @property
    def shown(self) -> str:
        """The name of this place for messages."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


def read_blob_options(options: BlobOptions) -> Path | S3Location | None:
    """Return the folder or bucket; None for the database. Errors never quote the URL."""
    _check_lifetime(options)
    if not options.url:
        return None
    parts = urlsplit(options.url)
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ConfigError(
            "VSKILL_BLOBS_URL must not contain credentials; use VSKILL_BLOBS_KEY_ID and "
            "VSKILL_BLOBS_KEY_FILE"
        )
    if parts.scheme == "file" and not parts.netloc and not parts.query:
        path = Path(unquote(parts.path))
        if not path.is_absolute() or path == Path("/"):
            raise ConfigError("VSKILL_BLOBS_URL must name a folder, such as file:///srv/blobs")
        return path
    if parts.scheme != "s3":
        raise ConfigError(f"VSKILL_BLOBS_URL is not understood: {_HOW}")
    return _read_bucket(parts, options)


def _read_bucket(parts: SplitResult, options: BlobOptions) -> S3Location:
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    endpoint = given.get("endpoint", "")
    is_known = set(given) <= _OPTIONS and _BUCKET.fullmatch(parts.netloc)
    if not is_known or (endpoint and not endpoint.startswith(("https://", "http://"))):
        raise ConfigError(f"VSKILL_BLOBS_URL is not understood: {_HOW}")
    if bool(options.key_id) != bool(options.key.reveal()):
        raise ConfigError(
            "VSKILL_BLOBS_KEY_ID and VSKILL_BLOBS_KEY belong together; set "
            "both, or none to use the credentials of the environment"
        )
    return S3Location(
        bucket=parts.netloc,
        prefix=parts.path.strip("/"),
        endpoint=endpoint.rstrip("/"),
        region=given.get("region", ""),
        key_id=options.key_id,
        key=options.key,
    )


def _check_lifetime(options: BlobOptions) -> None:
    lifetime, name = options.signed_url_lifetime, "VSKILL_BLOBS_SIGNED_URL_LIFETIME"
    if lifetime and not options.url.startswith("s3:"):
        raise ConfigError(f"{name} needs a bucket that signs URLs; set VSKILL_BLOBS_URL")
    if lifetime and not _MIN_SIGNED <= lifetime <= _MAX_SIGNED:
        raise ConfigError(f"{name} must be 10s to 1h, or 0s (off)")


IN_DATABASE = BlobOptions()


def blob_options(settings: object) -> BlobOptions:
    """Return the options from the settings, which have the prefix `blobs_`."""
    fields = msgspec.structs.fields(BlobOptions)
    return BlobOptions(**{each.name: getattr(settings, f"blobs_{each.name}") for each in fields})
