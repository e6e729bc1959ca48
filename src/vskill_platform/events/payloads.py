"""The body of a webhook, in the shape that the receiver reads: standard, Slack or Teams."""

import re
from typing import Any

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.model.event import Event, EventType
from vskill_platform.stores.webhook_store import PayloadShape

_E = EventType
#: Each type of event as text; the name of its subject is inserted.
_TITLES = {
    _E.SUBMISSION_RECEIVED: "{} was submitted",
    _E.SUBMISSION_NEEDS_REVIEW: "{} needs review",
    _E.SUBMISSION_PUBLISHED: "{} was published",
    _E.SUBMISSION_REJECTED: "{} was rejected",
    _E.SUBMISSION_BLOCKED: "{} was blocked",
    _E.SUBMISSION_WITHDRAWN: "{} was withdrawn",
    _E.REVIEW_DECIDED: "The review of {} was decided",
    _E.VERSION_YANKED: "A version of {} was yanked",
    _E.VERSION_UNYANKED: "A version of {} is available again",
    _E.SKILL_BLOCKED: "{} was taken down by a block",
    _E.SKILL_UNBLOCKED: "{} is no longer blocked",
    _E.SKILL_DEPRECATED: "{} was deprecated",
    _E.SKILL_UNDEPRECATED: "{} is no longer deprecated",
    _E.SKILL_VISIBILITY_CHANGED: "The visibility of {} was changed",
    _E.BLOCK_ADDED: "A block was added: {}",
    _E.BLOCK_REMOVED: "A block was removed: {}",
    _E.REPORT_OPENED: "A report was opened: {}",
    _E.REPORT_CLOSED: "A report was closed: {}",
    _E.APPEAL_OPENED: "An appeal was opened: {}",
    _E.APPEAL_ANSWERED: "An appeal was answered: {}",
    _E.APPEAL_DECIDED: "An appeal was decided: {}",
    _E.TEST: "This is a test",
}
_MAX_NAME, _MAX_REASON = 150, 500
#: Mattermost notifies everyone at these words, so a zero-width space breaks them.
_CHANNELS = re.compile(r"@(?=(?:channel|here|all|everyone)\b)", re.IGNORECASE)


def build_payload(event: Event, shape: PayloadShape) -> bytes:
    if shape is PayloadShape.SLACK:
        return msgspec.json.encode(_slack(event))
    if shape is PayloadShape.TEAMS:
        return msgspec.json.encode(_teams(event))
    return msgspec.json.encode({"type": event.type, "timestamp": event.at, "data": event.data})


def title_of(event: Event) -> str:
    data = event.data
    name = data.skill or data.name or data.subject or data.report or data.appeal
    return _TITLES[event.type].format(show(name, limit=_MAX_NAME))


def _facts(event: Event) -> list[tuple[str, str]]:
    data = event.data
    facts = (
        ("Version", data.version),
        ("By", data.actor),
        ("Reason", data.reason),
        ("Outcome", data.outcome),
    )
    return [(name, show(text, limit=_MAX_REASON)) for name, text in facts if text]


def _slack(event: Event) -> dict[str, Any]:
    title = _escape_slack(title_of(event))
    link = f"<{event.data.url}|{title}>" if event.data.url else title
    lines = [f"*{link}*", *(f"{name}: {_escape_slack(text)}" for name, text in _facts(event))]
    text = "\n".join(lines)
    # Notifications show `text`. `verbatim` keeps addresses and names in users' texts from becoming
    # links or mentions.
    section = {"type": "mrkdwn", "text": text, "verbatim": True}
    return {"text": title, "blocks": [{"type": "section", "text": section}]}


def _escape_slack(text: str) -> str:
    """Escape what would mention people or channels, or look like a link."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _CHANNELS.sub("@\u200b", escaped)


def _teams(event: Event) -> dict[str, Any]:
    url = event.data.url
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {
                "type": "TextBlock",
                "text": _escape_teams(title_of(event)),
                "weight": "Bolder",
                "wrap": True,
            },
            {
                "type": "FactSet",
                "facts": [
                    {"title": name, "value": _escape_teams(text)} for name, text in _facts(event)
                ],
            },
        ],
    }
    if url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open", "url": url}]
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [content]}


def _escape_teams(text: str) -> str:
    """Escape the Markdown of adaptive cards, so that a text cannot be a link."""
    for char in "\\[]()*_`":
        text = text.replace(char, f"\\{char}")
    return text
