"""Published skills, and aliases for old slugs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.namespace import namespace_in
from vskill_platform.model.skill import (
    PublishedSkill,
    PublishedSkillSummary,
    SkillVersion,
)
from vskill_platform.stores.db import commit, get_kv
from vskill_platform.stores.deleted_skill_store import (
    DeletedSkill,
    deleted_skill_key,
    get_deleted_skill,
)
from vskill_platform.stores.records import (
    Stored,
    decode,
    decode_stored,
    encode,
    get_all,
    get_record,
    iterate_keys,
    list_all_keys,
    read_each,
    read_found,
)
from vskill_platform.stores.similarity_store import move_similarity_record
from vskill_platform.stores.version_store import get_version, get_versions, version_key

log = get_logger(__name__)

_SKILL = "skill:"
_ALIAS = "skill:alias:"


class SkillPage(msgspec.Struct, frozen=True):
    skills: list[PublishedSkillSummary]
    cursor: str | None


class _Present(msgspec.Struct, frozen=True):
    """A value that is present, but whose content a list does not need."""


class _SummaryFields(msgspec.Struct, frozen=True):
    """The part of a skill's record that lists need; all of it may be missing."""

    name: str | None = None
    repo_url: str | None = None
    description: str = ""
    version: str = ""
    #: Present if it was taken down.
    down: _Present | None = None
    is_private: bool = False


class _FormerMark(msgspec.Struct, frozen=True):
    repo_url: str
    skill_path: str
    publisher: str

    @property
    def source_key(self) -> str:
        return f"{self.repo_url}#{self.skill_path}"


class SkillMark(msgspec.Struct, frozen=True):
    """The part of a skill's record that blocks are matched with, fast to read for all skills."""

    name: str
    source_key: str
    digest: str
    publisher: str = ""
    #: Present if it was taken down.
    down: _Present | None = None
    moved_from: tuple[_FormerMark, ...] = ()


_SUMMARY = msgspec.json.Decoder(_SummaryFields)
_MARK = msgspec.json.Decoder(SkillMark)


def slug_of_key(key: str) -> str | None:
    """Return the slug in the key of a skill; None for other records."""
    is_skill = key.startswith(_SKILL) and not key.startswith(_ALIAS)
    return key[len(_SKILL) :] if is_skill else None


async def enumerate_published_skills() -> list[PublishedSkillSummary]:
    """Return a summary of every listed skill, read at once."""
    keys = [key for key in await list_all_keys(_SKILL) if not key.startswith(_ALIAS)]
    return await read_each(keys, _summarise)


async def list_slugs() -> list[str]:
    """Return the slug of every published skill, without reading their records."""
    return [slug for key in await list_all_keys(_SKILL) if (slug := slug_of_key(key))]


async def has_skills_in(namespace: str) -> bool:
    """Return whether the namespace has a skill, taken down or not."""
    return bool((await get_kv().list_keys(f"{_SKILL}{namespace}/", limit=1)).keys)


async def list_slugs_in(namespace: str) -> list[str]:
    """Return the slugs in a namespace, taken down or not, but not of a host with the same name."""
    slugs = [key.removeprefix(_SKILL) for key in await list_all_keys(f"{_SKILL}{namespace}/")]
    return [slug for slug in slugs if namespace_in(slug) == namespace]


async def iterate_slugs() -> AsyncIterator[list[str]]:
    """Yield the slugs of all skills in order, page by page; a page may be empty."""
    async for keys in iterate_keys(_SKILL):
        yield [slug for key in keys if (slug := slug_of_key(key)) is not None]


async def read_skills(slugs: Sequence[str]) -> dict[str, PublishedSkill]:
    """Return the records of these skills, taken down or not, read at once."""
    keys = [_SKILL + slug for slug in slugs]
    found = await read_found(keys, lambda key, value: decode(key, value, PublishedSkill))
    # The slug is taken from the key, so that a damaged record cannot replace another.
    return {key[len(_SKILL) :]: skill for key, skill in found.items()}


async def get_published_skills_list(*, after: str | None = None, limit: int = 50) -> SkillPage:
    """Return one page of summaries, ordered by slug."""
    page = await get_kv().list_keys(_SKILL, after=after, limit=limit)
    keys = [key for key in page.keys if not key.startswith(_ALIAS)]
    return SkillPage(await read_each(keys, _summarise), page.cursor)


async def get_skill(slug: str) -> Stored[PublishedSkill] | None:
    return await get_record(_SKILL + slug, PublishedSkill)


async def resolve_slug(slug: str) -> str:
    """Return the current slug for an old one, or the slug itself if it has no alias."""
    alias = await get_record(_ALIAS + slug, str)
    return alias.record if alias else slug


async def resolve_slugs(slugs: Sequence[str]) -> tuple[str, ...]:
    """Return the current slug of each, in order and without duplicates."""
    aliases = await get_all([_ALIAS + slug for slug in slugs], str)
    current = (one.record if one else slug for slug, one in zip(slugs, aliases, strict=True))
    return tuple(dict.fromkeys(current))


async def find_skill(slug: str) -> tuple[str, Stored[PublishedSkill] | None]:
    """Return the current slug and its skill; alias and skill are read together to save time."""
    kv = get_kv()
    alias, entry = await asyncio.gather(kv.get(_ALIAS + slug), kv.get(_SKILL + slug))
    if alias:
        slug = decode(_ALIAS + slug, alias.value, str)
        return slug, await get_skill(slug)
    if entry is None:
        return slug, None
    return slug, decode_stored(_SKILL + slug, entry, PublishedSkill)


