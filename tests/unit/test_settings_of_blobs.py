"""Settings for the store of archives."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.cases import all_cases
from vskill_platform.blob_settings import S3Location, blob_options, read_blob_options
from vskill_platform.errors import ConfigError
from vskill_platform.settings import load_settings


def test_archives_are_in_the_database_by_default() -> None:
    assert read_blob_options(blob_options(load_settings({}))) is None


def test_a_folder_is_a_path() -> None:
    settings = load_settings({"VSKILL_BLOBS_URL": "file:///srv/the%20blobs"})

    assert read_blob_options(blob_options(settings)) == Path("/srv/the blobs")


def test_a_bucket_has_an_endpoint_and_credentials_that_nothing_shows(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hush\n")
    environ = {
        "VSKILL_BLOBS_URL": "s3://skills/a/b?endpoint=https://minio.example:9000/&region=eu",
        "VSKILL_BLOBS_KEY_ID": "ada",
        "VSKILL_BLOBS_KEY_FILE": str(tmp_path / "key"),
        "VSKILL_BLOBS_SIGNED_URL_LIFETIME": "5m",
    }

    settings = load_settings(environ)
    place = read_blob_options(blob_options(settings))

    assert isinstance(place, S3Location)
    assert (place.bucket, place.prefix, place.region) == ("skills", "a/b", "eu")
    assert place.endpoint == "https://minio.example:9000"
    assert (place.key_id, place.key.reveal(), place.shown) == ("ada", "hush", "s3://skills/a/b")
    assert settings.blobs_signed_url_lifetime == timedelta(minutes=5)
    assert "hush" not in repr(settings) + repr(place) + repr(blob_options(settings))


@all_cases(
    ("environ", "message"),
    [
        ({"URL": "file://host/x"}, "not understood"),
        ({"URL": "file:///"}, "must name a folder"),
        ({"URL": "file:relative"}, "must name a folder"),
        ({"URL": "ftp://x/y"}, "not understood"),
        ({"URL": "s3://"}, "not understood"),
        ({"URL": "s3://Bucket!"}, "not understood"),
        ({"URL": "s3://bucket?endpoint=minio:9000"}, "not understood"),
        ({"URL": "s3://bucket?secret=hush"}, "not understood"),
        ({"URL": "s3://ada:hush@bucket"}, "must not contain credentials"),
        ({"URL": "s3://bucket", "KEY_ID": "ada"}, "belong together"),
        ({"URL": "s3://bucket", "KEY": "hush"}, "belong together"),
        ({"SIGNED_URL_LIFETIME": "5m"}, "needs a bucket"),
        ({"URL": "s3://bucket", "SIGNED_URL_LIFETIME": "2h"}, "10s to 1h"),
    ],
)
def test_an_impossible_store_stops_the_start(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_settings({f"VSKILL_BLOBS_{name}": value for name, value in environ.items()})

    assert "VSKILL_BLOBS_" in str(caught.value)
    assert "hush" not in str(caught.value)
