"""The routes of the API, by the tag in the OpenAPI document; a part of the table in routes.py."""

from vskill_platform.model.rights import Right
from vskill_platform.web.events import mail_queue, webhooks_api
from vskill_platform.web.http.route import Route
from vskill_platform.web.manage_skills import (
    delete_namespace,
    delete_skill,
    featured,
    follow_repos,
    transfers,
)
from vskill_platform.web.marketplace import search_api
from vskill_platform.web.people import (
    delete_account_page,
    mail_page,
    namespaces_api,
    people_api,
    sessions_api,
    trusted_publishers,
)
from vskill_platform.web.policy import policy_api
from vskill_platform.web.registry import (
    audit,
    mirrors,
    queue_health_api,
    reports,
    rescan,
    retention,
    settings_page,
)
from vskill_platform.web.reviews import appeals, blocklist, check_block, reviews_api
from vskill_platform.web.sign_in import github_sign_in, second_factor_api, user_credentials_api
from vskill_platform.web.skills import installs, security, skill_api, versions
from vskill_platform.web.submissions import manage_queue_api, show_submissions, submit_api

ANYONE, SUBMIT, MANAGE, ACCOUNT = Right.ANYONE, Right.SUBMIT, Right.MANAGE, Right.ACCOUNT
REVIEW, OPERATE, BLOCK, ADMINISTER = Right.REVIEW, Right.OPERATE, Right.BLOCK, Right.ADMINISTER
REPORT, SESSIONS, DELETE_ACCOUNT = Right.REPORT, Right.SESSIONS, Right.DELETE_ACCOUNT

