"""Build the zip of a version that clients download, from its stored archive."""

import io
import stat
import zipfile

from vskill_platform.publish.versions.version_files import unpack_all

#: The system on which a zip claims to be made; readers use file modes only for this one.
_UNIX = 3


def repack_as_zip(archive: bytes) -> bytes:
    """Convert an archive of ours to a zip; the same files give the same bytes.

    Nothing is compressed: zlib's output differs between its versions, so the digest would depend on
    the node.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as target:
        for path, content, is_executable in unpack_all(archive):
            entry = zipfile.ZipInfo(path)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | (0o755 if is_executable else 0o644)) << 16
            target.writestr(entry, content)
    return made.getvalue()