async def find_slug(
    slug: str,
) -> tuple[str, Stored[PublishedSkill] | None, Stored[DeletedSkill] | None]:
    """Return the current slug, its skill, and the record of a deleted one, with one query."""
    kv, key = get_kv(), deleted_skill_key(slug)
    alias, entry, gone = await kv.get_many([_ALIAS + slug, _SKILL + slug, key])
    if alias:
        slug = decode(_ALIAS + slug, alias.value, str)
        return slug, await get_skill(slug), await get_deleted_skill(slug)
    return (
        slug,
        decode_stored(_SKILL + slug, entry, PublishedSkill) if entry else None,
        decode_stored(key, gone, DeletedSkill) if gone else None,
    )


async def list_skills() -> list[PublishedSkill]:
    """Return the whole record of every listed skill."""

    def keep(key: str, value: bytes) -> PublishedSkill | None:
        skill = decode(key, value, PublishedSkill)
        return skill if skill.down is None else None

    keys = [key for key in await list_all_keys(_SKILL) if not key.startswith(_ALIAS)]
    return await read_each(keys, keep)


async def find_slugs(wanted: Callable[[SkillMark], bool]) -> list[str]:
    """Return the slugs of the listed skills that are wanted."""

    def keep(key: str, value: bytes) -> str | None:
        mark = _MARK.decode(value)
        return key[len(_SKILL) :] if mark.down is None and wanted(mark) else None

    keys = [key for key in await list_all_keys(_SKILL) if not key.startswith(_ALIAS)]
    return await read_each(keys, keep)


async def get_latest_version(slug: str) -> SkillVersion | None:
    """Return the latest version that is not yanked."""
    number = skill.record.latest_number if (skill := await get_skill(slug)) else None
    return await get_version(slug, number) if number else None


def write_skill(skill: PublishedSkill, *, expected: int) -> Operation:
    return Put(_SKILL + skill.slug, encode(skill), expected=expected, due=NEVER)


def expect_skill(stored: Stored[PublishedSkill]) -> Operation:
    """Make a commit fail if this skill has changed."""
    return Expect(_SKILL + stored.record.slug, stored.revision)


async def list_aliases_of(slug: str) -> list[str]:
    """Return the old slugs that lead to a skill."""
    return [key.removeprefix(_ALIAS) for key in await _aliases_of(slug)]


def delete_skill_record(stored: Stored[PublishedSkill], aliases: Sequence[str]) -> list[Operation]:
    return [
        Delete(_SKILL + stored.record.slug, expected=stored.revision),
        *(Delete(_ALIAS + alias) for alias in aliases),
    ]


def expect_no_alias(slug: str) -> Operation:
    """Make a commit fail if a skill was moved away from this slug meanwhile."""
    return Expect(_ALIAS + slug, ABSENT)


async def migrate_skill_slugs(new_slug: Callable[[PublishedSkill], str]) -> int:
    """Move every skill to its new slug, leaving an alias; return how many moved.

    Each skill is moved in its own commit, so an interrupted run can be repeated. A slug that is
    taken keeps its owner.
    """
    moved = 0
    for summary in await enumerate_published_skills():
        stored = await get_skill(summary.slug)
        if stored is None:  # another run was faster
            continue
        slug = new_slug(stored.record)
        if slug == summary.slug:
            continue
        if await commit(await _move_skill(stored, slug)) is None:
            log.warning("slug not migrated", old=summary.slug, new=slug)
        else:
            moved += 1
    return moved


async def _move_skill(stored: Stored[PublishedSkill], slug: str) -> list[Operation]:
    return [
        write_skill(msgspec.structs.replace(stored.record, slug=slug), expected=ABSENT),
        *await move_parts(stored, slug),
        *await move_similarity_record(stored.record.slug, slug),
    ]


async def move_parts(stored: Stored[PublishedSkill], slug: str) -> list[Operation]:
    """Return the operations that move versions and aliases to a skill's new slug.

    The caller writes the skill itself and its similarity record.
    """
    old = stored.record.slug
    operations: list[Operation] = [
        Delete(_SKILL + old, expected=stored.revision),
        Put(_ALIAS + old, encode(slug), due=NEVER),
    ]
    for alias in await _aliases_of(old):
        is_back = alias == _ALIAS + slug  # the skill gets an earlier slug back
        operations.append(Delete(alias) if is_back else Put(alias, encode(slug), due=NEVER))
    for version in await get_versions(old):
        renamed = msgspec.structs.replace(version, slug=slug)
        operations += [
            Delete(version_key(version)),
            Put(version_key(renamed), encode(renamed), expected=ABSENT, due=NEVER),
        ]
    return operations


async def _aliases_of(slug: str) -> list[str]:
    """Return the keys of the aliases of *slug*, so that no alias ever points to another alias."""
    return await read_each(
        await list_all_keys(_ALIAS),
        lambda key, value: key if decode(key, value, str) == slug else None,
    )


def _summarise(key: str, value: bytes) -> PublishedSkillSummary | None:
    fields = _SUMMARY.decode(value)
    if fields.down is not None:
        return None
    slug = key[len(_SKILL) :]
    return PublishedSkillSummary(
        slug=slug,
        name=fields.name or slug,
        repo_url=fields.repo_url or "",
        description=fields.description,
        version=fields.version,
        is_private=fields.is_private,
    )
