"""Trusted publishing: a CI job exchanges its CI system's signed token for a short-lived one.

The CI system stores no secret. The token is valid for a few minutes, in one namespace.
docs/decisions/0057-trusted-publishing.md explains the design.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from vskill_platform.access.namespaces import may_act_in
from vskill_platform.access.oidc.provider_tokens import LEEWAY, read_unverified, verify_signed
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.tokens import NewToken, TokenLimits, add_token
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.user import Scope, User
from vskill_platform.setting_values import listed
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.trusted_publisher_store import (
    MAX_PUBLISHERS,
    CiKind,
    TrustedPublisher,
    delete_trusted_publisher,
    get_trusted_publisher,
    is_used_ci_token,
    list_trusted_publishers,
    write_trusted_publisher,
    write_used_ci_token,
)
from vskill_platform.stores.user_store import get_user

log = get_logger(__name__)

LIFETIME = timedelta(minutes=15)
_SCOPES = (Scope.READ, Scope.SUBMIT)
_REPOSITORY = re.compile(r"[a-z0-9_.-]{1,100}(?:/[a-z0-9_.-]{1,100}){1,9}")
_WORKFLOW = re.compile(r"[\w.-]{1,100}\.ya?ml", re.ASCII)
_ENVIRONMENT = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
_REF = re.compile(r"(?:refs/(?:heads|tags)/[^\s\x00-\x1f~^:?*\[\\]{1,200})?")
_MAX_ID, _MAX_CLAIM = 255, 1_000
#: Pipeline sources at GitLab that stand for a proposed change.
_MERGE_REQUESTS = frozenset({"merge_request_event", "external_pull_request_event"})


class CiJob(msgspec.Struct, frozen=True, kw_only=True):
    """A CI job, as the signed token describes it."""

    repository: str
    repository_id: str
    workflow: str
    environment: str
    ref: str
    #: For the name of the token.
    run: str
    #: What it runs for, if that is not yet merged, such as "pull request".
    proposal: str = ""

    def shown(self) -> str:
        parts = [f"repository {self.repository}", f"workflow {self.workflow or 'none'}"]
        parts.append(f"environment {self.environment or 'none'}")
        return ", ".join([*parts, f"ref {self.ref or 'none'}"])


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs are trusted; an empty field matches any value."""

    issuer: str
    repository: str
    workflow: str = ""
    environment: str = ""
    ref: str = ""


def issuers() -> dict[str, CiKind]:
    """Return the CI systems that the operator allows, by issuer."""
    settings = get_settings()
    return {
        **dict.fromkeys(listed(settings.github_actions_issuers), CiKind.GITHUB),
        **dict.fromkeys(listed(settings.gitlab_issuers), CiKind.GITLAB),
    }


def audience() -> str:
    """Return the audience that a job's token must have: the URL of this registry."""
    return base_url(get_settings())


async def add_trusted_publisher(
    namespace: str, jobs: JobFilter, *, user: User, actor: str = ""
) -> TrustedPublisher:
    """Let these jobs of a repository publish to a namespace of this user.

    *actor* adds it for the user.
    """
    name, issuer = checked_namespace(namespace), jobs.issuer
    kind = issuers().get(issuer)
    if kind is None:
        known = ", ".join(issuers()) or "none"
        raise InvalidInput(f"the CI system {issuer!r} is not allowed here; allowed: {known}")
    wanted = TrustedPublisher(
        id=f"tp_{digest_of(new_secret())[:12]}",
        namespace=name,
        kind=kind,
        issuer=issuer,
        repository=jobs.repository.strip().strip("/").lower(),
        workflow=jobs.workflow.strip(),
        environment=jobs.environment.strip(),
        ref=jobs.ref.strip(),
        by=user.name,
        at=get_now(),
    )
    _check(wanted)
    known_ones = await list_trusted_publishers(name)
    for one in known_ones:
        if _conditions(one) == _conditions(wanted):
            return one
    if len(known_ones) >= MAX_PUBLISHERS:
        raise NotAllowed(f"{name} has {MAX_PUBLISHERS} trusted publishers, the maximum")
    summary = f"{wanted.repository} at {issuer} ({describe_conditions(wanted)})"
    audit = write_audit(
        "trusted-publisher add", name, actor=actor or user.name, reason="", outcome=summary
    )
    await commit([write_trusted_publisher(wanted), audit])
    return wanted


