"""Signs of spying, covert copies, mining and lasting power over a machine, in any language.

The table has the form of the one in code_signs.py.
"""

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import Sensitive

Sign = tuple[Act, str, str, tuple[str, ...]]

#: A fixed address; those of examples are not.
_MAIL = (
    r"(?!attacker|hacker|victim|evil)[\w.+-]{1,60}@"
    r"(?!(?:[\w-]{1,30}\.)?(?:example|evil|attacker|company|domain|acme|corp|client|email|mail"
    r"|test)\.\w|your|my-?company"
    r"|localhost)[\w-]{1,60}(?:\.[\w-]{2,30}){1,3}"
)
_SENDS = r"https?://(?!localhost|127\.)[^\n]{0,200}|\.post\(|\bPost\(|sendBeacon\(|\bcurl\b|sendall\(|net\.Dial"
_KEEPS = (
    rf"{_SENDS}|open\([^\n]{{0,80}}[\"'](?:a|w|ab|wb)[\"']|fopen\(|\bwrite!\(|Add-Content|Out-File|"
    r"FileHandle\(|appendFile|AppendAllText|appendText|WriteString\("
)
#: Calls that see every key of the system, not only those that a program itself gets.
_KEYS = (
    r"pynput\.keyboard|pynput import[^\n]{0,20}keyboard|\bkeyboard\.(?:on_press|on_release"
    r"|record|hook)\(|"
    r"GetAsyncKeyState\s?\(|SetWindowsHookEx\w?\s?\(\s?(?:WH_KEYBOARD|13)"
    r"|addGlobalMonitorForEvents|CGEventTapCreate|robotn/gohook|\brdev::|"
    r"node-global-key-listener|\biohook\b|uiohook|evdev\.InputDevice|/dev/input/event"
    r"|XRecordCreateContext|addNativeKeyListener|"
    r"Input\.GetKeyState|device_query"
)
_CLIPBOARD_READ = (
    r"clipboard_get\(|pyperclip\.paste\(|clipboard\.(?:readText|ReadAll|getText|read)"
    r"|clip\w*\.readSync\(|"
    r"\bpbpaste\b|\bwl-paste\b|xclip[^\n]{0,20}-o\b|Get-Clipboard|Clipboard\.GetText\("
    r"|the clipboard as text|"
    r"pasteboard[^\n]{0,20}string\("
)
_AGAIN = r"\bwhile\b|setInterval\(|\bfor \{|\brepeat\b|\bloop\b|--watch|Timer|\buntil\b"
_POOL = (
    r"stratum\d?\+\w{2,4}://|(?:supportxmr|hashvault|nanopool|minexmr|moneroocean|2miners"
    r"|c3pool|herominers|"
    r"ethermine|f2pool|nicehash|unmineable|xmrpool|monerohash)\.\w{2,6}"
)
_MINES = (
    r"(?<![\w/])4[0-9AB][1-9A-HJ-NP-Za-km-z]{16,104}\b|rx/0|--algo\b|--coin\b|--donate-level"
    r"|--user\b|\s-u\s|"
    r"[\"']user[\"']|POOL_USER|0x[0-9a-fA-F]{40}"
)

