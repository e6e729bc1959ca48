"""Who is let through to which path: one line a route, written by hand.

A new route needs its line here: `"METHOD /path": WHO,`, with the path as its handler spells it.
This is what the walk of test_route_access.py holds the application to, so it does not look at the
rights that the handlers name. What a handler itself refuses (a namespace of others, say) is not
told here.
"""

#: With a session each, and one token of an admin for each scope.
EVERYBODY = frozenset(
    {
        "anonymous", "reader", "publisher", "reviewer", "admin",
        "token:read", "token:submit", "token:manage", "token:review", "token:operate",
        "token:admin",
    }
)  # fmt: skip
#: As long as VSKILL_SUBMIT_BY is `anyone`; tokens need the scope.
SUBMITTERS = EVERYBODY - {"token:read", "token:manage", "token:review", "token:operate"}
ACCOUNTS = frozenset({"reader", "publisher", "reviewer", "admin", "token:admin"})
MANAGERS = ACCOUNTS | {"token:manage", "token:review"}
REVIEWERS = frozenset({"reviewer", "admin", "token:review", "token:admin"})
OPERATORS = frozenset({"reviewer", "admin", "token:operate", "token:admin"})
BLOCKERS = REVIEWERS
ADMINS = frozenset({"admin", "token:admin"})

