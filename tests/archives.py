"""Archives of folders, as people make them."""

import io
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
