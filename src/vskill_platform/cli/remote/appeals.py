"""`appeals` on a registry."""

from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.case_shapes import Appeal, Appeals
from vskill_platform.client.registry import Registry

_APPEALS = "/api/v1/appeals"


def list_all(registry: Registry, *, status: str, as_json: bool) -> None:
    found: Appeals = registry.get_json(_APPEALS, Appeals, status=status)
    if as_json:
        print_json(found)
        return
    show_table(
        ("id", "skill", "verdict", "decided by", "author", "state"),
        [
            (one["id"], one["name"], one["verdict"], one["decidedBy"], one["by"], one["state"])
            for one in found["appeals"]
        ],
        keys=("id",),
    )


def open_one(registry: Registry, *, subject: str, text: str, as_json: bool) -> None:
    # The slug of an upload also starts with @.
    slug, _, version = subject.rpartition("@")
    body = {"subject": f"{slug} {version}" if slug else subject, "text": text}
    opened: Appeal = registry.post_json(_APPEALS, body, Appeal)
    _show(opened, as_json=as_json)


def show(registry: Registry, *, appeal_id: str, as_json: bool) -> None:
    found: Appeal = registry.get_json(f"{_APPEALS}/{segment(appeal_id)}", Appeal)
    _show(found, as_json=as_json)


def answer(registry: Registry, *, appeal_id: str, text: str, as_json: bool) -> None:
    _post(registry, appeal_id, "messages", {"text": text}, as_json=as_json)


def decide(registry: Registry, *, appeal_id: str, decision: str, text: str, as_json: bool) -> None:
    body = {"decision": decision, "text": text}
    _post(registry, appeal_id, "decide", body, as_json=as_json)


def withdraw(registry: Registry, *, appeal_id: str, as_json: bool) -> None:
    _post(registry, appeal_id, "withdraw", {}, as_json=as_json)


def _post(
    registry: Registry, appeal_id: str, action: str, body: dict[str, str], *, as_json: bool
) -> None:
    changed: Appeal = registry.post_json(f"{_APPEALS}/{segment(appeal_id)}/{action}", body, Appeal)
    _show(changed, as_json=as_json)


def _show(appeal: Appeal, *, as_json: bool) -> None:
    if as_json:
        print_json(appeal)
        return
    echo(f"{appeal['id']}: {appeal['state']}")
    echo(f"{appeal['name']} {appeal['verdict']}, decided by {appeal['decidedBy']}")
    if appeal["reason"]:
        echo(f"  {appeal['reason']}")
    for one in appeal["messages"]:
        staff = " (staff)" if one["isStaff"] else ""
        echo(f"{one['at'][:16].replace('T', ' ')} {one['by']}{staff}: {one['text']}")
