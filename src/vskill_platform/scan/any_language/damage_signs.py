"""Signs of cryptomining, theft and destruction, and names of attacks, in any language.

The table has the same form as in code_signs.py.
"""

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.mining_pools import MINING_POOL

Sign = tuple[Act, str, str, tuple[str, ...]]

#: A host on the internet, except those that serve an API.
OUTSIDE_URL = r"https?://(?!localhost|127\.|api\.)[\w-]{1,60}\.[\w.-]{2,60}"

_MINES = (
    r"(?<![\w/])4[0-9AB][1-9A-HJ-NP-Za-km-z]{16,104}\b|rx/0|--algo\b|--coin\b|--donate-level"
    r"|--user\b|\s-u\s|"
    r"[\"']user[\"']|POOL_USER|0x[0-9a-fA-F]{40}"
)

#: Functions and constants that say what they are for. Tools of defence detect, test or simulate
#: the same, and are called so.
_STOLEN = (
    r"(?:secrets?|tokens?|cred\w{0,12}|env\w{0,12}|ssh\w{0,12}|cookies?|passwords?|wallets?"
    r"|\w{0,12}keys?)"
)
_ADMITS = (
    r"(?i)\b(?:def|function|func|fn|sub)\s{1,4}_{0,2}(?:do_?|run_?|start_?|async_?)?(?:"
    rf"exfil(?:trate)?(?:_?(?:{_STOLEN}|data|files?|dom|all|to\w{{0,12}}|via\w{{0,12}}|dns))?"
    rf"|(?:steal|harvest)_?{_STOLEN}|dump_?passwords|keylog(?:ger|s)?|send_?to_?(?:c2|attacker)"
    r"|c2_?(?:beacon|checkin|callback)|beacon_?(?:home|out|c2)|inject_?(?:shellcode|backdoor|malware)"
    r"|(?:install|deploy|plant|drop)_?(?:backdoor|rootkit|implant|persistence)|drop_?payload"
    r"|encrypt_?victim\w{0,12})\s{0,4}\("
    r"|\b(?:C2|EXFIL|EXFILTRATION)_(?:HOST|URL|SERVER|ENDPOINT|DOMAIN|IP)\b[\"']?"
    r"\s{0,4}[:=]\s{0,4}[\"']?(?:\w{2,6}://|[\w-]+\.[\w-])"
)
_MAY_ADMIT = (
    r"(?i)(?:def|function|func|fn|sub)\W+_{0,2}(?:do_?|run_?|start_?|async_?)?(?:exfil|steal"
    r"|harvest|dump_?pass|keylog|send_?to|c2|beacon_?(?:home|out|c2)|inject_?(?:shell|back|mal)"
    r"|(?:install|deploy|plant|drop)_?(?:back|root|implant|pers|payload)|encrypt_?victim)"
    r"|(?:c2|exfil|exfiltration)_(?:host|url|server|endpoint|domain|ip)"
)

