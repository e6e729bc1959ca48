"""Archives of folders: usual ones, and malicious ones."""

import io
import struct
import tarfile
import zipfile
from pathlib import Path


def zip_of(folder: Path, *, under: str = "") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, Path(under, path.relative_to(folder)))
    return packed.getvalue()


def tar_of(folder: Path, *, under: str = ".") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, under)
    return packed.getvalue()


def zip_of_names(count: int) -> bytes:
    """Make a zip that is little more than its list of files: each is empty, and all are one."""
    facts = struct.pack("<HHHHHLLLHH", 20, 0, 0, 0, 33, 0, 0, 0, 8, 0)
    first = b"PK\x03\x04" + facts + b"n0000000"
    head = b"PK\x01\x02" + struct.pack("<H", 20) + facts + bytes(14)
    listed = b"".join(head + b"n%07d" % number for number in range(count))
    end = struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, count, count, len(listed), len(first))
    place = struct.pack("<LQL", 0, len(first) + len(listed), 1)
    old_end = struct.pack("<HHHHLLH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    ends = b"PK\x06\x06" + end + b"PK\x06\x07" + place + b"PK\x05\x06" + old_end
    return first + listed + ends
