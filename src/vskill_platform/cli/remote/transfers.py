"""`rename`, `transfer` and `transfers` on a registry."""

import click

from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import Registry
from vskill_platform.client.shapes import Done, MovedTo, TransferOffers

_API = "/api/v1"


def rename(registry: Registry, *, slug: str, name: str, reason: str, as_json: bool) -> None:
    body = {"name": name, "reason": reason}
    response: MovedTo = registry.post_json(f"{_API}/skills/{segment(slug)}/move", body, MovedTo)
    _show(response, as_json=as_json)


def transfer(
    registry: Registry, *, subject: str, to: str, is_namespace: bool, reason: str, as_json: bool
) -> None:
    response: MovedTo
    if is_namespace:
        body = {"namespace": subject, "user": to}
        response = registry.post_json(f"{_API}/namespaces/transfer", body, MovedTo)
    else:
        body = {"namespace": to, "reason": reason}
        response = registry.post_json(f"{_API}/skills/{segment(subject)}/move", body, MovedTo)
    _show(response, as_json=as_json)


def transfers(registry: Registry, *, accept: str | None, end: str | None, as_json: bool) -> None:
    check_one(accept, end)
    if accept:
        path = f"{_API}/transfer-offers/{segment(accept)}/accept"
        response: MovedTo = registry.post_json(path, {}, MovedTo)
        _show(response, as_json=as_json)
        return
    if end:
        registry.delete_json(f"{_API}/transfer-offers/{segment(end)}", Done)
        echo("The transfer has ended.")
        return
    found: TransferOffers = registry.get_json(f"{_API}/transfer-offers", TransferOffers)
    if as_json:
        print_json(found)
        return
    show_transfers(
        [
            (one["id"], one["subject"], one["to"], one["by"], one["expiresAt"][:10])
            for one in found["transfers"]
        ]
    )


def check_one(accept: str | None, end: str | None) -> None:
    if accept and end:
        raise click.UsageError("use --accept or --end, not both")


def show_transfers(rows: list[tuple[str, str, str, str, str]]) -> None:
    if not rows:
        echo("There are no open transfers.", err=True)
        return
    show_table(("id", "what", "to", "offered by", "expires"), rows, keys=("id", "what"))


def _show(response: MovedTo, *, as_json: bool) -> None:
    if as_json:
        print_json(response)
        return
    offer = response.get("transfer")
    if offer:
        echo(f"{offer['subject']} was offered to {offer['to']}, who has to accept it.")
    else:
        echo(f"It is now {response['subject']}.")
