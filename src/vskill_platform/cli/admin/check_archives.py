"""Compare a backup, a restored or a copied database with the archives in a folder or bucket."""

import msgspec
import uvloop

from vskill_platform.base.show_text import count_of
from vskill_platform.blob_settings import blob_options, read_blob_options
from vskill_platform.cli.output.terminal import echo
from vskill_platform.errors import EngineError
from vskill_platform.runtime.open_env import open_reading_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.archives import FoundArchives, find_external_archives

#: How many missing archives an error names.
_SHOWN = 5


def check_archives(settings: Settings, *, database_url: str = "", quiet: bool = False) -> None:
    """Compare a database with the store of its archives; raise if one is missing there.

    Without a separate store, archives are in the database and were verified with it.
    """
    if read_blob_options(blob_options(settings)) is None:
        return
    if database_url:
        settings = msgspec.structs.replace(settings, database_url=database_url)
    found = uvloop.run(_find(settings))
    if found.missing:
        named = ", ".join(found.missing[:_SHOWN])
        raise EngineError(
            f"archives are missing in the store of VSKILL_BLOBS_URL, or have another size: "
            f"{len(found.missing):,} of {found.total:,}: {named}. Restore them there"
        )
    if not quiet:
        echo(f"{count_of(found.total, 'archive')} in the store of VSKILL_BLOBS_URL, none missing.")


async def _find(settings: Settings) -> FoundArchives:
    async with open_reading_env(settings) as env:
        return await run_with_worker_env(env, find_external_archives)
