"""The archive of a version, packed beside the event loop: squeezing megabytes takes a while."""

import asyncio

from vskill_platform.fetch.pack import Packed, pack
from vskill_platform.fetch.snapshot import Snapshot


async def package_skill(snapshot: Snapshot) -> Packed:
    """Pack the files of a snapshot with SKILL.md at the root; the same files, the same bytes."""
    if snapshot.packed:
        return snapshot.packed
    return await asyncio.to_thread(pack, snapshot.folder, snapshot.files)