DAMAGE_SIGNS: tuple[Sign, ...] = (
    (Act.ADMIT, "names itself", _MAY_ADMIT, (_ADMITS,)),
    (
        Act.ELEVATE,
        "a container that is started over Docker's socket",
        r"docker\.sock",
        (
            r"docker\.sock\b[^\n]{0,400}/containers/create|/containers/create[^\n]{0,400}docker\.sock",
            r"Privileged[\\\"']{0,3}\s?:\s?(?i:true)|Binds?[\\\"']{0,3}\s?:\s?\[[\\\"']{1,3}/:",
        ),
    ),
    (
        Act.PAY,
        "puts an address into the clipboard",
        (
            r"(?i)clip\w{0,12}\.(?:copy|write|set)|set the clipboard|setString\(|set_text\("
            r"|setContents\("
        ),
        (
            (
                r"(?i)(?:clip\w{0,12}\.(?:copy|write|set)\w{0,10}|set the clipboard to|setString"
                r"|\b\w{1,12}\.(?:set_text|setContents))[\s(]"
            ),
            r"\b0x[0-9a-fA-F]{40}\b|\bbc1[a-z0-9]{25,60}\b|[\"'\s=]T[1-9A-HJ-NP-Za-km-z]{33}\b",
            (
                r"(?i)readSync|readText|readAll|get_?Text|getData|paste|clipboard as text"
                r"|string\(forType|bc1"
                r"|\[13\]"
            ),
        ),
    ),
    (Act.MINE, "mining pool", MINING_POOL, (MINING_POOL, _MINES)),
    (
        Act.DELETE,
        "files of the user",
        r"xargs|Recurse",
        (
            (
                r"\bfind\s+[\"']?(?:/(?=\s)|~|\$HOME|\$\{HOME\})(?:/(?:Documents|Desktop|Pictures"
                r"|Downloads))?[\"']?\s[^\n;|]{0,200}\|"
                r"\s?xargs[^\n|]{0,40}\b(?:rm|shred)\b"
                r"|(?i:Get-ChildItem)\b[^\n|]{0,60}(?:USERPROFILE|\$HOME|~)[\"']?\s[^\n"
                r"|]{0,80}-Recurse[^\n|]{0,60}\|\s?"
                r"(?:Remove-Item|ri|rm|del)\b"
            ),
        ),
    ),
    (
        Act.DELETE,
        "everything in the cloud",
        r"kubectl delete|s3 rb|dropdb|DROP DATABASE",
        (
            (
                r"kubectl delete (?:ns|namespaces?)\b[^\n]{0,60}--all\b"
                r"|s3 ls\b[^\n]{0,80}xargs[^\n]{0,60}s3 rb"
                r"|datname(?s:.){0,120}?(?:dropdb|DROP DATABASE)"
            ),
        ),
    ),
    (
        Act.MINE,
        "a miner in a package or image",
        r"(?i)xmrig|nicehash|minerstat|minergate|unmineable|ethminer|c3pool|moneroocean|metal3d",
        (
            r"(?i)\b(?:xmrig|nicehash|minerstat|minergate|unmineable|ethminer|c3pool|moneroocean|metal3d)\b",
            r"(?i)--wallet\b|\bWALLET\w{0,10}=|\bPOOL_\w+=|--algo\b|--donate-level",
        ),
    ),
    (
        Act.DELETE,
        "files of the user",
        r"unlink|reg(?:\.exe)? delete",
        (
            (
                r"\bunlink\s*\(?\s*glob[^\n]{0,20}(?:\$ENV\{HOME\}|~)/\*"
                r"|\breg(?:\.exe)? delete [\"']?HK(?:LM|CU|CR)(?:\\(?:SOFTWARE|SYSTEM))?[\"']?\s+/f"
            ),
        ),
    ),
    (
        Act.TELL_DELETE,
        "the content of every file",
        r"-exec (?:ba)?sh",
        (r"\bfind\b[^\n]{0,120}-exec (?:ba)?sh -c [\"']\s?:?\s?>\s?[\"']?\$",),
    ),
    (
        Act.OVERLOAD,
        "starts many processes that never end",
        r"\byes\b[^\n]{0,10}/dev/null",
        (r"\bseq (?:1 )?\d{2,}\b[^\n]{0,60}\byes\s?>\s?/dev/null\s?&",),
    ),
    (
        Act.DESTROY,
        "every table of a database",
        r"(?i)pg_tables|information_schema|sqlite_master|show tables",
        (
            r"(?i)pg_tables|information_schema\.tables|sqlite_master|show tables",
            r"(?i)\bdrop\s+table\b|\bexecute\b[^\n]{0,20}drop table",
        ),
    ),
    (
        Act.TELL_LOCK,
        "encrypts files in place",
        r"encrypt\(",
        (
            r"write_?(?:bytes|File(?:Sync)?)?\([^\n]{0,60}encrypt\(",
            r"Path\.home\(\)|expanduser|homedir\(\)|~/(?:Documents|Desktop|Pictures)",
            r"rglob\(|os\.walk\(|glob\(|readdir",
        ),
    ),
    (
        Act.DELETE,
        "overwrites files of the user",
        r"urandom|token_bytes|random_?[bB]ytes",
        (
            r"(?i)write\w*\([^\n]{0,60}(?:urandom|token_bytes|random_?bytes)",
            (
                r"Path\.home\(\)|expanduser|homedir\(\)|Dir\.home|UserHomeDir"
                r"|~/(?:Documents|Desktop|Pictures)"
            ),
            r"rglob\(|os\.walk\(|glob\(|readdir|Dir\.glob|[wW]alk(?:Dir)?\(",
        ),
    ),
    (
        Act.SPREAD,
        "publishes every package of the user",
        r"(?:npm|yarn|cargo|bun) (?:--\S+ )*publish|twine upload|gem push|libnpmpublish",
        (
            (
                r"\b(?:npm|pnpm|yarn|cargo|bun) (?:--\S+ )*publish\b|\btwine upload\b|\bgem push\b"
                r"|libnpmpublish"
            ),
            (
                r"npm (?:access (?:list|ls)|owner ls|search)|maintainer:|/-/v1/search|/-/user/"
                r"|/-/org/|pypi\.org/user/|crates\.io/api/v1/users|user_id=|rubygems\.org/api/v1/owners"
            ),
        ),
    ),
    (
        Act.SPREAD,
        "copies itself into every project",
        r"\.(?:claude|cursor|codex|gemini|opencode|windsurf)\b",
        (
            (
                r"(?:\*|\$\{?\w+\}?|%%\w)[\"']?/?[\"']?\.(?:claude|cursor|codex|gemini|opencode|windsurf)/(?:skills|commands|rules|agents|plugins)"
                r"|[\"'](?:\*\*?|\*/\*)/\.(?:claude|cursor|codex|gemini)"
            ),
            (
                r"\bfor \w+ in [^\n;]{0,80}(?:~|\$HOME|\$\{HOME\}|/home|/Users|\.\./|/src|/projects"
                r"|/repos|/code)[^\n;]{0,80}[*)]"
                r"|\bfind (?:~|\$HOME|/)|\b(?:r?glob|walk|iterdir|scandir|globSync)\("
            ),
            (
                r"\bcp |copytree|copy(?:file|Sync|2)?\(|cpSync\(|rsync |write_text\(|writeFile"
                r"|\bln -s|\btee\b"
            ),
            (
                r"SKILL_DIR|SKILL_ROOT|__file__|__dirname|BASH_SOURCE|\$0|import\.meta|SKILL\.md"
                r"|git push"
            ),
        ),
    ),
    (
        Act.SPREAD,
        "changes every repository of the user",
        r"repo list|/user/repos|listForAuthenticatedUser|get_user\(\)\.get_repos",
        (
            r"gh repo list|/user/repos|listForAuthenticatedUser|get_user\(\)\.get_repos",
            r"git push|createOrUpdateFileContents|/contents/|create_file\(|update_file\(",
            r"\.github/workflows|\.claude/|SKILL\.md|CLAUDE\.md|AGENTS\.md|postinstall|\.git/hooks|\.cursor",
        ),
    ),
)