ROUTES: dict[str, frozenset[str]] = {
    # for those who watch whether it runs
    "GET /healthz": EVERYBODY,
    "GET /readyz": EVERYBODY,
    "GET /healthz/queue": EVERYBODY,
    "GET /static/{file_path:path}": EVERYBODY,
    "HEAD /static/{file_path:path}": EVERYBODY,
    # pages for everybody
    "GET /": EVERYBODY,
    "GET /skills": EVERYBODY,
    "GET /skills/{address:path}": EVERYBODY,
    "GET /trust": EVERYBODY,
    "GET /queue": EVERYBODY,
    "GET /submissions/{submission_id:str}": EVERYBODY,
    "GET /live/queue": EVERYBODY,
    "GET /live/submissions/{submission_id:str}": EVERYBODY,
    # submitting
    "GET /submit": SUBMITTERS,
    "POST /submit": SUBMITTERS,
    "POST /submit/chosen": SUBMITTERS,
    "POST /submissions/{submission_id:str}/retry": SUBMITTERS,
    "POST /submissions/{submission_id:str}/withdraw": SUBMITTERS,
    # signing in, and one's own account
    "GET /sign-in": EVERYBODY,
    "POST /sign-in": EVERYBODY,
    "POST /sign-out": EVERYBODY,
    "GET /welcome": EVERYBODY,
    "POST /welcome": EVERYBODY,
    "GET /account": ACCOUNTS,
    "POST /account/password": ACCOUNTS,
    "POST /account/tokens": ACCOUNTS,
    "POST /account/tokens/{token_id:str}/revoke": ACCOUNTS,
    "POST /account/sessions/{session_id:str}/end": ACCOUNTS,
    "POST /account/sign-out-everywhere": ACCOUNTS,
    "POST /account/members": ACCOUNTS,
    # for owners of namespaces, who need not be operators; the handler asks whose it is
    "GET /admin/skills/{slug:path}": ACCOUNTS,
    "POST /admin/visibility/{slug:path}": ACCOUNTS,
    "POST /admin/yank/{slug:path}": ACCOUNTS,
    # for operators
    "GET /admin": OPERATORS,
    "GET /admin/queue": OPERATORS,
    "POST /admin/queue/pause": OPERATORS,
    "POST /admin/queue/resume": OPERATORS,
    "POST /admin/queue/requeue/{submission_id:str}": OPERATORS,
    "POST /admin/queue/requeue-all": OPERATORS,
    "POST /admin/dead-letters/{message_id:int}/drop": OPERATORS,
    "POST /admin/dead-letters/{message_id:int}/revive": OPERATORS,
    "GET /admin/reviews": REVIEWERS,
    "GET /admin/reviews/{submission_id:str}": REVIEWERS,
    "POST /admin/reviews/{submission_id:str}/{ruling:str}": REVIEWERS,
    "GET /admin/blocklist": BLOCKERS,
    "POST /admin/blocklist/add": BLOCKERS,
    "POST /admin/blocklist/remove": BLOCKERS,
    "GET /admin/people": ADMINS,
    "POST /admin/people/add": ADMINS,
    "POST /admin/people/{name:str}/{deed:str}": ADMINS,
    "POST /admin/namespaces/{deed:str}": ADMINS,
    "POST /admin/tokens/{token_id:str}/revoke": ADMINS,
    "GET /admin/audit": ADMINS,
    "GET /admin/policy": ADMINS,
    "POST /admin/policy/dry-run": ADMINS,
    "GET /admin/rescan": ADMINS,
    "POST /admin/rescan/start": ADMINS,
    "POST /admin/rescan/apply": ADMINS,
    # for programs
    "POST /api/v1/external-scans/{scan_id:str}/callback": EVERYBODY,  # signed
    "GET /api": EVERYBODY,
    "GET /api/openapi.json": EVERYBODY,
    "GET /api/v1/account": EVERYBODY,
    "GET /api/v1/account/tenants": EVERYBODY - {"anonymous"},
    "DELETE /api/v1/auth/sign-out-all": ACCOUNTS,
    "GET /api/v1/tokens": ACCOUNTS,
    "POST /api/v1/tokens": ACCOUNTS,
    "DELETE /api/v1/tokens/{token_id:str}": ACCOUNTS,
    "GET /api/v1/skills": EVERYBODY,
    "GET /api/v1/skills/search": EVERYBODY,
    "GET /api/v1/skills/suggest": EVERYBODY,
    "POST /api/v1/skills/check-updates": EVERYBODY,
    "POST /api/v1/skills/installs": EVERYBODY,
    "GET /api/v1/skills/{slug:str}": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/badge": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/download": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/files": EVERYBODY,
    "POST /api/v1/skills/{slug:str}/installs": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/repo-health": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/security": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/versions": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/versions/compare": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/versions/diff": EVERYBODY,
    "GET /api/v1/skills/{slug:str}/versions/{version:str}": EVERYBODY,
    "POST /api/v1/skills/{slug:str}/visibility": MANAGERS,  # whose it is, the handler asks
    "POST /api/v1/skills/{slug:str}/yank": MANAGERS,
    "POST /api/v1/skills/{slug:str}/unyank": MANAGERS,
    "GET /api/v1/submissions": EVERYBODY,
    "GET /api/v1/submissions/positions": EVERYBODY,
    "GET /api/v1/submissions/search": EVERYBODY,
    "GET /api/v1/submissions/stats": EVERYBODY,
    "GET /api/v1/submissions/{submission_id:str}": EVERYBODY,
    "POST /api/v1/submissions": SUBMITTERS,
    "POST /api/v1/submissions/discover": SUBMITTERS,
    "POST /api/v1/submissions/upload": SUBMITTERS,
    "POST /api/v1/submissions/{submission_id:str}/retry": SUBMITTERS,
    "POST /api/v1/submissions/{submission_id:str}/withdraw": SUBMITTERS,
    "GET /api/v1/blocklist": EVERYBODY,
    "GET /api/v1/blocklist/check": EVERYBODY,
    "POST /api/v1/blocklist": BLOCKERS,
    "DELETE /api/v1/blocklist/{block_id:str}": BLOCKERS,
    "GET /api/v1/queue/health": EVERYBODY,
    "GET /api/v1/queue/stats": EVERYBODY,
    "GET /api/v1/stats": EVERYBODY,
    "GET /api/v1/queue/stuck": OPERATORS,
    "POST /api/v1/queue/requeue": OPERATORS,
    "POST /api/v1/queue/pause": OPERATORS,
    "DELETE /api/v1/queue/pause": OPERATORS,
    "GET /api/v1/queue/dead-letters": OPERATORS,
    "DELETE /api/v1/queue/dead-letters/{message_id:int}": OPERATORS,
    "POST /api/v1/queue/dead-letters/{message_id:int}/revive": OPERATORS,
    "GET /api/v1/reviews": REVIEWERS,
    "GET /api/v1/reviews/{submission_id:str}": REVIEWERS,
    "POST /api/v1/reviews/{submission_id:str}/{ruling:str}": REVIEWERS,
    "GET /api/v1/users": ADMINS,
    "POST /api/v1/users": ADMINS,
    "PATCH /api/v1/users/{name:str}": ADMINS,
    "GET /api/v1/audit": ADMINS,
    "GET /api/v1/policy": ADMINS,
    "POST /api/v1/policy/dry-run": ADMINS,
    "GET /api/v1/rescan": ADMINS,
    "POST /api/v1/rescan": ADMINS,
}
