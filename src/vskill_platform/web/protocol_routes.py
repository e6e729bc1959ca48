"""The routes of other clients' protocols; a part of the table in routes.py."""

from vskill_platform.model.rights import Right
from vskill_platform.web.http.route import Route
from vskill_platform.web.marketplace import search_api
from vskill_platform.web.protocols import (
    apm,
    claude_marketplace,
    discovery,
    scoped_paths,
    skills_find,
)
from vskill_platform.web.protocols.clawhub import install as clawhub_install
from vskill_platform.web.protocols.clawhub import manage as clawhub_manage
from vskill_platform.web.protocols.clawhub import publish as clawhub_publish
from vskill_platform.web.protocols.clawhub import scans as clawhub_scans
from vskill_platform.web.protocols.clawhub import skills as clawhub_skills
from vskill_platform.web.protocols.clawhub import uploads as clawhub_uploads
from vskill_platform.web.protocols.git import http as git_http
from vskill_platform.web.protocols.mcp import messages as mcp
from vskill_platform.web.protocols.vskill import requests as vskill
from vskill_platform.web.protocols.vskill import streams as vskill_streams
from vskill_platform.web.protocols.vskill import submissions as vskill_submissions
from vskill_platform.web.registry import queue_health_api
from vskill_platform.web.sign_in import github_sign_in

ANYONE, SUBMIT, MANAGE, REPORT = Right.ANYONE, Right.SUBMIT, Right.MANAGE, Right.REPORT