async def remove_trusted_publisher(publisher_id: str, *, actor: str) -> TrustedPublisher:
    stored = await get_trusted_publisher(publisher_id)
    if stored is None:
        raise NotFound(f"there is no trusted publisher {publisher_id!r}")
    one = stored.record
    audit = write_audit(
        "trusted-publisher remove", one.namespace, actor=actor, reason="", outcome=one.repository
    )
    if await commit([delete_trusted_publisher(stored), audit]) is None:
        raise NotFound(f"the trusted publisher {publisher_id!r} has just been changed; try again")
    return one


async def exchange_ci_token(text: str, *, namespace: str) -> NewToken:
    """Exchange the signed token of a CI job for a short-lived token of a namespace that trusts it.

    The job names the namespace, because several may trust its repository, and a skill must not end
    up in the wrong one.
    """
    issuer = read_unverified(text).get("iss")
    kind = issuers().get(issuer) if isinstance(issuer, str) else None
    if kind is None or not isinstance(issuer, str):
        raise NotSignedIn("the token is of a CI system that is not allowed here")
    claims = await verify_signed(text, issuer=issuer, audience=audience())
    token_id = claims.get("jti")
    if not isinstance(token_id, str) or not 0 < len(token_id) <= _MAX_ID:
        raise NotSignedIn("the token of the CI system has no id")
    job = _read_job(kind, claims)
    if job.proposal:
        # Anyone can propose a change, and the job may run the changed code.
        raise NotSignedIn(
            f"a job that runs for a {job.proposal} cannot publish; publish from a branch or a tag"
        )
    publisher = await _find_publisher(issuer, job, checked_namespace(namespace))
    user = await _find_publishing_user(publisher)
    expires_at = datetime.fromtimestamp(float(claims["exp"]), UTC) + LEEWAY

    async def note_use() -> list[Operation]:
        if await is_used_ci_token(issuer, token_id):
            raise NotSignedIn(
                "the token of the CI system was used already; each job must request its own"
            )
        stored = await get_trusted_publisher(publisher.id)
        if stored is None or stored.record.repository_id not in {"", job.repository_id}:
            raise NotSignedIn("the trusted publisher has just been removed or changed")
        used = msgspec.structs.replace(
            stored.record, repository_id=job.repository_id, last_used_at=get_now()
        )
        return [
            write_used_ci_token(issuer, token_id, expires_at=expires_at),
            write_trusted_publisher(used, expected=stored.revision),
        ]

    made = await add_token(
        user.name,
        f"CI of {job.repository} {job.run}"[:100].strip(),
        _SCOPES,
        actor=f"ci:{job.repository}",
        lifetime=LIFETIME,
        limits=TokenLimits(namespace=publisher.namespace, also=note_use),
    )
    log.info("token for a CI job", namespace=publisher.namespace, repository=job.repository)
    return made


def describe_conditions(publisher: TrustedPublisher) -> str:
    """Describe in words which of its jobs may publish."""
    parts = [
        f"workflow {publisher.workflow}" if publisher.workflow else "any workflow",
        f"environment {publisher.environment}" if publisher.environment else "",
        publisher.ref,
    ]
    return ", ".join(part for part in parts if part)


async def _find_publisher(issuer: str, job: CiJob, namespace: str) -> TrustedPublisher:
    fitting = [
        one
        for one in await list_trusted_publishers(namespace)
        if (one.issuer, one.repository) == (issuer, job.repository)
        and one.workflow in {"", job.workflow}
        and one.environment in {"", job.environment}
        and one.ref in {"", job.ref}
    ]
    if not fitting:
        raise NotSignedIn(
            f"no trusted publisher of {namespace} matches this job ({job.shown()}). Add one for "
            "its repository on your account page"
        )
    same = [one for one in fitting if one.repository_id in {"", job.repository_id}]
    if not same:
        raise NotSignedIn(
            f"{job.repository} is another repository than the one that was trusted: it was deleted "
            "and created again. Remove the trusted publisher and add it again"
        )
    return same[0]


