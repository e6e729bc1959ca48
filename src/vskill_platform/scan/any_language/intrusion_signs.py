"""Signs of stolen logins, fixed payees, changed builds and copies of itself, in any language.

The table has the same form as in code_signs.py.
"""

from vskill_platform.scan.any_language.damage_signs import Sign
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import Sensitive

_HTTP = r"https?://(?!localhost|127\.|api\.)[\w-]{1,60}\.[\w.-]{2,60}"
_SENDS = (
    rf"{_HTTP}|\bnc(?:at)? (?:-\w+ )*[\w.-]{{3,60}} \d{{2,5}}|sendBeacon\(|[\"']https?[\"'],\s?host"
)
#: Questions whose answers are secrets: the user cannot see what is typed, or is asked for one.
_ASKED_FOR = (
    r"(?:pass(?:word|phrase|code)?|\bpin\b|otp|one-time|2fa|mfa|verification code|backup codes?"
    r"|secret(?: access)? key|private key|(?:seed|recovery) (?:phrase|words?)|mnemonic|cvv|cvc)"
)
_TYPED = (
    r"\bread\s(?:-\w+\s){0,2}-\w{0,3}s\w{0,2}p?\s|getpass\b|\.noecho|Get-Credential|AsSecureString"
    r"|askstring\([^\n]{0,120}show\s?=|with hidden answer"
    rf"|(?i:\b(?:input|question|prompt|Print|Scan|ask|puts|readline)\w{{0,8}}\s?\(?\s?[\"'`][^\"'`\n]{{0,60}}{_ASKED_FOR})"
    rf"|(?i:name=[\"'](?:card|cvc|cvv|card_?number|otp|pin|seed|mnemonic)[\"'])"
)
_TYPED_HINT = (
    r"read -|getpass|noecho|Get-Credential|AsSecureString|askstring|hidden answer"
    r"|(?i:passw|passphrase|\bpin\b|otp|2fa|mfa|secret key|secret access|private key|seed|mnemonic"
    r"|recovery|cvv|cvc|card)"
)
#: The answer goes to the host in the same statement or under the same name.
_TYPED_SENT = (
    rf"(?:{_TYPED})(?s:.){{0,400}}?(?:{_HTTP}|\bnc\b[^\n]{{3,60}}\s\d{{2,5}})"
    rf"|{_HTTP}(?s:.){{0,200}}?(?:getpass\(|askstring\(|Get-Credential|name=[\"'](?:card|cvc|cvv|otp|pin)[\"'])"
)
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"
_COIN = (
    r"0x(?![eE0]{20}|[fF]{20})[0-9a-fA-F]{40}\b|\bbc1[a-z0-9]{25,60}\b|\bT[1-9A-HJ-NP-Za-km-z]{33}\b"
    r"|\b4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}\b"
)
_MAIL = (
    r"[\w.+-]{1,60}@(?!example|test|localhost|your|company|domain|acme)"
    r"[\w-]{2,60}(?:\.[\w-]{2,30}){1,3}"
)
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