# fmt: off
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
        ("GET", "/api/v1/featured", ANYONE, featured.show_featured),
        ("PUT", "/api/v1/featured", OPERATE, featured.set_over_api),
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
        ("GET", "/api/v1/skills/{slug:str}/deletion", MANAGE, delete_skill.preview_over_api),
        ("POST", "/api/v1/skills/{slug:str}/delete", MANAGE, delete_skill.delete_over_api),
        ("POST", "/api/v1/skills/{slug:str}/move", MANAGE, transfers.move_over_api),
        ("POST", "/api/v1/skills/{slug:str}/visibility", MANAGE, skill_api.change_visibility),
        ("GET", "/api/v1/skills/{slug:str}/versions", ANYONE, versions.show_versions),
        ("GET", "/api/v1/skills/{slug:str}/versions/diff", ANYONE, versions.show_diff),
        ("GET", "/api/v1/skills/{slug:str}/versions/compare", ANYONE, versions.compare_versions),
        ("GET", "/api/v1/skills/{slug:str}/versions/{version:str}", ANYONE, versions.show_version),
    ),
    "Queue": (
        ("GET", "/api/v1/queue/retention", OPERATE, retention.show_retention),
        ("GET", "/api/v1/queue/stuck", OPERATE, manage_queue_api.list_stuck),
        ("POST", "/api/v1/queue/requeue", OPERATE, manage_queue_api.requeue_over_api),
        ("POST", "/api/v1/queue/pause", OPERATE, manage_queue_api.pause_over_api),
        ("DELETE", "/api/v1/queue/pause", OPERATE, manage_queue_api.resume_over_api),
        ("GET", "/api/v1/queue/dead-letters", OPERATE, manage_queue_api.list_dead_letters),
        # Requeues the message; the path keeps the name of earlier releases.
        ("POST", "/api/v1/queue/dead-letters/{message_id:int}/revive", OPERATE, manage_queue_api.requeue_letter_over_api),
        ("DELETE", "/api/v1/queue/dead-letters/{message_id:int}", OPERATE, manage_queue_api.drop_over_api),
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
        ("GET", "/api/v1/reviews", REVIEW, reviews_api.reviews_over_api),
        ("GET", "/api/v1/reviews/{submission_id:str}", REVIEW, reviews_api.review_over_api),
        ("POST", "/api/v1/reviews/{submission_id:str}/{ruling:str}", REVIEW, reviews_api.rule_over_api),
    ),
    "Reports": (
        ("GET", "/api/v1/reports", REVIEW, reports.list_reports),
        ("GET", "/api/v1/reports/mine", ANYONE, reports.list_own_reports),
        ("POST", "/api/v1/reports", REPORT, reports.report_over_api),
        ("POST", "/api/v1/reports/{report_id:str}/close", REVIEW, reports.close_over_api),
        ("POST", "/api/v1/problem-reports", REPORT, reports.report_problem_over_api),
        ("GET", "/api/v1/problem-reports/mine", ANYONE, reports.list_own_problems),
    ),
    "Mirrors": (
        ("GET", "/api/v1/mirrors", OPERATE, mirrors.show_mirrors),
        ("GET", "/api/v1/mirrored-skills", OPERATE, mirrors.show_mirrored),
        ("POST", "/api/v1/mirrors/{mirror:str}/fetch", OPERATE, mirrors.fetch_over_api),
        ("POST", "/api/v1/mirrors/{mirror:str}/compare", OPERATE, mirrors.compare_over_api),
    ),
    "Appeals": (
        ("GET", "/api/v1/appeals", MANAGE, appeals.list_over_api),
        ("POST", "/api/v1/appeals", MANAGE, appeals.open_over_api),
        ("GET", "/api/v1/appeals/{appeal_id:str}", MANAGE, appeals.show_over_api),
        ("POST", "/api/v1/appeals/{appeal_id:str}/messages", MANAGE, appeals.answer_over_api),
        ("POST", "/api/v1/appeals/{appeal_id:str}/decide", REVIEW, appeals.decide_over_api),
        ("POST", "/api/v1/appeals/{appeal_id:str}/withdraw", MANAGE, appeals.withdraw_over_api),
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
    ),
    "Namespaces": (
        ("GET", "/api/v1/namespaces", MANAGE, namespaces_api.list_over_api),
        ("POST", "/api/v1/namespaces/members", MANAGE, namespaces_api.add_member_over_api),
        ("DELETE", "/api/v1/namespaces/members", MANAGE, namespaces_api.remove_member_over_api),
        ("POST", "/api/v1/namespaces/owners", ADMINISTER, namespaces_api.add_owner_over_api),
        ("DELETE", "/api/v1/namespaces/owners", ADMINISTER, namespaces_api.remove_owner_over_api),
        ("GET", "/api/v1/namespaces/deletion", MANAGE, delete_namespace.preview_over_api),
        ("POST", "/api/v1/namespaces/delete", MANAGE, delete_namespace.delete_over_api),
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
        ("GET", "/api/v1/account/deletion", DELETE_ACCOUNT, delete_account_page.preview_own),
        ("POST", "/api/v1/account/delete", DELETE_ACCOUNT, delete_account_page.delete_own),
        ("POST", "/api/v1/trusted-publishing/token", ANYONE, trusted_publishers.exchange_over_api),
        ("GET", "/api/v1/trusted-publishers", MANAGE, trusted_publishers.list_over_api),
        ("POST", "/api/v1/trusted-publishers", MANAGE, trusted_publishers.add_over_api),
        ("DELETE", "/api/v1/trusted-publishers/{publisher_id:str}", MANAGE, trusted_publishers.remove_over_api),
        ("GET", "/api/v1/account/tenants", ANYONE, people_api.list_tenants),
        ("GET", "/api/v1/account/sessions", SESSIONS, sessions_api.list_own),
        ("DELETE", "/api/v1/account/sessions/{session_id:str}", SESSIONS, sessions_api.end_own),
        ("DELETE", "/api/v1/auth/sign-out-all", SESSIONS, sessions_api.end_all_own),
        ("GET", "/api/v1/account/github", ACCOUNT, github_sign_in.show_github_link),
        ("POST", "/api/v1/account/github", ACCOUNT, github_sign_in.link_over_api),
        ("DELETE", "/api/v1/account/github", ACCOUNT, github_sign_in.unlink_over_api),
        ("GET", "/api/v1/account/oidc", ACCOUNT, user_credentials_api.show_own_link),
        ("DELETE", "/api/v1/account/oidc", ACCOUNT, user_credentials_api.unlink_own),
        ("GET", "/api/v1/account/second-factor", ACCOUNT, second_factor_api.show_second_factor),
        ("POST", "/api/v1/account/second-factor/totp", ACCOUNT, second_factor_api.begin_over_api),
        ("POST", "/api/v1/account/second-factor/confirm", ACCOUNT, second_factor_api.confirm_over_api),
        ("POST", "/api/v1/account/second-factor/recovery-codes", ACCOUNT, second_factor_api.renew_over_api),
        ("POST", "/api/v1/account/second-factor/remove", ACCOUNT, second_factor_api.remove_over_api),
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
        ("GET", "/api/v1/users/{name:str}/deletion", ADMINISTER, delete_account_page.preview_over_api),
        ("POST", "/api/v1/users/{name:str}/delete", ADMINISTER, delete_account_page.delete_over_api),
        ("PATCH", "/api/v1/users/{name:str}", ADMINISTER, people_api.change_user),
        ("GET", "/api/v1/users/{name:str}/oidc", ADMINISTER, user_credentials_api.show_link),
        ("PUT", "/api/v1/users/{name:str}/oidc", ADMINISTER, user_credentials_api.link_user),
        ("DELETE", "/api/v1/users/{name:str}/oidc", ADMINISTER, user_credentials_api.unlink_user),
        ("GET", "/api/v1/users/{name:str}/sessions", ADMINISTER, sessions_api.list_of_user),
        ("DELETE", "/api/v1/users/{name:str}/sessions", ADMINISTER, sessions_api.end_all_of_user),
        ("POST", "/api/v1/users/{name:str}/password-link", ADMINISTER, user_credentials_api.make_password_link),
        ("POST", "/api/v1/users/{name:str}/reset-second-factor", ADMINISTER, user_credentials_api.reset_factor),
    ),
    "Email": (
        ("GET", "/api/v1/mail", ADMINISTER, mail_queue.list_over_api),
        ("POST", "/api/v1/mail/test", ADMINISTER, mail_queue.test_over_api),
        ("POST", "/api/v1/mail/{mail_id:str}/retry", ADMINISTER, mail_queue.retry_over_api),
    ),
    "Audit": (
        ("GET", "/api/v1/audit", ADMINISTER, audit.audit_over_api),
    ),
    "Settings": (
        ("GET", "/api/v1/settings", ADMINISTER, settings_page.settings_over_api),
    ),
}.items()}
# fmt: on