# fmt: off
#: Protocols of other clients, each in its own format; see docs/clients.md.
PROTOCOLS = [Route(*row) for row in (
    # agent-skills discovery, for `skills` and `skillkit`
    ("GET", "/.well-known/agent-skills/index.json", ANYONE, discovery.root_index),
    ("GET", "/.well-known/skills/index.json", ANYONE, discovery.legacy_root_index),
    ("GET", "/.well-known/skills/{address:path}", ANYONE, discovery.legacy_root_file),
    ("GET", "/n/{address:path}", ANYONE, scoped_paths.namespace_scope),
    ("GET", "/s/{address:path}", ANYONE, scoped_paths.skill_scope),
    ("GET", "/artifacts/{address:path}", ANYONE, scoped_paths.artifact_scope),
    ("GET", "/api/search", ANYONE, skills_find.find_skills),
    # Claude Code, and everything that speaks git
    ("GET", "/.claude-plugin/marketplace.json", ANYONE, claude_marketplace.whole_marketplace),
    ("GET", "/git/{address:path}", ANYONE, git_http.list_refs),
    ("POST", "/git/{address:path}", ANYONE, git_http.fetch_objects),
    ("GET", "/apm/v1/packages/{address:path}", ANYONE, apm.read_package),
    ("PUT", "/apm/v1/packages/{address:path}", SUBMIT, apm.publish_package),
    # ClawHub v1; protocols/clawhub/paths.py moves its requests for /api/v1/… here
    ("GET", "/.well-known/clawhub.json", ANYONE, clawhub_skills.well_known),
    ("GET", "/.well-known/clawdhub.json", ANYONE, clawhub_skills.well_known),
    ("GET", "/clawhub/api/v1/search", ANYONE, clawhub_skills.search),
    ("GET", "/clawhub/api/v1/trending", ANYONE, clawhub_skills.trending),
    ("GET", "/clawhub/api/v1/resolve", ANYONE, clawhub_skills.resolve),
    ("GET", "/clawhub/api/v1/download", ANYONE, clawhub_skills.download),
    ("GET", "/clawhub/api/v1/skills", ANYONE, clawhub_skills.show_list),
    ("GET", "/clawhub/api/v1/skills/{name:str}", ANYONE, clawhub_skills.show_skill),
    ("GET", "/clawhub/api/v1/skills/{name:str}/versions", ANYONE, clawhub_skills.show_versions),
    ("GET", "/clawhub/api/v1/skills/{name:str}/versions/{version:str}", ANYONE, clawhub_skills.show_version),
    ("GET", "/clawhub/api/v1/skills/{name:str}/file", ANYONE, clawhub_skills.send_file),
    ("GET", "/clawhub/api/v1/skills/{name:str}/install", ANYONE, clawhub_install.resolve_install),
    ("GET", "/clawhub/api/v1/skills/{name:str}/verify", ANYONE, clawhub_install.verify),
    ("GET", "/clawhub/api/v1/skills/{name:str}/moderation", ANYONE, clawhub_install.moderation),
    ("GET", "/clawhub/api/v1/skills/{name:str}/card", ANYONE, clawhub_install.no_card),
    ("POST", "/clawhub/api/v1/skills/-/security-verdicts", ANYONE, clawhub_install.security_verdicts),
    ("POST", "/clawhub/api/v1/skills/-/scan", ANYONE, clawhub_scans.start_scan),
    ("GET", "/clawhub/api/v1/skills/-/scan/{scan_id:str}", ANYONE, clawhub_scans.show_scan),
    ("GET", "/clawhub/api/v1/skills/-/scan/{scan_id:str}/download", ANYONE, clawhub_scans.download_scan),
    ("GET", "/clawhub/api/v1/skills/-/scan/download/{name:str}", ANYONE, clawhub_scans.download_scan_of),
    ("GET", "/clawhub/api/v1/whoami", ANYONE, clawhub_uploads.whoami),
    ("POST", "/clawhub/api/v1/skills/-/upload-url", SUBMIT, clawhub_uploads.upload_url),
    ("POST", "/clawhub/api/v1/skills/-/upload/{sha256:str}", SUBMIT, clawhub_uploads.upload_file),
    ("POST", "/clawhub/api/v1/skills", SUBMIT, clawhub_publish.publish),
    ("GET", "/clawhub/api/v1/publish/attempts/{attempt_id:str}", ANYONE, clawhub_publish.show_attempt),
    ("DELETE", "/clawhub/api/v1/skills/{name:str}", MANAGE, clawhub_manage.delete_skill),
    ("POST", "/clawhub/api/v1/skills/{name:str}/undelete", MANAGE, clawhub_manage.undelete_skill),
    ("DELETE", "/clawhub/api/v1/skills/{name:str}/versions/{version:str}", MANAGE, clawhub_manage.delete_version),
    ("POST", "/clawhub/api/v1/skills/{name:str}/versions/{version:str}/restore", MANAGE, clawhub_manage.restore_version),
    ("POST", "/clawhub/api/cli/telemetry/install", ANYONE, clawhub_manage.count_install),
    ("POST", "/clawhub/api/v1/skills/{name:str}/rename", ANYONE, clawhub_manage.not_offered),
    ("POST", "/clawhub/api/v1/skills/{name:str}/merge", ANYONE, clawhub_manage.not_offered),
    ("POST", "/clawhub/api/v1/skills/{name:str}/report", REPORT, clawhub_manage.report),
    ("POST", "/clawhub/api/v1/skills/{name:str}/tags/{tag:str}", ANYONE, clawhub_manage.not_offered),
    ("POST", "/clawhub/api/v1/skills/{name:str}/transfer", ANYONE, clawhub_manage.not_offered),
    ("POST", "/clawhub/api/v1/skills/{name:str}/transfer/{step:str}", ANYONE, clawhub_manage.not_offered),
    ("GET", "/clawhub/api/v1/{rest:path}", ANYONE, clawhub_manage.not_offered),
    ("POST", "/clawhub/api/v1/{rest:path}", ANYONE, clawhub_manage.not_offered),
    ("DELETE", "/clawhub/api/v1/{rest:path}", ANYONE, clawhub_manage.not_offered),
    ("POST", "/mcp", ANYONE, mcp.handle_message),
    # the original vskill client; most of its requests are those of our API
    ("POST", "/api/v1/skills/lookup-by-name", ANYONE, vskill.lookup_by_name),
    ("GET", "/api/v1/skills/check-source", ANYONE, vskill.check_source),
    ("GET", "/api/v1/authors", ANYONE, vskill.list_authors),
    ("GET", "/api/v1/authors/{name:path}", ANYONE, vskill.show_author),
    ("GET", "/api/v1/publishers", ANYONE, vskill.list_authors),
    ("GET", "/api/v1/publishers/{name:path}", ANYONE, vskill.show_author),
    ("GET", "/api/v1/audits", ANYONE, vskill.list_audits),
    ("GET", "/api/v1/packages/{address:path}", ANYONE, vskill.show_package),
    ("GET", "/api/v1/badges/{address:path}", ANYONE, vskill.show_badges),
    ("GET", "/api/v1/studio/search", ANYONE, search_api.search_skills),
    ("POST", "/api/v1/studio/telemetry/{kind:str}", ANYONE, vskill.ignore_telemetry),
    ("POST", "/api/v1/auth/github/exchange-for-vsk-token", ANYONE, github_sign_in.exchange_over_api),
    ("GET", "/api/v1/legacy-redirect/{slug:path}", ANYONE, vskill.legacy_redirect),
    ("GET", "/api/v1/rejections", ANYONE, vskill_submissions.list_rejections),
    ("POST", "/api/v1/submissions/bulk", SUBMIT, vskill_submissions.submit_bulk),
    ("GET", "/api/v1/submissions/stream", ANYONE, vskill_streams.stream_submissions),
    ("GET", "/api/v1/skills/stream", ANYONE, vskill_streams.stream_skills),
    ("POST", "/api/v1/skills/stream/subscribe", ANYONE, vskill_streams.subscribe),
    ("GET", "/api/v1/stats/health", ANYONE, queue_health_api.queue_health),
)]
# fmt: on
