"""The route table with the users that have each right.

Which people have a right is written here independently of `model/rights.py`. What a handler itself
refuses (another owner's namespace, say) is not part of it.
"""

from vskill_platform.model.rights import Right
from vskill_platform.web.routes import API, PAGES, PROTOCOLS

#: With a session each, and one token of an admin for each scope.
EVERYBODY = frozenset(
    {
        "anonymous", "reader", "publisher", "reviewer", "admin",
        "token:read", "token:submit", "token:manage", "token:review", "token:operate",
        "token:admin",
    }
)  # fmt: skip
_ACCOUNTS = frozenset({"reader", "publisher", "reviewer", "admin", "token:admin"})
_REVIEWERS = frozenset({"reviewer", "admin", "token:review", "token:admin"})
WHO = {
    Right.ANYONE: EVERYBODY,
    # As long as VSKILL_SUBMIT_BY is `anyone`; tokens need the scope.
    Right.SUBMIT: EVERYBODY - {"token:read", "token:manage", "token:review", "token:operate"},
    Right.MANAGE: _ACCOUNTS | {"token:manage", "token:review"},
    # Every token that can write something.
    Right.REPORT: EVERYBODY - {"token:read"},
    Right.ACCOUNT: _ACCOUNTS,
    Right.SESSIONS: _ACCOUNTS | {"token:manage"},
    # Takes the password, too.
    Right.DELETE_ACCOUNT: _ACCOUNTS | {"token:manage"},
    Right.REVIEW: _REVIEWERS,
    Right.OPERATE: frozenset({"reviewer", "admin", "token:operate", "token:admin"}),
    Right.BLOCK: _REVIEWERS,
    Right.ADMINISTER: frozenset({"admin", "token:admin"}),
}
TABLE = [*PAGES, *PROTOCOLS, *(row for rows in API.values() for row in rows)]
ROUTES: dict[str, frozenset[str]] = {
    "GET /static/{file_path:path}": EVERYBODY,
    "HEAD /static/{file_path:path}": EVERYBODY,
    **{f"{row.method} {row.path}": WHO[row.right] for row in TABLE},
    # Its handler answers operators, and the metrics token.
    "GET /metrics": WHO[Right.OPERATE],
    # Its handler answers any account, and asks everybody else to sign in.
    "GET /api/v1/account/tenants": EVERYBODY - {"anonymous"},
    # Its handler answers any token.
    "DELETE /api/v1/account/token": frozenset(who for who in EVERYBODY if who.startswith("token:")),
    "GET /clawhub/api/v1/whoami": EVERYBODY - {"anonymous"},
    "GET /api/v1/problem-reports/mine": EVERYBODY - {"anonymous"},
    "GET /api/v1/reports/mine": EVERYBODY - {"anonymous"},
    "GET /api/v1/followed-repos": EVERYBODY - {"anonymous"},
    # Somebody must have asked for it.
    "DELETE /api/v1/skills/{slug:str}/register-tracking": WHO[Right.SUBMIT] - {"anonymous"},
    # ClawHub's clients publish with an account only.
    **{
        f"POST /clawhub/api/v1/skills{path}": WHO[Right.SUBMIT] - {"anonymous"}
        for path in ("", "/-/upload/{sha256:str}")
    },
}
