"""JSON of requests that change a skill, and of their responses."""

from datetime import datetime
from typing import Annotated

import msgspec

from vskill_platform.web.http.api_types import ReasonText, Shape, Text


class InstallReport(Shape, frozen=True, kw_only=True):
    repo_url: Text = ""
    version: Text = ""
    source: Text = ""
    platform: Text = ""
    cli_version: Text = ""


class ReportedSkill(Shape, frozen=True, kw_only=True):
    skill_name: Text
    repo_url: Text = ""
    version: Text = ""


class InstallReports(Shape, frozen=True, kw_only=True):
    skills: Annotated[list[ReportedSkill], msgspec.Meta(max_length=100)]
    source: Text = ""
    platform: Text = ""
    cli_version: Text = ""


class YankRequest(Shape, frozen=True, kw_only=True):
    version: Text
    reason: ReasonText


class DeprecateRequest(Shape, frozen=True, kw_only=True):
    #: The version; without it, the whole skill.
    version: Text | None = None
    #: Shown to everyone who finds or installs it.
    message: ReasonText
    #: The slug of the skill to use instead.
    use_instead: Text = ""


class UndeprecateRequest(Shape, frozen=True, kw_only=True):
    #: The version; without it, the whole skill.
    version: Text | None = None


class MoveRequest(Shape, frozen=True, kw_only=True):
    #: The last part of the new slug.
    name: Text = ""
    #: The namespace that receives the skill.
    namespace: Text = ""
    reason: Text = ""


class NamespaceTransferRequest(Shape, frozen=True, kw_only=True):
    namespace: Text
    #: The user who becomes its owner.
    user: Text


class TransferItem(Shape, frozen=True, kw_only=True):
    """A transfer that the receiver has not accepted yet."""

    id: str
    #: The slug of a skill, or a namespace.
    subject: str
    is_namespace: bool
    #: The namespace that receives the skill, or the user who receives the namespace.
    to: str
    by: str
    at: datetime
    expires_at: datetime
    #: Whether you can accept it.
    can_accept: bool


class Moved(Shape, frozen=True, kw_only=True):
    """The result of a rename or a transfer."""

    #: The current slug, or the namespace.
    subject: str
    #: False if the receiver has to accept it first.
    is_done: bool
    transfer: TransferItem | None = None


class TransferList(Shape, frozen=True, kw_only=True):
    transfers: list[TransferItem]


class VisibilityRequest(Shape, frozen=True, kw_only=True):
    private: bool
    reason: Text = ""


class Visibility(Shape, frozen=True, kw_only=True):
    slug: str
    private: bool
