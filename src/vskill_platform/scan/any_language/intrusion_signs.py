"""Signs of stolen logins, fixed payees and accounts of others, in any language.

The table has the same form as in code_signs.py.
"""

from vskill_platform.scan.any_language.damage_signs import OUTSIDE_URL, Sign
from vskill_platform.scan.facts.facts import Act

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
    rf"(?:{_TYPED})(?s:.){{0,400}}?(?:{OUTSIDE_URL}|\bnc\b[^\n]{{3,60}}\s\d{{2,5}})"
    rf"|{OUTSIDE_URL}(?s:.){{0,200}}?(?:getpass\(|askstring\(|Get-Credential|name=[\"'](?:card|cvc|cvv|otp|pin)[\"'])"
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

INTRUSION_SIGNS: tuple[Sign, ...] = (
    (
        Act.SEND_FIXED,
        "a fixed guest",
        r"attendees|recipients|invitees|\bcc\b",
        (
            (
                rf"\b(?:attendees|recipients|invitees|cc)\.(?:push|append|add|concat|extend|unshift)"
                rf"\([^\n]{{0,40}}[\"']{_MAIL}[\"']"
            ),
        ),
    ),
    (
        Act.TELL_REMOTE,
        "gives fetched text to an agent",
        r"\b(?:claude|codex|gemini|aider|cursor-agent|opencode)\b",
        (
            (
                r"\b(?:claude|codex|gemini|aider|cursor-agent|opencode)\s[^\n]{0,60}\$\(\s?"
                r"(?:cat|curl|wget)\b|\|\s?(?:claude|codex|gemini|aider|opencode)\s[^\n]{0,20}-p\b"
            ),
            rf"\b(?:curl|wget)\b[^\n]{{0,80}}{OUTSIDE_URL}",
        ),
    ),
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
            r"(?i)render|invoice|payment|transfer|pay\(|\bbank\b",
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
            rf"{OUTSIDE_URL}|\bdig\b[^\n]{{0,40}}\bTXT\b",
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
            rf"(?:urlopen|requests\.get|httpx\.get|fetch|axios\.get)\(\s?[\"'`]{OUTSIDE_URL}",
            r"(?i)anthropic|openai|messages\.create|chat\.completions|generate_content|llm",
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
        Act.DESTROY,
        "every table of a database",
        r"(?i)drop (?:schema|database|owned)",
        (r"(?i)\bdrop\s+schema\s+(?:if exists\s+)?public\s+cascade|\bdrop\s+owned\s+by\b",),
    ),
)
