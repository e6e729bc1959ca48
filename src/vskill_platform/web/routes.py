"""Every route: its method, its path, the right it needs and its handler, one line each.

This table is the only source of routes. The application, the guard, the OpenAPI document and the
access tests are built from it, so a route without a right cannot exist.
"""

from litestar.handlers import HTTPRouteHandler

from vskill_platform.model.rights import Right
from vskill_platform.web.http.route import Route, build_handler
from vskill_platform.web.live import (
    events,
)
from vskill_platform.web.people import (
    account_page,
    audit,
    device_login,
    github_sign_in,
    mail_page,
    oidc_pages,
    people_api,
    second_factor_pages,
    sign_in_page,
    users_page,
    webhooks_api,
    webhooks_page,
)
from vskill_platform.web.protocol_routes import PROTOCOLS
from vskill_platform.web.registry import (
    api_page,
    dashboard_page,
    metrics,
    policy,
    policy_api,
    probes,
    queue_health_api,
    reports,
    rescan,
    settings_page,
    trust_page,
)
from vskill_platform.web.reviews import (
    blocklist,
    check_block,
    reviews,
)
from vskill_platform.web.skills import (
    feeds,
    follow_repos,
    followed_page,
    home_page,
    installs,
    manage_page,
    marketplace,
    publisher_page,
    search_api,
    security,
    skill_api,
    skill_pages,
    transfers,
    versions,
)
from vskill_platform.web.submissions import (
    manage_queue,
    queue_page,
    set_page,
    show_submissions,
    submit_api,
    submit_page,
)

__all__ = ["API", "PAGES", "PROTOCOLS", "api_handlers", "page_handlers"]

ANYONE, SUBMIT, MANAGE, ACCOUNT = Right.ANYONE, Right.SUBMIT, Right.MANAGE, Right.ACCOUNT
REVIEW, OPERATE, BLOCK, ADMINISTER = Right.REVIEW, Right.OPERATE, Right.BLOCK, Right.ADMINISTER
REPORT = Right.REPORT

