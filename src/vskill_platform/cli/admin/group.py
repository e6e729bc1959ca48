"""`admin`: the commands of operators, which need the database of the registry."""

import click

from vskill_platform.cli.lazy import LazyGroup

_CLI = "vskill_platform.cli"
_HERE = f"{_CLI}.admin"
#: Everything here reads or writes the database directly.
ADMIN = {
    "Users": {
        "users": f"{_HERE}.users:users",
        "tokens": f"{_HERE}.tokens:tokens",
        "namespaces": f"{_HERE}.namespaces:namespaces",
        "audit": f"{_HERE}.audit:audit",
        "mail": f"{_HERE}.mail:mail",
        "webhooks": f"{_HERE}.webhooks:webhooks",
        "trusted-publishers": f"{_HERE}.trusted_publishers:trusted_publishers",
    },
    "Queue": {
        "queue": f"{_HERE}.queue:queue",
        "pause": f"{_HERE}.queue:pause",
        "resume": f"{_HERE}.queue:resume",
        "stuck": f"{_HERE}.queue:stuck",
        "requeue": f"{_CLI}.local.retry_commands:requeue",
        "dead-letters": f"{_HERE}.dead_letters:dead_letters",
        "work": f"{_CLI}.node.work:work",
        "tick": f"{_CLI}.node.work:tick",
    },
    "Rules": {
        "policy": f"{_HERE}.policy:policy",
        "rescan": f"{_HERE}.rescan:rescan",
        "scanners": f"{_HERE}.scanners:scanners",
        "similar": f"{_HERE}.similar:similar",
        "featured": f"{_HERE}.featured:featured",
        "mirrors": f"{_HERE}.mirrors:mirrors",
    },
    "Database": {
        "backup": f"{_HERE}.backup:backup",
        "restore": f"{_HERE}.backup:restore",
        "copy": f"{_HERE}.copy:copy",
        "prune": f"{_HERE}.prune:prune",
        "vacuum": f"{_HERE}.vacuum:vacuum",
        "config": f"{_HERE}.config:config",
        "check": f"{_HERE}.check:check",
    },
}
#: Their names in earlier releases, which scripts may use.
ALIASES = {
    name: place
    for section in ADMIN.values()
    for name, place in section.items()
    if name
    not in {
        "check", "copy", "featured", "mail", "mirrors", "prune", "trusted-publishers", "vacuum",
        "webhooks",
    }
}  # fmt: skip


@click.group(cls=LazyGroup, sections=ADMIN)
def admin() -> None:
    """Operate the registry on this machine.

    These commands need its database: run them where it is, with VSKILL_DATABASE_URL if it is not in
    the current folder.
    """
