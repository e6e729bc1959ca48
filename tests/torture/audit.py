"""Compare the responses that users got with the records that exist."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import quote

import apsw
import asyncpg
import msgspec

from tests.torture.nodes import Load, Node, Nodes
from tests.torture.skills import Skill, unpacked_manifest
from vskill_platform.engines.ports import BackgroundStats, Engine

_FINAL = {"PUBLISHED", "TIER1_FAILED", "REJECTED", "BLOCKED", "DEQUEUED", "NEEDS_REVIEW"}
_DIFFERING_MARKS = """
WITH told AS (SELECT DISTINCT unnest(marks) AS word, rank, id AS record FROM vskill.kv)
(TABLE told EXCEPT SELECT word, rank, record FROM vskill.mark)
UNION ALL
(SELECT word, rank, record FROM vskill.mark EXCEPT TABLE told)
"""
_DIFFERING_MARKS_IN_SQLITE = """
WITH told AS (
  SELECT DISTINCT words.value AS word, kv.rank, kv.id AS record
  FROM kv, json_each(kv.marks) AS words
)
SELECT * FROM (SELECT * FROM told EXCEPT SELECT word, rank, record FROM mark)
UNION ALL
SELECT * FROM (SELECT word, rank, record FROM mark EXCEPT SELECT * FROM told)
"""
_SQLITE = "sqlite:///"
#: How long the search index of a node may take to catch up.
_INDEX_SECONDS = 40.0


async def find_mistakes(
    nodes: Nodes, skills: Sequence[Skill], load: Load, *, may_be_lost: frozenset[str] = frozenset()
) -> list[str]:
    """Return what is lost, unfinished, doubled, wrong or left over.

    *may_be_lost* are acknowledged submissions that a failover may have taken away.
    """
    mistakes = [*load.odd]
    for skill in skills:
        submission_id = load.ids[skill.name]
        answer = await nodes.ask(f"/api/v1/submissions/{submission_id}")
        if answer.status_code == 404 and submission_id in may_be_lost:
            continue
        if answer.status_code != 200:
            mistakes.append(f"{skill.name} {submission_id} is lost: {answer.status_code}")
            continue
        mistakes += _check_submission(skill, answer.json(), load)
        mistakes += await _check_published(nodes, skill, answer.json()["state"] == "PUBLISHED")
    async with nodes.platform.env() as env:
        mistakes += await _check_records(env.engine)
        mistakes += await _check_lists(nodes, env.engine)
    return mistakes + await _check_marks(nodes.platform.settings["database_url"])


def _check_submission(skill: Skill, record: dict[str, Any], load: Load) -> list[str]:
    found = []
    state, reviews = record["state"], _reviews(record)
    if state not in _expected_states(skill, record["id"], load):
        found.append(f"{skill.name} is {state}, not {skill.ends_as}: {record['reason']}")
    if not record["reason"]:
        found.append(f"{skill.name} has no reason")
    if state != "PUBLISHED" and not (record["scanResult"] or {}).get("findings"):
        found.append(f"{skill.name} is {state} without a finding")
    if record["id"] in load.decided and len(reviews) != 1:
        found.append(f"{skill.name}: one decision was acknowledged, its history has {reviews}")
    steps = [(event["fromState"], event["toState"]) for event in record["stateHistory"]]
    if any(one[1] != other[0] for one, other in itertools.pairwise([(None, None), *steps])):
        found.append(f"{skill.name}: the history has a gap: {steps}")
    if not steps or steps[-1][1] != state:
        found.append(f"{skill.name} is {state}, but its history ends otherwise: {steps}")
    published = [to for _, to in steps].count("PUBLISHED")
    least = state == "PUBLISHED"
    if not least <= published <= least + len(skill.earlier):
        found.append(f"{skill.name}: published too often or not at all: {steps}")
    if ("PUBLISHED", "PUBLISHED") in steps:
        found.append(f"{skill.name}: published twice in a row: {steps}")
    return found


def _expected_states(skill: Skill, submission_id: str, load: Load) -> set[str]:
    """Return the states it may be in: two if the answer to a decision was lost."""
    decision = load.decisions.get(submission_id)
    if decision is None:
        return {skill.ends_as}
    decided = "PUBLISHED" if decision == "approve" else "REJECTED"
    return {decided} if submission_id in load.decided else {decided, skill.ends_as}


def _reviews(record: dict[str, Any]) -> list[str]:
    events = record["stateHistory"]
    return [event["toState"] for event in events if event["trigger"] == "review"]


async def _check_published(nodes: Nodes, skill: Skill, is_published: bool) -> list[str]:
    path = f"/api/v1/skills/{quote(skill.slug)}"
    answer = await nodes.ask(f"{path}/versions?limit=100")
    versions = answer.json()["versions"] if answer.status_code == 200 else []
    if not is_published <= len(versions) <= is_published + len(skill.earlier):
        return [f"{skill.name} has {len(versions)} versions"]
    found = []
    contents: dict[str, bytes] = {}
    for version in versions:
        archive = await nodes.ask(f"{path}/download?version={version['version']}")
        if sha256(archive.content).hexdigest() != version["archiveSha256"]:
            found.append(f"{skill.name}: the archive does not have its digest")
        else:
            contents[version["standing"]] = unpacked_manifest(archive.content)
    told = [*contents.values()]
    if len(set(told)) < len(versions) or not set(told) <= {skill.manifest, *skill.earlier}:
        found.append(f"{skill.name}: the archives are not what was uploaded, each once")
    if is_published and contents.get("latest") != skill.manifest:
        found.append(f"{skill.name}: the latest version is not what was uploaded last")
    return found


async def _check_records(engine: Engine) -> list[str]:
    submissions, skills = await _read(engine, "sub:"), await _read(engine, "skill:")
    skills = {slug: record for slug, record in skills.items() if not slug.startswith("alias:")}
    found = [
        f"{key} is {record['state']}, not final, or has no reason"
        for key, record in submissions.items()
        if record["state"] not in _FINAL or not record["reason"]
    ]
    found += await _check_versions(engine, submissions, skills)
    found += await _check_held(engine, submissions)
    if Counter((await _read(engine, "sub-source:")).values()) != Counter(list(submissions)):
        found.append("sources and submissions are not one to one")
    sources = {(one["source"]["url"], one["source"]["path"]) for one in submissions.values()}
    if len(sources) != len(submissions):
        found.append("two submissions have the same source")
    events = Counter(key.rpartition(":")[0] for key in await _keys(engine, "hist:"))
    if events != Counter({key: record["events"] for key, record in submissions.items()}):
        found.append("histories do not have the number of events that the submissions name")
    for prefix, owners in (("scan:", submissions), ("likeness:", skills), ("held:", submissions)):
        found += [f"{prefix}{key} without owner" for key in await _keys(engine, prefix, owners)]
    found += [
        f"{slug} is not indexed" for slug in set(skills) - {*await _keys(engine, "likeness:")}
    ]
    for one in (await _read(engine, "set:")).values():
        found += [f"set of {sub}" for sub in one["submission_ids"] if sub not in submissions]
    stats = await engine.queue.stats()
    if stats.ready or stats.leased or stats.delayed or stats.dead:
        found.append(f"messages are left: {stats}")
    if stats.background != BackgroundStats():
        found.append(f"background messages are left: {stats.background}")
    return found


async def _check_versions(
    engine: Engine, submissions: dict[str, Any], skills: dict[str, Any]
) -> list[str]:
    versions = await _read(engine, "version:")
    numbered = {
        f"{slug}:{number:06}"
        for slug, record in skills.items()
        for number in range(1, record["versions"] + 1)
    }
    found = [f"version {key} is missing" for key in numbered - set(versions)]
    found += [f"version {key} without a skill that has it" for key in set(versions) - numbered]
    for slug, skill in skills.items():
        newest = versions.get(f"{slug}:{skill['versions']:06}", {})
        if newest.get("digest") != skill["digest"]:
            found.append(f"{slug} does not have the digest of its newest version")
    reports = {*await _keys(engine, "published-scan:")}
    for key, one in versions.items():
        if one["submission_id"] not in submissions:
            found.append(f"version {key} without its submission")
        if f"{one['submission_id']}:{one['digest']}" not in reports:
            found.append(f"version {key} without a report about its content")
    named = {one["archive_sha256"] for one in versions.values()}
    blobs = {*await _keys(engine, "blob:")}
    found += [f"archive {sha256} of no version" for sha256 in blobs - named]
    return found + [f"archive {sha256} is missing" for sha256 in named - blobs]


async def _check_held(engine: Engine, submissions: dict[str, Any]) -> list[str]:
    held, files = {*await _keys(engine, "held:")}, {*await _keys(engine, "held-files:")}
    found = [f"files and record of {key} held for review do not match" for key in held ^ files]
    for key, record in submissions.items():
        # The files of a rejected one are kept for a while after the decision.
        may_be_held = record["state"] in {"NEEDS_REVIEW", "REJECTED"}
        if (key in held) > may_be_held or (key in held) < (record["state"] == "NEEDS_REVIEW"):
            found.append(f"{key} is {record['state']}; files held for review: {key in held}")
    return found


async def _check_lists(nodes: Nodes, engine: Engine) -> list[str]:
    """Compare the search index of each web node with the records."""
    slugs = [key for key in await _keys(engine, "skill:") if not key.startswith("alias:")]
    submissions = await _read(engine, "sub:")
    states = Counter(record["state"] for record in submissions.values())
    expected = _Lists(
        sorted(slugs), len(slugs), sorted(submissions), len(submissions), dict(states)
    )
    found = []
    for node in nodes.web:
        give_up_at = monotonic() + _INDEX_SECONDS
        while (seen := await _read_lists(nodes, node)) != expected and monotonic() < give_up_at:
            await asyncio.sleep(0.2)
        if seen != expected:
            found.append(f"the node at {node.port} lists {seen}, the records are {expected}")
    return found


class _Lists(msgspec.Struct):
    skills: list[str]
    skills_counted: int
    submissions: list[str]
    submissions_counted: int
    states: dict[str, int]


async def _read_lists(nodes: Nodes, node: Node) -> _Lists:
    skills: list[str] = []
    total = 0
    for page in itertools.count(1):
        answer = await nodes.get_json(f"/api/v1/skills?limit=100&page={page}", node=node)
        skills += [skill["slug"] for skill in answer["skills"]]
        total = answer["pagination"]["total"]
        if not answer["skills"] or len(skills) >= total:
            break
    submissions: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        after = f"&cursor={quote(cursor)}" if cursor else ""
        answer = await nodes.get_json(f"/api/v1/submissions?limit=100{after}", node=node)
        submissions += [submission["id"] for submission in answer["submissions"]]
        cursor = answer["nextCursor"]
    stats = await nodes.get_json("/api/v1/queue/stats", node=node)
    states = {state: count for state, count in stats["byState"].items() if count}
    return _Lists(sorted(skills), total, sorted(submissions), stats["total"], states)


async def _check_marks(database_url: str) -> list[str]:
    """Compare the marks of records with the table that finds records by them."""
    if database_url.startswith(_SQLITE):
        rows = _find_differing_marks(database_url.removeprefix(_SQLITE))
    else:
        connection = await asyncpg.connect(database_url)
        try:
            rows = [tuple(row) for row in await connection.fetch(_DIFFERING_MARKS)]
        finally:
            await connection.close()
    return [f"mark {word!r} of record {record} does not match it" for word, _, record in rows]


def _find_differing_marks(path: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute(_DIFFERING_MARKS_IN_SQLITE).fetchall()


async def _keys(engine: Engine, prefix: str, owners: Any = ()) -> list[str]:
    """Return the keys without their prefix, except those of *owners*."""
    keys: list[str] = []
    after: str | None = None
    while True:
        page = await engine.kv.list_keys(prefix, after=after)
        keys += [key.removeprefix(prefix) for key in page.keys]
        after = page.cursor
        if after is None:
            return [key for key in keys if key not in owners]


async def _read(engine: Engine, prefix: str) -> dict[str, Any]:
    keys = await _keys(engine, prefix)
    found = await engine.kv.get_many([prefix + key for key in keys])
    return {
        key: msgspec.json.decode(entry.value)
        for key, entry in zip(keys, found, strict=True)
        if entry
    }
