"""Cron job: queue published skills that are missing in the similarity index.

The pipeline adds every skill that it publishes. Skills published by an older release are not in
the index, so copies of them would not be found. Workers add them with
publish/versions/index_similarity.py.
"""

from vskill_platform.base.show_text import count_of
from vskill_platform.cron.send_background import send_background, waits_for_nodes
from vskill_platform.stores.background_store import SimilarityMessage, get_failures
from vskill_platform.stores.similarity_store import list_indexed_slugs
from vskill_platform.stores.skill_store import list_skills


async def send_missing_skills() -> str:
    """Queue each listed skill without a record in the index; workers add them."""
    listed = {skill.slug: skill for skill in await list_skills() if not skill.is_private}
    missing = sorted(set(listed) - set(await list_indexed_slugs()))
    if not missing:
        return "all skills are indexed"
    if waiting := await waits_for_nodes():
        return waiting
    failures = await get_failures(SimilarityMessage)
    failed = {
        slug for slug in missing if slug in failures and failures[slug].about == listed[slug].digest
    }
    left = [SimilarityMessage(slug) for slug in missing if slug not in failed]
    if not left:
        return f"{count_of(len(failed), 'skill')} could not be indexed, see the dead letters"
    return await send_background(left)
