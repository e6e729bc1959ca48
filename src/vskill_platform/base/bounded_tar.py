"""Read the headers of a foreign tar archive within limits."""

import tarfile
from collections.abc import Callable

#: Long names and other metadata about the next member. Reading such a header takes many times its
#: size, and in some releases of Python the square of it.
_EXTENDED = frozenset(
    {
        tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)  # fmt: skip


def bounded_headers(max_bytes: int, refuse: Callable[[], Exception]) -> type[tarfile.TarInfo]:
    """Return a `tarinfo` for `tarfile.open` that raises *refuse()* for a larger extended header."""

    class BoundedHeader(tarfile.TarInfo):
        def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
            if self.type in _EXTENDED and self.size > max_bytes:
                raise refuse()
            found: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc] # not in the stubs
            return found

    return BoundedHeader