INTRUSION_SIGNS: tuple[Sign, ...] = (
    (Act.READ_SECRET, "a password that the user typed", _TYPED_HINT, (_TYPED, _TYPED_SENT)),
    (Act.SEND, "http", _TYPED_HINT, (_TYPED, _TYPED_SENT)),
    (
        Act.READ_SECRET,
        "browser cookies",
        r"chrome\.cookies|browser\.cookies|document\.cookie",
        (
            r"(?:chrome|browser)\.cookies\.getAll\(|document\.cookie\b(?!\s?=[^=])",
            r"sendBeacon\(\s?[\"'`]https?://|fetch\(\s?[\"'`]https?://|\.open\(\s?[\"']POST[\"'],\s?[\"']https?://",
        ),
    ),
    (
        Act.SEND,
        "http",
        r"chrome\.cookies|browser\.cookies|document\.cookie",
        (
            r"(?:chrome|browser)\.cookies\.getAll\(|document\.cookie\b(?!\s?=[^=])",
            r"sendBeacon\(\s?[\"'`]https?://|fetch\(\s?[\"'`]https?://|\.open\(\s?[\"']POST[\"'],\s?[\"']https?://",
        ),
    ),
    (
        Act.PAY,
        "puts a fixed account into payments",
        r"(?i)iban|payee|beneficiary|account_?number",
        (
            rf"(?i:iban|payee|beneficiary|account_?n\w{{0,5}})[\"'\])]{{0,3}}\s?(?:=(?!=)|:|=>|,)\s?[\"']{_IBAN}[\"']",
            r"(?i)render|invoice|payment|transfer|pay\(",
        ),
    ),
    (
        Act.PAY,
        "puts a fixed account into payments",
        r"sub\(|replace\w*\(|gsub|-replace",
        (
            rf"(?:\bsub\(|replace\w*\(|gsub!?\(|-replace)[^\n]{{0,160}}[\"'](?:{_IBAN}|{_COIN})[\"']",
        ),
    ),
    (
        Act.PAY,
        "pays a fixed account",
        r"acct_",
        (
            r"[\"']acct_(?!123|test|x{3}|\.)[A-Za-z0-9]{8,24}[\"']",
            r"(?i)transfer_data|on_behalf_of|application_fee|stripe_?account|destination",
            r"(?i)paymentIntents?|charges?\b|\btransfers?\b|payouts?|checkout",
        ),
    ),
    (
        Act.PAY,
        "sends to a fixed address",
        r"0x[0-9a-fA-F]|bc1|[\"']T[1-9A-HJ-NP-Za-km-z]",
        (
            (
                rf"(?i:\b(?:send\w{{0,12}}|transfer\w{{0,8}}|pay\w{{0,6}}|approve|withdraw|sweep)\s?\()[^\n]{{0,40}}?[\"'](?:{_COIN})[\"']"
                rf"|(?i:\b(?:payee|recipient|payout|beneficiary|destination|fee_?(?:to\b|wallet|address|recipient)))[^\n]{{0,60}}?[\"'](?:{_COIN})[\"']"
            ),
        ),
    ),
    (
        Act.SEND_FIXED,
        "a second recipient",
        r"@\w",
        (
            rf"(?i:to_?addrs?|recipients?|rcpt|SendMail|send_?message|sendmail)[^\n]{{0,80}}[\[{{(]\s?[\w.]{{1,30}}\s?,\s?[\"']{_MAIL}[\"']",
        ),
    ),
    (
        Act.SEND_FIXED,
        "a second webhook",
        r"https?:/",
        (
            (
                r"(?:\bin\s?|=\s?|\bof\s?)[\[(]\s?[a-z_]\w{0,30}\s?,\s?"
                r"(?:[\"'`]https?://(?!localhost|127\.|example)|\[[\"']https?:/[\"'])"
            ),
            r"\bfor\b|\.map\(|\.forEach\(|\.each\b",
            r"\.post\(|\bfetch\(|Net::HTTP|\bpost\(",
        ),
    ),
    (
        Act.TELL_IMAGE,
        "a picture whose address contains a secret",
        r"!\[|<img|(?i:\bsrc=)",
        (
            (
                r"(?:!\[[^\]\n]{0,60}\]\(|<img[^>\n]{0,60}src=[\"'`]?)https?://[^\s)\"'<>]{1,120}"
                r"[/?=&.]?(?:\$\{|\{|[\"']\s?[+.]\s?|#\{)[^\n]{0,80}?"
                r"(?i:process\.env|os\.environ|getenv|\benv\b|open\(|readFile|read_text|localStorage"
                r"|cookie|token|secret|password|api_?key|\.env\b)"
            ),
        ),
    ),
    (
        Act.TELL_REMOTE,
        "prints fetched instructions",
        r"https?://|dig\b|TXT",
        (
            (
                r"(?i)\b(?:print|console\.log|echo|puts|Write-Output|Write-Host|printf|fmt\.Print\w*)\b"
                r"\W{0,6}[\"'`][^\"'`\n]{0,40}(?:\bdo (?:this|the following)\b"
                r"|follow (?:these|this|them)"
                r"|instructions? (?:for|to) (?:the )?(?:agent|assistant|you)"
                r"|your (?:new )?(?:instructions|task)|system:|next task|carry out|obey)"
            ),
            rf"{_HTTP}|\bdig\b[^\n]{{0,40}}\bTXT\b",
        ),
    ),
    (
        Act.TELL_REMOTE,
        "stores fetched instructions",
        r"\bdig\b|system=|system:|TXT",
        (
            (
                r"\bdig\b[^\n|]{0,80}\bTXT\b[^\n]{0,120}>{1,2}\s?\S{0,60}\.(?:md|txt|sh)\b"
                r"|\b(?:resolveTxt|dns_get_record|LookupTXT|resolve\([^\n]{0,40}TXT)[^\n]{0,200}(?:eval|exec|system)"
            ),
        ),
    ),
    (
        Act.TELL_REMOTE,
        "takes a system prompt from a host",
        r"system\s?[=:]|\"role\"|'role'",
        (
            r"\bsystem(?:_prompt|_instruction)?\s?[=:]\s?\(?\s?(?:await\s)?\w{1,30}\b|[\"']role[\"']\s?:\s?[\"']system[\"']",
            rf"(?:urlopen|requests\.get|httpx\.get|fetch|axios\.get)\(\s?[\"'`]{_HTTP}",
            r"(?i)anthropic|openai|messages\.create|chat\.completions|generate_content|llm",
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
        Act.MINE,
        "a miner in a page or a pool protocol",
        r"(?i)coinhive|coinimp|cryptoloot|mining\.subscribe|mining\.authorize|webminer|jsecoin",
        (
            r"(?i)\b(?:coinhive|coinimp|cryptoloot|jsecoin|webminer\w*)\b|[\"']mining\.(?:subscribe|authorize)[\"']",
        ),
    ),
    (
        Act.MINE,
        "a miner in a page",
        r"miner(?:\.min)?\.js|Client\.Anonymous",
        (r"[\"']https?://[^\"'\s]{1,120}miner[\w.-]{0,20}\.js|\bClient\.Anonymous\(",),
    ),
    (
        Act.ROOT,
        "a shell with the rights of root",
        r"chmod",
        (
            r"(?:copy\w*|\bcp)\W{1,4}[^\n]{0,12}/bin/(?:ba|z|da)?sh\b",
            r"\bchmod\w*\W[^\n]{0,60}(?:0o?[46]7[0-7]{2}\b|S_ISUID|u\+s)",
        ),
    ),
    (
        Act.OPEN_ACCESS,
        "creates an account with all rights",
        r"AdministratorAccess|cluster-admin|roles/owner",
        (
            r"policy/AdministratorAccess|--clusterrole[= ]cluster-admin|roles/owner\b",
            r"(?i)create_?user|create-user|CreateUser|--user[= ]\S+@|--member[= ]\S*user:",
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
            rf"{_HTTP}",
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
                rf"|(?:dist|build|bundle)\b[^\n]{{0,80}}(?:write\w*\()[^\n]{{0,60}}import\([\"']{_HTTP}"
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
    (
        Act.DESTROY,
        "every table of a database",
        r"(?i)drop (?:schema|database|owned)",
        (r"(?i)\bdrop\s+schema\s+(?:if exists\s+)?public\s+cascade|\bdrop\s+owned\s+by\b",),
    ),
)
