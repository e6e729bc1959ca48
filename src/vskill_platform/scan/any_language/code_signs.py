"""Recognise what a program does as a whole, in any language, by words that occur together.

A single line proves little: reading the clipboard is harmless, and so is a wallet address, but a
program with both replaces one with the other.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import re2

from vskill_platform.scan.any_language.damage_signs import Sign
from vskill_platform.scan.any_language.endless_requests import endless_requests
from vskill_platform.scan.any_language.malware_signs import MORE_SIGNS
from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.pattern_set import may_match
from vskill_platform.scan.facts.sensitive_paths import Sensitive

_PAYEE = r"\b0x[0-9a-fA-F]{40}\b|\bbc1[a-z0-9]{25,60}\b|[\"'\s=]T[1-9A-HJ-NP-Za-km-z]{33}\b"
_UPLOAD = (
    r"curl\b[^\n]{0,120}(?:\s-\w{0,6}[TFd]\b|--data|--upload-file|--form)|requests\.(?:post|put)|"
    r"urlopen\([^\n]{0,80}data|method[\"']?:\s?[\"'](?:POST|PUT)"
)
_TOKENS = (
    r"gh auth token|kubectl get secrets?\b|aws configure export|"
    r"op item get|vault kv get|docker-credential-\w+ get"
)
_MANY_FILES = (
    r"rglob\(|os\.walk\(|\bglob\(|\bfind ~|Path\.home\(\)|expanduser|homedir\(\)"
    r"|~/(?:Documents|Desktop|Pictures|Downloads)\b"
)
_DOCUMENT = r"\.(?:docx?|xlsx?|pptx?|pdf|odt|ods|jpe?g|png|mp4)[\"']"
_DOCUMENTS = re.compile(rf"{_DOCUMENT}[^\n]{{0,12}}{_DOCUMENT}[^\n]{{0,12}}{_DOCUMENT}")
_LISTS = re.compile(r"glob\(|walk\(|listdir\(|iterdir\(|readdirSync\(")
_DELETES = re.compile(r"\.unlink\(|os\.remove\(|unlinkSync\(")
#: How far before a deletion the listing of files and their types may be, and how many are examined.
_LISTED_BEFORE, _NAMED_BEFORE = 200, 500
#: A recipient and its default value: a chat or an email address.
_RECIPIENT = r"(?:CHAT_?ID|TARGET|RECIPIENT|CHANNEL_?ID|RECEIVER|MAIL_?TO|SEND_?TO)[A-Z_]{0,10}"
_FIXED = (
    r"(?!-?(?:100)?(?:1234|9876|0000|1111|9999))-?\d{8,15}"
    r"|[\w.+-]{1,60}@(?!example\.|your|test\.|localhost)[\w-]{1,60}\.[a-z]{2,}"
)
_DEFAULT_RECIPIENT = (
    rf"{_RECIPIENT}[\"']\s?,\s?[\"'](?:{_FIXED})[\"']"
    rf"|\$\{{[A-Z_]{{0,30}}{_RECIPIENT}:[-=](?:{_FIXED})\}}"
    rf"|{_RECIPIENT}[\"'\])]{{0,2}}\s?(?:\|\||\?\?)\s?[\"'](?:{_FIXED})[\"']"
    rf"|\b[Bb][Cc][Cc][\"'\])]{{0,2}}\s?[:=,]\s?[\[\"']{{1,2}}(?:{_FIXED})[\"']"
)
#: A blind copy to the author's recipient if the user names none.
_FALLBACK_BCC = (
    r"\b[Bb][Cc][Cc][\"'\])]{0,2}\s?[:=,]\s?[^\n]{1,40}\s(?:or|\|\||\?\?)\s"
    r"(?!None\b|True\b|False\b|_)[A-Z][A-Z0-9_]{2,40}\b(?!\()"
)
#: A marker of a sandbox, and an exit without an error.
_STOPS_IN_SANDBOX = (
    r"(?i)(?:[\"'][\w/]{0,20}/\.?cuckoo|sandbox_?marker|sbiedll|anti_?vm"
    r"|(?:detect|is|in)_?(?:sandbox|vm)\b)[^\n]{0,160}(?:\n[^\n]{0,160}){0,12}?"
    r"\b(?:sys\.exit\(0?\)|os\._exit\(0\)|process\.exit\(0?\)|exit 0\b)"
)
#: Calls that make memory executable, fill it or enter it, with the syntax of a call, because every
#: program that searches for such calls contains the names alone.
_EXECUTABLE = r"PROT_EXEC\b|\bVirtualAlloc(?:Ex)?\s?\(|\bmprotect\s?\(|\bVirtualProtect(?:Ex)?\s?\("
_ENTERS = (
    r"FUNCTYPE\s?\(|Create(?:Remote)?Thread\s?\(|RtlMoveMemory\s?\(|memmove\s?\(|\(\*\)\s?\(\s?\)|"
    r"GetDelegateForFunctionPointer"
)
_FOREIGN_CALLS = r"\bctypes\b|\[DllImport|NewLazyDLL|syscall\.Syscall|\bmmap\s?\("
#: Words that some signs require.
_LOCKED = r"setpassword|pyminizip|pyzipper|msoffcrypto|7z a|zip -"
_TYPED = r"hidden answer|--password"
_RECIPIENT_HINT = (
    r"(?:CHAT_?ID|TARGET|RECIPIENT|CHANNEL_?ID|RECEIVER|MAIL_?TO|SEND_?TO)[A-Z_]*"
    r"(?:[\"'\])]|:[-=]|(?s:.)?[|?])|\b[Bb][Cc][Cc][\"'\])]{0,2}\s?[:=,]"
)
_TOKENS_HINT = (
    r"gh auth token|kubectl get secret|aws configure export|op item get|vault kv get"
    r"|docker-credential-"
)
#: The act, its detail, words that must occur, and patterns that must all occur in one program; the
#: match of the first pattern is shown.
SIGNS: tuple[Sign, ...] = (
    (
        Act.PAY,
        "puts an address into the clipboard",
        r"pbcopy|xclip|xsel|wl-copy|Set-Clipboard|pyperclip|clipboard\.",
        (
            _PAYEE,
            r"pbcopy|xclip|xsel|wl-copy|Set-Clipboard|pyperclip|clipboard\.(?:copy|write|set)",
        ),
    ),
    (
        Act.TELL_LOCK,
        "encrypts files and deletes them",
        r"Fernet|AES\.new|\.encrypt\(|openssl enc|createCipheriv|gpg |\bage -|ccrypt|7z a",
        (
            (
                r"Fernet\(|AES\.new\(|\.encrypt\(|openssl enc\b|createCipheriv\(|\bccrypt\b"
                r"|\bgpg2?\b[^\n|;]{0,80}\s(?:-c\b|--symmetric)|\bage -[rpe]|\b7z a [^\n;]{0,80}-p"
            ),
            r"\.unlink\(|os\.remove\(|unlinkSync\(|\bshred\b|&& rm\b|; ?rm\b",
            _MANY_FILES,
        ),
    ),
    (
        Act.TELL_LOCK,
        "locks a file with a fixed password and deletes it",
        _LOCKED,
        (
            r"\.setpassword\(|pyminizip|pyzipper|msoffcrypto|\b7z a -p|\bzip -\w*P",
            r"(?i:pass(?:word|phrase)?)\s?=\s?[\"'][^\"'\n]{4,60}[\"']|-p[\"']?\w{4,}",
            r"\.unlink\(|os\.remove\(|unlinkSync\(|\brm -?\w* ?[\"'$]",
        ),
    ),
    (
        Act.READ_SECRET,
        "source code of the project",
        r"git bundle|git archive|zip -",
        (r"git bundle create|git archive\b|zip -\w*r\w* \S+ \.(?=\s|$)", _UPLOAD),
    ),
    (
        Act.REVERSE_SHELL,
        "node",
        r"[\"'](?:node:)?net[\"']|net\.(?:connect|createConnection|Socket)\(",
        (
            r"\.(?:connect|createConnection|Socket)\(",
            r"spawn\(\s?[\"'](?:/bin/)?(?:(?:ba|z|da)?sh|cmd(?:\.exe)?|powershell(?:\.exe)?)[\"']",
            r"\.stdin\b",
        ),
    ),
    (
        Act.PAY,
        "sends to a fixed address",
        r"(?i)send_?(?:raw_?)?transaction\(",
        (
            r"\bto[\"']?\s?[:=]\s?(?:Web3\.toChecksumAddress\()?[\"']0x[0-9a-fA-F]{40}[\"']",
            r"(?i)send_?(?:raw_?)?transaction\(",
            r"(?i)get_?balance",
        ),
    ),
    (
        Act.WRITE,
        str(Sensitive.AUTOSTART),
        r"login item",
        (r"\bmake (?:new )?login item\b",),
    ),
    (
        Act.HIDDEN_START,
        "login item",
        r"login item",
        (r"\bmake (?:new )?login item\b[^\n]{0,120}(?:hidden:\s?true|/\.\w)",),
    ),
    (Act.REVERSE_SHELL, "awk", r"/inet/tcp/", (r"/inet/tcp/\d+/[\w.-]{3,100}/\d+", r"getline")),
    (
        Act.REVERSE_SHELL,
        "ssh",
        r"\bssh\b(?s:.*)R",
        (r"\bssh\b[^\n|;]{0,120}\s-\w{0,4}R\s{0,2}\d+:(?:localhost|127\.0\.0\.1|0\.0\.0\.0):22\b",),
    ),
    (
        Act.DELETE,
        "files of the user",
        r"\bfind\b(?s:.*)-(?:delete|exec)",
        (
            r"\bfind\s+[\"']?(?:/|~|\$HOME|\$\{HOME\})[\"']?\s[^\n;|]{0,200}(?:-delete\b|-exec\s+(?:rm|shred)\b)",
        ),
    ),
    (
        Act.RUN_DECODED,
        "code of the processor in memory",
        r"PROT_EXEC|VirtualAlloc|mprotect|VirtualProtect",
        (
            _EXECUTABLE,
            _ENTERS,
            _FOREIGN_CALLS,
        ),
    ),
    (
        Act.READ_SECRET,
        "browser cookies",
        r"browser_?cookie|pycookiecheat|chrome_cookies",
        (r"browser_cookie3|browsercookie|pycookiecheat|chrome_cookies", _UPLOAD),
    ),
    (
        Act.READ_SECRET,
        "a password that the user typed",
        _TYPED,
        (
            r"with hidden answer|zenity --password|kdialog --password",
            r"\bcurl\b|\bwget\b|https?://",
        ),
    ),
    (
        Act.SEND,
        "http",
        _TYPED,
        (
            r"with hidden answer|zenity --password|kdialog --password",
            r"\bcurl\b|\bwget\b|https?://",
        ),
    ),
    (
        Act.SEND_FIXED,
        "recipient",
        _RECIPIENT_HINT,
        (_DEFAULT_RECIPIENT,),
    ),
    (
        Act.SEND_FIXED,
        "recipient",
        r"\b[Bb][Cc][Cc][\"'\])]{0,2}\s?[:=,]",
        (_FALLBACK_BCC,),
    ),
    (
        Act.EVADE,
        "sandbox",
        r"(?i)/\.?cuckoo|sandbox_?marker|sbiedll|(?:detect|is|in)_?(?:sandbox|vm)\b|anti_?vm",
        (_STOPS_IN_SANDBOX,),
    ),
    (
        Act.WRITE,
        str(Sensitive.AGENT_CONFIG),
        r"approvals?\.set|approvalPolicy|approval_policy",
        (
            r"approvals?\.set\b[^\n]{0,40}(?:\n[^\n]{0,80}){0,3}?[\"'](?:off|none|never|disabled)[\"']",
        ),
    ),
    (
        Act.OPEN_ACCESS,
        "administrator rights in the cloud",
        r"Principal",
        (
            r"policy/AdministratorAccess|[\"']?Action[\"']?:\s?[\"']\*[\"']",
            r"Principal[\"']?:\s{0,20}(?:[\"']\*[\"']|\{?\s{0,20}[\"']?AWS[\"']?:\s?\[?[\"']\*[\"'])",
        ),
    ),
    (
        Act.READ_SECRET,
        "login password",
        r"-authonly|ValidateCredentials",
        (r"\bdscl\b[^\n]{0,40}-authonly|\.ValidateCredentials\(",),
    ),
    (
        Act.READ_SECRET,
        "printed tokens",
        _TOKENS_HINT,
        (
            _TOKENS,
            _UPLOAD,
        ),
    ),
    *MORE_SIGNS,
)
_PATTERNS = [(act, detail, [re.compile(part) for part in parts]) for act, detail, _, parts in SIGNS]
#: The words of all signs, then those of the two other checks.
_HINTS = (
    *(hint for _, _, hint, _ in SIGNS),
    r"\.(?:docx?|xlsx?|pptx?|pdf|odt|ods|jpe?g|png|mp4)[\"']",
    r"\bwhile ?(?:\( ?(?:1|true)|True:|1:)|\bfor ?\( ?; ?;",
)
_DELETED, _ENDLESS = len(SIGNS), len(SIGNS) + 1


def _search_set(patterns: Iterable[str]) -> Any:
    together = re2.Set.SearchSet()
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return together


#: Finds in one pass which signs a text may have.
_HINTED = _search_set(_HINTS)
#: The same without word boundaries, so that it matches a text if any part has a sign.
_MAY_ANYWHERE = re2.compile("|".join(dict.fromkeys(_HINTS)).replace(r"\b", ""))


def may_have_signs(text: str) -> bool:
    """Return quickly whether any part of a text may have a sign."""
    return _MAY_ANYWHERE.search(text.encode(errors="replace")) is not None


def code_signs(code: str) -> list[Fact]:
    """Return what a program does, by words that occur together in it."""
    raw = code.encode(errors="replace")
    hinted = _HINTED.Match(raw)
    if not hinted:
        return []
    facts = endless_requests(code) if _ENDLESS in hinted else []
    facts += _deleted_documents(code) if _DELETED in hinted else []
    for place in sorted(hinted):
        if place >= len(_PATTERNS):
            continue
        act, detail, parts = _PATTERNS[place]
        first = parts[0].search(code) if may_match(parts[0].pattern, raw) else None
        if first and all(part.search(code) for part in parts[1:]):
            line = code.count("\n", 0, first.start()) + 1
            text = code[first.start() : first.start() + 200].partition("\n")[0]
            facts.append(Fact(act=act, line=line, text=shorten(text), detail=detail))
    return facts


def _deleted_documents(code: str) -> Iterator[Fact]:
    """Yield the first deletion of files that were listed by the types of documents."""
    for found in _DELETES.finditer(code):
        start = found.start()
        is_listed = _LISTS.search(code, max(start - _LISTED_BEFORE, 0), start)
        if is_listed and _DOCUMENTS.search(code, max(start - _NAMED_BEFORE, 0), start):
            line = code.count("\n", 0, start) + 1
            text = shorten(code[start : start + 200].partition("\n")[0])
            yield Fact(act=Act.TELL_DELETE, line=line, text=text, detail="documents")
            return
