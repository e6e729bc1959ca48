"""Signs of changed builds, packages and agents, and of copies of itself, in any language.

The table has the same form as in code_signs.py.
"""

from vskill_platform.scan.any_language.damage_signs import OUTSIDE_URL, Sign
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import Sensitive

_WORKFLOWS = (
    r"\.github/workflows|\.gitlab-ci\.yml|\.circleci/|azure-pipelines\.yml"
    r"|bitbucket-pipelines"
)
_WRITES = (
    r"write_text\(|write_bytes\(|\.write\(|writeFile\w*\(|appendFile\w*\(|WriteFile\(|WriteString\("
    r"|WriteAllText|Set-Content|Add-Content|Out-File|\bsed -i|\btee\b|>>|> ?\S|\bcp\b|File\.write"
)
_COPIES = (
    r"\bcp\b|\bscp\b|\brsync\b|copytree\(|copy2?\(|copyfile\(|cpSync\(|Copy-Item|File\.copy"
    r"|o << "
)
_AGENT_FILES = (
    r"SKILL\.md|AGENTS\.md|CLAUDE\.md|GEMINI\.md|\.cursorrules|copilot-instructions\.md"
    r"|\.(?:claude|agents|cursor|codex|gemini)/(?:skills|commands|rules|agents)"
)

BUILD_SIGNS: tuple[Sign, ...] = (
    (
        Act.TAMPER,
        "changes a package before it is published",
        r"npm publish|pnpm publish|twine upload|gem push",
        (
            r"\b(?:npm|pnpm) publish\b|twine upload|gem push",
            (
                r"\b(?:sed -i|jq)\b[^\n]{0,60}(?:\bmain\b|\bbin\b|\bscripts\b|install)"
                r"[^\n]{0,80}package\.json"
            ),
        ),
    ),
    (
        Act.WRITE,
        str(Sensitive.AGENT_CONFIG),
        r"bypassPermissions|skipPermissions|danger-full-access",
        (
            r"bypassPermissions\w*|[sS]kipPermissions\w*|danger-full-access",
            r"\.claude(?:\.json|/settings)|\.codex/|settings(?:\.local)?\.json",
            _WRITES + r"|json\.dump\(",
        ),
    ),
    (
        Act.SPREAD,
        "copies itself into every project",
        r"\.git\b|README|known_hosts|\.ssh/config|workspace",
        (
            (
                r"\bfind\b[^\n|;]{0,80}-name\s[\"']?(?:\.git|SKILL\.md|README\.md|package\.json)\b"
                r"|glob\w*\([^\n]{0,120}(?:\.git|README|package\.json)\b|\bknown_hosts\b|\.ssh/config\b"
            ),
            rf"{_COPIES}|git push|git -C\b[^\n]{{0,60}}push|[\"']a[\"']\)",
            _AGENT_FILES,
        ),
    ),
    (
        Act.TAMPER,
        "changes workflows",
        r"workflows|gitlab-ci|circleci|pipelines\.yml",
        (
            _WORKFLOWS,
            (
                rf"(?:{_WRITES})[^\n]{{0,200}}(?:curl|wget|secrets\b|toJSON)"
                r"|sed -i[^\n]{0,80}uses:?|sed -i[^\n]{0,40}actions/[\w-]+@|git (?:commit|push)"
            ),
            r"toJSON\(secrets\)|secrets\.\w|actions/[\w-]+@|https?://|uses:",
            _WRITES,
        ),
    ),
    (
        Act.TAMPER,
        "sends the secrets of a workflow",
        r"toJSON",
        (r"toJSON\(\s?secrets\s?\)",),
    ),
    (
        Act.TAMPER,
        "checks out untrusted code with write access",
        r"pull_request_target",
        (
            r"\bpull_request_target\b",
            r"github\.event\.pull_request\.head\.(?:sha|ref)",
            r"\brun:",
        ),
    ),
    (
        Act.TAMPER,
        "replaces the source of a locked package",
        r"(?:package-lock|yarn\.lock|pnpm-lock|poetry\.lock|Cargo\.lock|go\.sum|Gemfile\.lock)",
        (
            r"package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Cargo\.lock|go\.sum|Gemfile\.lock",
            r"\bresolved\b|\bintegrity\b|\bchecksum\b|\bsha512-",
            rf"{OUTSIDE_URL}",
            r"\bjq\b|\bsed\b|writeFile|write_text|\.write\(|json\.dump",
        ),
    ),
    (
        Act.TAMPER,
        "adds code to what is published",
        r"dist/|build/|Dockerfile|postinstall|preinstall",
        (
            (
                rf"(?:echo|printf)\b[^\n]{{0,40}}\b(?:RUN|CMD)\b[^\n]{{0,80}}\bcurl\b[^\n]{{0,120}}>>\s?\S{{0,40}}Dockerfile"
                rf"|(?:dist|build|bundle)\b[^\n]{{0,80}}(?:write\w*\()[^\n]{{0,60}}import\([\"']{OUTSIDE_URL}"
                rf"|scripts(?:\.|\[[\"'])(?:post|pre)install[\"'\]]{{0,2}}\s?=[^\n]{{0,200}}https?\b"
            ),
        ),
    ),
    (
        Act.TAMPER,
        "adds a fixed maintainer to packages",
        r"npm owner|owner add|gem owner|cargo owner",
        (r"\b(?:npm|pnpm|gem|cargo|yarn npm)\s+owner\s+(?:add|--add|-a)\s+(?![$<{])[\w-]{2,40}",),
    ),
    (
        Act.TAMPER,
        "includes the pipeline of another host",
        r"remote:",
        (
            r"(?m)^\s{0,8}-?\s?remote:\s?[\"']?https?://(?!gitlab\.com|raw\.githubusercontent)",
            r"(?m)^include:",
        ),
    ),
    (
        Act.WRITE,
        str(Sensitive.AGENT_CONFIG),
        r"(?i)autoapprove|chat\.tools",
        (
            r"(?i)chat\.tools\.(?:global\.)?autoApprove[\"']?\s?[:=]\s?true|[\"']?autoApprove[\"']?\s?[:=]\s?(?:true|\[[\"']\*)",
            rf"(?:{_WRITES})[^\n]{{0,120}}|settings\.json",
        ),
    ),
)
