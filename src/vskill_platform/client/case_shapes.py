"""The fields of responses about appeals and reports."""

from typing import TypedDict


class AppealMessage(TypedDict):
    by: str
    at: str
    text: str
    isStaff: bool


class Appeal(TypedDict):
    id: str
    subject: str
    name: str
    verdict: str
    decidedBy: str
    reason: str
    by: str
    createdAt: str
    state: str
    messages: list[AppealMessage]


class Appeals(TypedDict):
    appeals: list[Appeal]


class UserReport(TypedDict):
    id: str
    kind: str
    subject: str
    version: str
    reason: str
    by: str
    status: str
    createdAt: str
    answer: str | None


class UserReportCreated(TypedDict):
    report: UserReport


class UserReports(TypedDict):
    reports: list[UserReport]
