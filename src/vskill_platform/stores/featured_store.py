"""The featured skills that staff have chosen; without a choice, those in the settings apply."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record

_FEATURED = "featured:home"


class FeaturedSkills(Record, frozen=True, kw_only=True):
    #: In the order of the home page.
    slugs: tuple[str, ...]
    by: str
    at: datetime


async def get_featured() -> Stored[FeaturedSkills] | None:
    return await get_record(_FEATURED, FeaturedSkills)


def put_featured(featured: FeaturedSkills, *, replaces: Stored[FeaturedSkills] | None) -> Operation:
    expected = replaces.revision if replaces else ABSENT
    return Put(_FEATURED, encode(featured), expected=expected, due=NEVER)
