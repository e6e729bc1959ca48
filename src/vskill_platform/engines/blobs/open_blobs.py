"""Open the store of blobs that the operator chose; its driver is only imported here."""

from pathlib import Path

from vskill_platform.blob_settings import BlobOptions, read_blob_options
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.engines.blobs.port import BlobStore


def open_blobs(options: BlobOptions) -> BlobStore | None:
    """Return the store; None if blobs are in the database."""
    place = read_blob_options(options)
    if place is None:
        return None
    if isinstance(place, Path):
        return FolderBlobs(place)
    # A registry without a bucket needs no driver for it.
    from vskill_platform.engines.blobs.s3_blobs import open_s3  # noqa: PLC0415 - loaded only when it is needed

    return open_s3(place)