MORE_SIGNS: tuple[Sign, ...] = (
    (Act.READ_SECRET, "keystrokes of the user", _KEYS, (_KEYS, _KEEPS)),
    (
        Act.READ_SECRET,
        "keystrokes of the user",
        r"addEventListener\([\"']key",
        (
            (
                r"addEventListener\([\"']key(?:down|up|press)[\"'](?s:.){0,400}?"
                r"(?:sendBeacon|fetch|\.send|\.post|XMLHttpRequest)[^\n]{0,40}https?://"
            ),
        ),
    ),
    (
        Act.READ_SECRET,
        "clipboard of the user",
        _CLIPBOARD_READ,
        (_CLIPBOARD_READ, _AGAIN, _SENDS),
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
    (
        Act.READ_SECRET,
        "a password that the user typed",
        r"sudo\s?\(\)",
        (
            r"\bsudo\s?\(\)\s?\{(?s:.){0,200}?\bread -\w{0,4}s",
            r"\bcurl\b|>>|\btee\b|\bnc\b",
        ),
    ),
    (
        Act.SEND_FIXED,
        "blind copy",
        r"(?i)\bbcc\b",
        (
            (
                rf"(?i:\bbcc)[\"'\])]{{0,2}}\s{{0,3}}(?:[:=,]|=>)?\s{{0,3}}"
                rf"(?:\.[Aa]dd\(|[\[{{(]\s?|new \w{{1,30}}\(|\w{{1,20}}:\s?){{0,4}}[\"']?{_MAIL}"
            ),
        ),
    ),
    (
        Act.SEND_FIXED,
        "a second recipient",
        r"(?i)send_?mail\(",
        (
            rf"(?i:send_?mail)\([^\n]{{0,160}}[\[{{(]\s?[\w.]{{1,40}}\s?,\s?[\"']{_MAIL}[\"']\s?[\]}})]",
        ),
    ),
    (
        Act.SEND_FIXED,
        "a rule that forwards mail",
        r"forward",
        (
            rf"[\"']?\bforward(?:To|ing\w{{0,12}})?[\"']?\s?:\s?\[?[\"']{_MAIL}[\"']",
            r"(?i)filter|settings\(\)|rule",
        ),
    ),
    (
        Act.OPEN_ACCESS,
        "shares files with a fixed account",
        r"emailAddress",
        (
            rf"emailAddress[\"']?\s?:\s?[\"']{_MAIL}[\"']",
            r"sendNotificationEmails?[\"']?\s?[=:]\s?[\"']?[Ff]alse",
        ),
    ),
    (
        Act.OPEN_ACCESS,
        "adds a fixed collaborator",
        r"collaborators/",
        (r"collaborators/(?![$<{:\"'])[\w-]{1,39}\b", r"\bPUT\b"),
    ),
    (
        Act.SEND_FIXED,
        "every push",
        r"git (?:remote set-url|push)",
        (
            (
                r"git remote set-url --add --push \S{1,40} (?!\S*(?:github|gitlab|bitbucket"
                r"|codeberg)\.|[$<{])\S{4,}"
                r"|git push\b[^\n;|]{0,40}\shttps?://[^\s@:]{1,60}:[^\s@$<{]{1,80}@(?!github|gitlab"
                r"|bitbucket)"
            ),
        ),
    ),
    (Act.MINE, "mining pool", _POOL, (_POOL, _MINES)),
    (
        Act.ROOT,
        "a shell with the rights of root",
        r"(?i)chmod|install -m|setcap",
        (
            (
                r"(?i)\bchmod\b[^\n]{0,40}?(?:0?o?[46]7[0-7]{2}\b|u\+s|\s\+s)[^\n]{0,60}(?:/(?:ba"
                r"|z|da)?sh\b|/\.\w)"
                r"|\bchmod\W[^\n]{0,12}/(?:ba|z|da)?sh\b[\"'],?\s?0?o?[46]7[0-7]{2}"
                r"|\binstall -m\s?0?[46]7[0-7]{2}\b|\bsetcap\b[^\n]{0,20}cap_(?:setuid|sys_admin"
                r"|dac_\w+)\S{0,40}ep?\b"
            ),
        ),
    ),
    (
        Act.ROOT,
        "sudo without a password",
        r"sudoers|authenticate",
        (r"NOPASSWD\s?:|!authenticate\b", r"/etc/sudoers|\bvisudo\b"),
    ),
    (
        Act.ROOT,
        "an administrator account",
        r"(?i)localgroup|groups/admin|sysadminctl|:0:0:",
        (
            (
                r"(?i)net1?(?:\.exe)?\s+user\s+(?!demo|test|john|example"
                r"|<)[^\n/]{3,80}/add\b(?s:.){0,200}?localgroup\s+administrators\s"
                r"|-append /groups/admin\b"
                r"|sysadminctl[^\n]{0,120}-addUser[^\n]{0,120}-admin\b"
                r"|[\"'][\w-]{1,32}:[^:\s]{0,120}:0:0:[^\n]{0,200}/etc/passwd"
            ),
        ),
    ),
    (
        Act.ROOT,
        "user account control is bypassed",
        r"(?i)ms-settings|polkit",
        (
            (
                r"(?i)(?:reg(?:\.exe)? add|New-Item|Set-ItemProperty"
                r"|RegWrite)[^\n]{0,60}ms-settings\\+shell\\+open\\+command"
                r"|polkit\.Result\.YES"
            ),
        ),
    ),
    (
        Act.DISARM,
        "root may log in",
        r"PermitRootLogin",
        (r"\bsed\b[^\n]{0,200}PermitRootLogin\s{1,4}yes",),
    ),
    (
        Act.DISARM,
        "updates of a protection are cut off",
        r"/etc/hosts",
        (
            (
                r"(?:127\.0\.0\.1|0\.0\.0\.0|::1)\s{1,8}[\w.-]{0,80}(?:crowdstrike|sentinelone"
                r"|kaspersky|mcafee|symantec|"
                r"sophos|malwarebytes|virustotal|windowsupdate|clamav|bitdefender|avast|eset)"
            ),
            r"/etc/hosts",
        ),
    ),
    (
        Act.DISARM,
        "traffic goes through another machine",
        r"networksetup",
        (r"networksetup -set(?:secure)?webproxy \S{1,40} (?!127\.|localhost|[$<\"{])\S{4,}",),
    ),
    (
        Act.DELETE,
        "files of the user",
        r"xargs|Recurse",
        (
            (
                r"\bfind\s+[\"']?(?:~|\$HOME|\$\{HOME\})(?:/(?:Documents|Desktop|Pictures"
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
        Act.REVERSE_SHELL,
        "zsh",
        r"\bztcp\b",
        (r"\bztcp\s+[\w.$-]{1,80}\s+\d{1,5}", r"<>?&\s?\$REPLY|>&\$REPLY"),
    ),
    (
        Act.REVERSE_SHELL,
        "tmate",
        r"\btmate\b",
        (
            r"\btmate\b[^\n]{0,80}new-session -d",
            r"tmate_(?:ssh|web)",
            r"\bcurl\b|\bwget\b|\bnc\b|\bmail\b",
        ),
    ),
    (
        Act.WRITE,
        str(Sensitive.SSH_ACCESS),
        r"authorized_key|ssh-key add|deploy-key add",
        (
            (
                r"authorized_key:(?s:.){0,200}?\bkey:\s?[\"']?ssh-|gh (?:ssh-key"
                r"|repo deploy-key) add (?!~|\$HOME|[\"']?\$)\S+"
            ),
        ),
    ),
)
