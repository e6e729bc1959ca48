"""Save a new version of the policy, or restore an old one."""

from functools import partial

import msgspec

from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.base.show_text import count_of
from vskill_platform.errors import (
    ChangedSinceSeen,
    ConfigError,
    InvalidInput,
    InvalidTransition,
    NotFound,
    PolicyInvalid,
)
from vskill_platform.model.policy import Policy, digest_of
from vskill_platform.model.record import SAVED_POLICIES
from vskill_platform.publish.versions.diff_versions import FileChange, diff_texts
from vskill_platform.scan.apply_policy import parse_policy
from vskill_platform.scan.external.load_scanners import scanners_in_use
from vskill_platform.settings import Settings, variable
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.node_store import get_nodes
from vskill_platform.stores.policy_store import (
    CurrentPolicy,
    PolicyVersion,
    get_current,
    get_policy_version,
    put_policy_version,
)
from vskill_platform.stores.records import Stored

MAX_CHARACTERS = 200_000
MAX_REASON = 500
_FILE = "policy.toml"


class PolicyDraft(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    #: The version that was edited; 0 if it is the first.
    base: int
    reason: str
    author: str
    restored: int | None = None


async def check_policy(text: str) -> Policy:
    """Parse and check a policy as this node would apply it; an error names its line."""
    if len(text) > MAX_CHARACTERS:
        raise PolicyInvalid(f"a policy has at most {MAX_CHARACTERS:,} characters")
    return await work_in_thread(_check, text, get_settings())


def _check(text: str, settings: Settings) -> Policy:
    policy = parse_policy(text)
    try:
        scanners_in_use(settings, policy)
    except PolicyInvalid:
        raise
    except ConfigError as error:
        raise PolicyInvalid(str(error), at=("scanners",)) from error
    return policy


async def save_policy(draft: PolicyDraft) -> PolicyVersion:
    """Store a new version, which each node applies from its next piece of work on."""
    refuse_if_from_file()
    text, reason = normalise_line_ends(draft.text), draft.reason.strip()
    if not reason:
        raise InvalidInput("give a reason for the change")
    if len(reason) > MAX_REASON:
        raise InvalidInput(f"the reason has at most {MAX_REASON} characters")
    policy = await check_policy(text)
    current = await get_current()
    last = await _version_of(current) if current else None
    number = last.number if last else 0
    if draft.base != number:
        raise await _changed(last, draft.base)
    if text == (last.text if last else ""):
        raise InvalidInput("this is the current policy; nothing was changed")
    await _check_nodes()
    version = PolicyVersion(
        number=number + 1,
        text=text,
        digest=digest_of(policy),
        at=get_now(),
        author=draft.author,
        reason=reason,
        restored=draft.restored,
    )
    changed = await compare_texts(last.text if last else "", text)
    audit = write_audit(
        "policy restore" if draft.restored else "policy save",
        f"policy version {version.number}",
        actor=draft.author,
        reason=reason,
        outcome=_in_words(changed, draft.restored),
    )
    if not await put_policy_version(version, replaces=current, also=[audit]):
        newest = await get_current()
        raise await _changed(await _version_of(newest) if newest else None, draft.base)
    return version


async def restore_policy(number: int, *, base: int, reason: str, author: str) -> PolicyVersion:
    """Save the text of an old version as a new one."""
    found = await find_policy_version(number)
    return await save_policy(
        PolicyDraft(text=found.text, base=base, reason=reason, author=author, restored=number)
    )


async def find_policy_version(number: int) -> PolicyVersion:
    version = await get_policy_version(number) if 0 < number < 10**8 else None
    if version is None:
        raise NotFound(f"the policy has no version {number}")
    return version


async def current_version() -> PolicyVersion | None:
    """Return the last saved version, even if a file is used instead; None if there is none."""
    current = await get_current()
    return await _version_of(current) if current else None


async def compare_texts(old: str, new: str) -> FileChange:
    return await in_few_threads(partial(diff_texts, _FILE, old, new))


def normalise_line_ends(text: str) -> str:
    """Return the text with the line ends of TOML, because browsers send others."""
    text = text.replace("\r\n", "\n").rstrip("\n")
    return f"{text}\n" if text.strip() else ""


def refuse_if_from_file() -> None:
    if file := get_settings().policy:
        raise InvalidTransition(
            f"the policy is the file {file}, because {variable('policy')} is set; change that "
            "file, or unset the variable and restart to edit the policy here"
        )


async def _version_of(current: Stored[CurrentPolicy]) -> PolicyVersion:
    return await find_policy_version(current.record.number)


async def _changed(newest: PolicyVersion | None, base: int) -> ChangedSinceSeen:
    if newest is None:
        return ChangedSinceSeen(f"there is no version {base} of the policy")
    return ChangedSinceSeen(
        f"{newest.author} saved version {newest.number} of the policy on "
        f"{newest.at:%Y-%m-%d at %H:%M} UTC, after you started editing"
    )


async def _check_nodes() -> None:
    """Refuse to save while a running node would ignore it."""
    old = [one.node for one in await get_nodes() if one.record_format < SAVED_POLICIES]
    if old:
        raise InvalidTransition(
            f"{', '.join(sorted(old)[:5])} runs an older release, which ignores saved policies; "
            "update it first"
        )


def _in_words(changed: FileChange, restored: int | None) -> str:
    added = sum(line.startswith("+") for line in changed.lines)
    removed = sum(line.startswith("-") for line in changed.lines)
    words = changed.note or f"{count_of(added, 'line')} added, {removed} removed"
    return f"version {restored} restored; {words}" if restored else words