async def _find_publishing_user(publisher: TrustedPublisher) -> User:
    """Return the user who added it; raise if that user may no longer publish there."""
    stored = await get_user(publisher.by)
    if stored is None or stored.record.is_disabled:
        raise NotSignedIn(f"the account {publisher.by}, which trusted this repository, is disabled")
    visitor = Visitor(user=stored.record, via="session")
    may = visitor.may(Right.SUBMIT, get_settings()) and await may_act_in(
        visitor, publisher.namespace
    )
    if not may:
        raise NotSignedIn(f"{publisher.by} may no longer publish to {publisher.namespace}")
    return stored.record


def _read_job(kind: CiKind, claims: Mapping[str, Any]) -> CiJob:
    return _github_job(claims) if kind is CiKind.GITHUB else _gitlab_job(claims)


def _github_job(claims: Mapping[str, Any]) -> CiJob:
    repository, ref = _text(claims, "repository").lower(), _text(claims, "ref")
    # owner/repo/.github/workflows/publish.yml@refs/heads/main
    folder, _, name = _text(claims, "workflow_ref").partition("@")[0].rpartition("/")
    is_own = folder.lower() == f"{repository}/.github/workflows"
    event = _text(claims, "event_name", is_needed=False)
    is_proposal = event.startswith("pull_request") or ref.startswith("refs/pull/")
    return CiJob(
        repository=repository,
        repository_id=_text(claims, "repository_id"),
        # An organization can run a workflow of another repository in this one.
        workflow=name if is_own else "",
        environment=_text(claims, "environment", is_needed=False),
        ref=ref,
        run=f"run {_text(claims, 'run_id', is_needed=False)}",
        proposal="pull request" if is_proposal else "",
    )


def _gitlab_job(claims: Mapping[str, Any]) -> CiJob:
    repository, ref = _text(claims, "project_path").lower(), _text(claims, "ref")
    # gitlab.example/group/project//.gitlab-ci.yml@refs/heads/main
    config = _text(claims, "ci_config_ref_uri", is_needed=False).partition("@")[0]
    project, _, path = config.partition("//")
    is_own = project.lower().endswith(f"/{repository}")
    kinds = {"branch": "refs/heads/", "tag": "refs/tags/"}
    prefix = kinds.get(_text(claims, "ref_type"), "refs/other/")
    # A pipeline for a merge request of a fork can run in the project itself.
    is_proposal = ref.startswith("refs/merge-requests/") or (
        _text(claims, "pipeline_source", is_needed=False) in _MERGE_REQUESTS
    )
    return CiJob(
        repository=repository,
        repository_id=_text(claims, "project_id"),
        workflow=path.rpartition("/")[2] if is_own else "",
        environment=_text(claims, "environment", is_needed=False),
        ref=prefix + ref,
        run=f"job {_text(claims, 'job_id', is_needed=False)}",
        proposal="merge request" if is_proposal else "",
    )


def _text(claims: Mapping[str, Any], name: str, *, is_needed: bool = True) -> str:
    """Return a claim; ids may be numbers."""
    value = claims.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > _MAX_CLAIM or not value.isprintable():
        raise NotSignedIn(f"the token of the CI system has no usable {name}")
    if is_needed and not value:
        raise NotSignedIn(f"the token of the CI system has no {name}")
    return value


def _check(publisher: TrustedPublisher) -> None:
    if not _REPOSITORY.fullmatch(publisher.repository):
        raise InvalidInput("the repository must be like owner/repo")
    if publisher.kind is CiKind.GITHUB and publisher.repository.count("/") != 1:
        raise InvalidInput("a repository at GitHub must be like owner/repo")
    if publisher.workflow and not _WORKFLOW.fullmatch(publisher.workflow):
        raise InvalidInput("the workflow must be the name of a file, such as publish.yml")
    if not _ENVIRONMENT.fullmatch(publisher.environment):
        raise InvalidInput("the environment must have at most 200 printable characters")
    if not _REF.fullmatch(publisher.ref):
        raise InvalidInput("the branch or tag must be like refs/heads/main or refs/tags/v1.0.0")


def _conditions(one: TrustedPublisher) -> tuple[str, ...]:
    return (one.issuer, one.repository, one.workflow, one.environment, one.ref)
