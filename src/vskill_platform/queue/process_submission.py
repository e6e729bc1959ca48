"""The whole pipeline in one function: fetch, claim, scan, third-party scanners, judge, conclude."""

from vskill_platform.engines.operations import Acknowledge, Delivery
from vskill_platform.errors import Overtaken
from vskill_platform.fetch.fetch_source import fetched_in_turn
from vskill_platform.publish.versions.apply_registry_rules import apply_registry_rules
from vskill_platform.queue.ask_scanners import ask_scanners
from vskill_platform.queue.claim_submission import claim_submission, find_submission, is_suspect
from vskill_platform.queue.conclude_submission import conclude_submission
from vskill_platform.queue.judge_submission import judge_submission
from vskill_platform.queue.report_processed import report_processed, start_stopwatch
from vskill_platform.queue.scan_slots import all_other_slots, scan_slot
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.stores.db import commit


async def process_submission(delivery: Delivery) -> None:
    """Process a submission from the queue to its final state, or until it has to wait.

    The last commit contains the new state, the published version with its archive, the report and
    the acknowledgement of the message, so all of them take effect exactly once.
    """
    found = await find_submission(delivery)
    if found is None:  # already final, and the message is removed
        return
    stopwatch = start_stopwatch(found.record.id)
    alone = all_other_slots(delivery, wanted=is_suspect(found.record, delivery))
    async with alone, fetched_in_turn(found.record.source, group=delivery.group) as snapshot:
        stopwatch.lap("fetch")
        async with scan_slot(delivery, stopwatch):
            claimed = await claim_submission(found, delivery)
            scanned = await check_skill(
                snapshot.folder, folder_name=snapshot.folder_name, slots=None
            )
        stopwatch.lap("check")
        scanned = await apply_registry_rules(claimed.record, snapshot, scanned)
        stopwatch.lap("compare")
        examined = await ask_scanners(claimed, snapshot, scanned, stopwatch)
        judged = await judge_submission(examined, snapshot, stopwatch)
        conclusion = await conclude_submission(judged, snapshot, stopwatch)
    if await commit([*conclusion.operations, Acknowledge(delivery)]) is None:
        raise Overtaken(f"{claimed.record.id} was changed while it was being checked")
    report_processed(conclusion.submission, stopwatch)
