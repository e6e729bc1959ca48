"""Tar headers that are too large are refused before they are read."""

import io
import tarfile

import pytest

from vskill_platform.base.bounded_tar import bounded_headers
from vskill_platform.errors import SourceRefused

_HEADERS = bounded_headers(1024, lambda: SourceRefused("too large"))


def a_tar(name: str, archive_format: int) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:", format=archive_format) as archive:
        archive.addfile(tarfile.TarInfo(name))
    packed.seek(0)
    return packed


@pytest.mark.parametrize("archive_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_header_over_the_bound_is_refused(archive_format: int) -> None:
    packed = a_tar("n" * 2000, archive_format)

    with (
        pytest.raises(SourceRefused, match="too large"),
        tarfile.open(fileobj=packed, mode="r:", tarinfo=_HEADERS),
    ):
        pass


@pytest.mark.parametrize("archive_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_long_name_within_the_bound_is_read(archive_format: int) -> None:
    packed = a_tar("n" * 300, archive_format)

    with tarfile.open(fileobj=packed, mode="r:", tarinfo=_HEADERS) as archive:
        assert archive.getnames() == ["n" * 300]