# fmt: off
#: For browsers, probes and third-party scanners; not part of the OpenAPI document.
PAGES = [Route(*row) for row in (
    # skills
    ("GET", "/", ANYONE, home_page.home_page),
    ("GET", "/skills", ANYONE, marketplace.skill_list),
    ("GET", "/skills/{address:path}", ANYONE, skill_pages.skill_pages),
    ("GET", "/publishers/{publisher:path}", ANYONE, publisher_page.publisher_page),
    ("GET", "/{publisher:str}", ANYONE, publisher_page.short_publisher_page),
    ("GET", "/robots.txt", ANYONE, feeds.robots),
    ("GET", "/sitemap.xml", ANYONE, feeds.sitemap),
    ("GET", "/feeds/new.xml", ANYONE, feeds.new_skills),
    ("GET", "/feeds/blocked.xml", ANYONE, feeds.blocked_skills),
    ("GET", "/trust", ANYONE, trust_page.trust_page),
    # submissions and the queue
    ("GET", "/queue", ANYONE, queue_page.queue_page),
    ("GET", "/sets/{set_id:str}", ANYONE, set_page.set_page),
    ("GET", "/submissions/{submission_id:str}", ANYONE, show_submissions.submission_page),
    ("POST", "/submissions/{submission_id:str}/retry", SUBMIT, show_submissions.retry_form),
    ("POST", "/submissions/{submission_id:str}/withdraw", SUBMIT, show_submissions.withdraw_form),
    ("GET", "/submit", SUBMIT, submit_page.submit_page),
    ("POST", "/submit", SUBMIT, submit_page.submit_form),
    ("POST", "/submit/chosen", SUBMIT, submit_page.submit_chosen_form),
    ("GET", "/live/submissions/{submission_id:str}", ANYONE, events.live_submission),
    ("GET", "/live/queue", ANYONE, events.live_queue),
    # sign-in and account
    ("GET", "/account", ACCOUNT, account_page.account_page),
    ("POST", "/account/password", ACCOUNT, account_page.change_password),
    ("POST", "/account/tokens", ACCOUNT, account_page.add_own_token),
    ("POST", "/account/tokens/{token_id:str}/revoke", ACCOUNT, account_page.revoke_own_token),
    ("POST", "/account/sessions/{session_id:str}/end", ACCOUNT, account_page.end_own_session),
    ("POST", "/account/sign-out-everywhere", ACCOUNT, account_page.end_own_sessions),
    ("POST", "/account/members", ACCOUNT, account_page.change_members),
    ("POST", "/account/transfers", ACCOUNT, account_page.transfer_form),
    ("POST", "/account/github", ACCOUNT, github_sign_in.github_form),
    ("POST", "/account/mail", ACCOUNT, mail_page.mail_form),
    ("GET", "/account/repos", ACCOUNT, followed_page.followed_page),
    ("POST", "/account/repos/follow", ACCOUNT, followed_page.follow_form),
    ("POST", "/account/repos/stop", ACCOUNT, followed_page.unfollow_form),
    ("GET", "/sign-in", ANYONE, sign_in_page.sign_in_page),
    ("POST", "/sign-in", ANYONE, sign_in_page.sign_in_form),
    ("GET", "/sign-in/second", ANYONE, second_factor_pages.second_step_page),
    ("POST", "/sign-in/second", ANYONE, second_factor_pages.second_step_form),
    ("GET", "/account/security", ACCOUNT, second_factor_pages.security_page),
    ("POST", "/account/security", ACCOUNT, second_factor_pages.security_form),
    ("GET", "/sign-in/oidc", ANYONE, oidc_pages.oidc_start),
    ("GET", "/sign-in/oidc/callback", ANYONE, oidc_pages.oidc_callback),
    ("POST", "/account/oidc", ACCOUNT, oidc_pages.oidc_link_form),
    ("POST", "/api/oidc/back-channel-logout", ANYONE, oidc_pages.back_channel_logout),
    ("POST", "/sign-out", ANYONE, sign_in_page.sign_out),
    ("GET", "/device", ACCOUNT, device_login.device_page),
    ("POST", "/device", ACCOUNT, device_login.device_form),
    ("POST", "/api/cli/device/code", ANYONE, device_login.device_code),
    ("POST", "/api/cli/device/token", ANYONE, device_login.device_token),
    ("GET", "/welcome", ANYONE, sign_in_page.welcome_page),
    ("POST", "/welcome", ANYONE, sign_in_page.welcome_form),
    ("GET", "/forgot-password", ANYONE, mail_page.forgot_page),
    ("POST", "/forgot-password", ANYONE, mail_page.forgot_form),
    ("GET", "/confirm-address", ANYONE, mail_page.confirm_page),
    ("POST", "/confirm-address", ANYONE, mail_page.confirm_form),
    # administration
    ("GET", "/admin/skills/{slug:path}", ACCOUNT, manage_page.manage_page),
    ("POST", "/admin/yank/{slug:path}", ACCOUNT, manage_page.yank_form),
    ("POST", "/admin/deprecate/{slug:path}", ACCOUNT, manage_page.deprecate_form),
    ("POST", "/admin/rename/{slug:path}", ACCOUNT, manage_page.rename_form),
    ("POST", "/admin/transfer/{slug:path}", ACCOUNT, manage_page.transfer_form),
    ("POST", "/admin/visibility/{slug:path}", ACCOUNT, manage_page.visibility_form),
    ("GET", "/admin/queue", OPERATE, manage_queue.admin_queue_page),
    ("POST", "/admin/queue/pause", OPERATE, manage_queue.pause_form),
    ("POST", "/admin/queue/resume", OPERATE, manage_queue.resume_form),
    ("POST", "/admin/queue/requeue-all", OPERATE, manage_queue.requeue_all_form),
    ("POST", "/admin/queue/requeue/{submission_id:str}", OPERATE, manage_queue.requeue_form),
    ("POST", "/admin/dead-letters/{message_id:int}/revive", OPERATE, manage_queue.revive_form),
    ("POST", "/admin/dead-letters/{message_id:int}/drop", OPERATE, manage_queue.drop_form),
    ("GET", "/admin/blocklist", BLOCK, blocklist.blocklist_page),
    ("POST", "/admin/blocklist/add", BLOCK, blocklist.block_form),
    ("POST", "/admin/blocklist/remove", BLOCK, blocklist.unblock_form),
    ("GET", "/admin/webhooks", ACCOUNT, webhooks_page.webhooks_page),
    ("POST", "/admin/webhooks/add", ACCOUNT, webhooks_page.add_webhook_form),
    ("GET", "/admin/webhooks/{webhook_id:str}", ACCOUNT, webhooks_page.webhook_page),
    ("POST", "/admin/webhooks/{webhook_id:str}/{action:str}", ACCOUNT, webhooks_page.webhook_form),
    ("GET", "/admin/reports", REVIEW, reports.reports_page),
    ("POST", "/admin/reports/{report_id:str}/close", REVIEW, reports.close_report_form),
    ("GET", "/admin/reviews", REVIEW, reviews.reviews_page),
    ("GET", "/admin/reviews/{submission_id:str}", REVIEW, reviews.review_page),
    ("POST", "/admin/reviews/{submission_id:str}/{ruling:str}", REVIEW, reviews.ruling_form),
    ("GET", "/admin", OPERATE, dashboard_page.dashboard_page),
    ("GET", "/admin/policy", ADMINISTER, policy.policy_page),
    ("POST", "/admin/policy/dry-run", ADMINISTER, policy.dry_run_form),
    ("POST", "/admin/policy/save", ADMINISTER, policy.save_form),
    ("GET", "/admin/policy/versions", ADMINISTER, policy.versions_page),
    ("GET", "/admin/policy/versions/{number:int}", ADMINISTER, policy.version_page),
    ("GET", "/admin/settings", ADMINISTER, settings_page.settings_page),
    ("GET", "/admin/rescan", ADMINISTER, rescan.rescan_page),
    ("POST", "/admin/rescan/start", ADMINISTER, rescan.start_rescan_form),
    ("POST", "/admin/rescan/apply", ADMINISTER, rescan.apply_rescan_form),
    ("GET", "/admin/audit", ADMINISTER, audit.audit_page),
    ("GET", "/admin/audit/export", ADMINISTER, audit.export_audit),
    ("GET", "/admin/people", ADMINISTER, users_page.people_page),
    ("POST", "/admin/people/add", ADMINISTER, users_page.add_user_form),
    ("POST", "/admin/people/{name:str}/{action:str}", ADMINISTER, users_page.user_form),
    ("GET", "/admin/tokens", ADMINISTER, users_page.tokens_page),
    ("GET", "/admin/namespaces", ADMINISTER, users_page.namespaces_page),
    ("POST", "/admin/tokens/{token_id:str}/revoke", ADMINISTER, users_page.revoke_token_form),
    ("POST", "/admin/namespaces/{action:str}", ADMINISTER, users_page.namespace_form),
    # API documentation, third-party scanners and probes
    ("GET", "/api/openapi.json", ANYONE, api_page.openapi_document),
    ("POST", "/api/v1/external-scans/{scan_id:str}/callback", ANYONE, submit_api.external_scan_callback),
    ("GET", "/api", ANYONE, api_page.api_page),
    ("GET", "/healthz", ANYONE, probes.healthz),
    ("GET", "/readyz", ANYONE, probes.readyz),
    ("GET", "/healthz/queue", ANYONE, probes.queue_healthz),
    ("GET", "/metrics", ANYONE, metrics.metrics),
)]
#: For programs, by the tag in the OpenAPI document.
API = {tag: [Route(*row) for row in rows] for tag, rows in {
    "Installed skills": (
        ("POST", "/api/v1/skills/check-updates", ANYONE, installs.check_updates),
        ("POST", "/api/v1/skills/{slug:str}/installs", ANYONE, installs.report_install),
        ("POST", "/api/v1/skills/installs", ANYONE, installs.report_installs),
    ),
    "Skills": (
        ("GET", "/api/v1/skills/search", ANYONE, search_api.search_skills),
        ("GET", "/api/v1/skills", ANYONE, search_api.list_skills),
        ("GET", "/api/v1/skills/suggest", ANYONE, search_api.suggest_skills),
        ("GET", "/api/v1/skills/{slug:str}/security", ANYONE, security.show_security),
        ("GET", "/api/v1/skills/{slug:str}/repo-health", ANYONE, security.show_repo_health),
        ("GET", "/api/v1/skills/{slug:str}", ANYONE, skill_api.show_skill),
        ("GET", "/api/v1/skills/{slug:str}/files", ANYONE, skill_api.show_files),
        ("GET", "/api/v1/skills/{slug:str}/download", ANYONE, skill_api.download_skill),
        ("GET", "/api/v1/skills/{slug:str}/badge", ANYONE, skill_api.show_badge),
        ("POST", "/api/v1/skills/{slug:str}/yank", MANAGE, skill_api.yank_over_api),
        ("POST", "/api/v1/skills/{slug:str}/unyank", MANAGE, skill_api.unyank_over_api),
        ("POST", "/api/v1/skills/{slug:str}/deprecate", MANAGE, skill_api.deprecate_over_api),
        ("POST", "/api/v1/skills/{slug:str}/undeprecate", MANAGE, skill_api.undeprecate_over_api),
        ("POST", "/api/v1/skills/{slug:str}/move", MANAGE, transfers.move_over_api),
        ("POST", "/api/v1/skills/{slug:str}/visibility", MANAGE, skill_api.change_visibility),
        ("GET", "/api/v1/skills/{slug:str}/versions", ANYONE, versions.show_versions),
        ("GET", "/api/v1/skills/{slug:str}/versions/diff", ANYONE, versions.show_diff),
        ("GET", "/api/v1/skills/{slug:str}/versions/compare", ANYONE, versions.compare_versions),
        ("GET", "/api/v1/skills/{slug:str}/versions/{version:str}", ANYONE, versions.show_version),
    ),
    "Queue": (
        ("GET", "/api/v1/queue/stuck", OPERATE, manage_queue.list_stuck),
        ("POST", "/api/v1/queue/requeue", OPERATE, manage_queue.requeue_over_api),
        ("POST", "/api/v1/queue/pause", OPERATE, manage_queue.pause_over_api),
        ("DELETE", "/api/v1/queue/pause", OPERATE, manage_queue.resume_over_api),
        ("GET", "/api/v1/queue/dead-letters", OPERATE, manage_queue.list_dead_letters),
        ("POST", "/api/v1/queue/dead-letters/{message_id:int}/revive", OPERATE, manage_queue.revive_over_api),
        ("DELETE", "/api/v1/queue/dead-letters/{message_id:int}", OPERATE, manage_queue.drop_over_api),
        ("GET", "/api/v1/queue/stats", ANYONE, queue_health_api.queue_stats),
        ("GET", "/api/v1/submissions/stats", ANYONE, queue_health_api.queue_stats),
        ("GET", "/api/v1/stats", ANYONE, queue_health_api.queue_stats),
        ("GET", "/api/v1/queue/health", ANYONE, queue_health_api.queue_health),
    ),
    "Submissions": (
        ("GET", "/api/v1/submissions", ANYONE, show_submissions.list_submissions),
        ("GET", "/api/v1/submissions/search", ANYONE, show_submissions.list_submissions),
        ("GET", "/api/v1/submissions/positions", ANYONE, show_submissions.show_positions),
        ("GET", "/api/v1/submissions/{submission_id:str}", ANYONE, show_submissions.show_submission),
        ("POST", "/api/v1/submissions/{submission_id:str}/retry", SUBMIT, show_submissions.retry_over_api),
        ("POST", "/api/v1/submissions/{submission_id:str}/withdraw", SUBMIT, show_submissions.withdraw_over_api),
        ("POST", "/api/v1/submissions", SUBMIT, submit_api.create_submission),
        ("POST", "/api/v1/submissions/upload", SUBMIT, submit_api.upload_submission),
        ("POST", "/api/v1/submissions/discover", SUBMIT, submit_api.discover_skills),
    ),
    "Blocklist": (
        ("GET", "/api/v1/blocklist", ANYONE, blocklist.show_blocklist),
        ("POST", "/api/v1/blocklist", BLOCK, blocklist.add_block),
        ("DELETE", "/api/v1/blocklist/{block_id:str}", BLOCK, blocklist.remove_block),
        ("GET", "/api/v1/blocklist/check", ANYONE, check_block.check_blocklist),
    ),
    "Reviews": (
        ("GET", "/api/v1/reviews", REVIEW, reviews.reviews_over_api),
        ("GET", "/api/v1/reviews/{submission_id:str}", REVIEW, reviews.review_over_api),
        ("POST", "/api/v1/reviews/{submission_id:str}/{ruling:str}", REVIEW, reviews.rule_over_api),
    ),
    "Reports": (
        ("GET", "/api/v1/reports", REVIEW, reports.list_reports),
        ("POST", "/api/v1/reports", REPORT, reports.report_over_api),
        ("POST", "/api/v1/reports/{report_id:str}/close", REVIEW, reports.close_over_api),
        ("POST", "/api/v1/problem-reports", REPORT, reports.report_problem_over_api),
        ("GET", "/api/v1/problem-reports/mine", ANYONE, reports.list_own_problems),
    ),
    "Followed repositories": (
        ("GET", "/api/v1/followed-repos", ANYONE, follow_repos.list_followed),
        ("POST", "/api/v1/followed-repos", SUBMIT, follow_repos.follow_all_over_api),
        ("DELETE", "/api/v1/followed-repos", SUBMIT, follow_repos.unfollow_all_over_api),
        ("POST", "/api/v1/hooks/push/{kind:str}", ANYONE, follow_repos.take_push_webhook),
        ("POST", "/api/v1/skills/{slug:str}/register-tracking", SUBMIT, follow_repos.follow_over_api),
        ("DELETE", "/api/v1/skills/{slug:str}/register-tracking", SUBMIT, follow_repos.unfollow_over_api),
    ),
    "Transfers": (
        ("GET", "/api/v1/transfer-offers", MANAGE, transfers.list_over_api),
        ("POST", "/api/v1/transfer-offers/{transfer_id:str}/accept", MANAGE, transfers.accept_over_api),
        ("DELETE", "/api/v1/transfer-offers/{transfer_id:str}", MANAGE, transfers.end_over_api),
        ("POST", "/api/v1/namespaces/transfer", MANAGE, transfers.transfer_namespace_over_api),
    ),
    "Webhooks": (
        ("GET", "/api/v1/webhooks", MANAGE, webhooks_api.list_webhooks),
        ("POST", "/api/v1/webhooks", MANAGE, webhooks_api.add_webhook),
        ("GET", "/api/v1/webhooks/{webhook_id:str}", MANAGE, webhooks_api.show_webhook),
        ("PATCH", "/api/v1/webhooks/{webhook_id:str}", MANAGE, webhooks_api.change_webhook),
        ("DELETE", "/api/v1/webhooks/{webhook_id:str}", MANAGE, webhooks_api.remove_webhook),
        ("POST", "/api/v1/webhooks/{webhook_id:str}/rotate", MANAGE, webhooks_api.rotate_over_api),
        ("POST", "/api/v1/webhooks/{webhook_id:str}/test", MANAGE, webhooks_api.test_over_api),
        ("GET", "/api/v1/webhooks/{webhook_id:str}/deliveries", MANAGE, webhooks_api.deliveries_over_api),
        ("POST", "/api/v1/webhooks/{webhook_id:str}/replay", MANAGE, webhooks_api.replay_over_api),
    ),
    "Policy": (
        ("GET", "/api/v1/policy", ADMINISTER, policy_api.show_policy),
        ("POST", "/api/v1/policy/dry-run", ADMINISTER, policy_api.try_over_api),
        ("GET", "/api/v1/policy/versions", ADMINISTER, policy_api.list_versions),
        ("POST", "/api/v1/policy/versions", ADMINISTER, policy_api.save_over_api),
        ("GET", "/api/v1/policy/versions/{number:int}", ADMINISTER, policy_api.show_version),
        ("GET", "/api/v1/policy/versions/{number:int}/diff", ADMINISTER, policy_api.show_policy_diff),
        ("POST", "/api/v1/policy/versions/{number:int}/restore", ADMINISTER, policy_api.restore_over_api),
        ("GET", "/api/v1/rescan", ADMINISTER, rescan.show_rescan),
        ("POST", "/api/v1/rescan", ADMINISTER, rescan.start_rescan),
        ("POST", "/api/v1/skills/{slug:str}/rescan", MANAGE, rescan.rescan_one),
    ),
    "Account": (
        ("GET", "/api/v1/account", ANYONE, people_api.who_am_i),
        ("DELETE", "/api/v1/account/token", ANYONE, people_api.revoke_this_token),
        ("GET", "/api/v1/account/tenants", ANYONE, people_api.list_tenants),
        ("DELETE", "/api/v1/auth/sign-out-all", ACCOUNT, people_api.sign_out_all),
        ("GET", "/api/v1/account/github", ACCOUNT, github_sign_in.show_github_link),
        ("POST", "/api/v1/account/github", ACCOUNT, github_sign_in.link_over_api),
        ("DELETE", "/api/v1/account/github", ACCOUNT, github_sign_in.unlink_over_api),
        ("GET", "/api/v1/account/mail", ACCOUNT, mail_page.show_own_mail),
        ("PATCH", "/api/v1/account/mail", ACCOUNT, mail_page.change_own_mail),
    ),
    "Tokens": (
        ("GET", "/api/v1/tokens", ACCOUNT, people_api.list_own_tokens),
        ("POST", "/api/v1/tokens", ACCOUNT, people_api.make_token),
        ("DELETE", "/api/v1/tokens/{token_id:str}", ACCOUNT, people_api.revoke_over_api),
    ),
    "Users": (
        ("GET", "/api/v1/users", ADMINISTER, people_api.users_over_api),
        ("POST", "/api/v1/users", ADMINISTER, people_api.add_user_over_api),
        ("PATCH", "/api/v1/users/{name:str}", ADMINISTER, people_api.change_user),
    ),
    "Audit": (
        ("GET", "/api/v1/audit", ADMINISTER, audit.audit_over_api),
    ),
}.items()}
# fmt: on


def page_handlers() -> list[HTTPRouteHandler]:
    return [build_handler(row) for row in (*PAGES, *PROTOCOLS)]


def api_handlers() -> list[HTTPRouteHandler]:
    return [build_handler(row, tag=tag) for tag, rows in API.items() for row in rows]
