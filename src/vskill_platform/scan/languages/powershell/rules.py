"""Patterns for PowerShell and batch commands, each matched on one statement."""

import re

from vskill_platform.scan.facts.facts import Act

_I = re.IGNORECASE
FETCH = re.compile(
    r"\b(?:iwr|irm|curl|wget|Invoke-WebRequest|Invoke-RestMethod|Start-BitsTransfer"
    r"|curl\.exe)\b|\.Download(?:String|File|Data)(?:Async)?\b"
    r"|certutil(?:\.exe)?\b.{0,80}-urlcache|bitsadmin(?:\.exe)?\b.{0,80}/transfer"
    r"|\.GetStringAsync\(|\.OpenRead\(|Msxml2\.\w*XMLHTTP", _I,
)  # fmt: skip
#: The host of an address without a scheme, directly after the command that fetches it.
BARE_ADDRESS = re.compile(
    r"\b(?:iwr|irm|curl|wget|Invoke-WebRequest|Invoke-RestMethod)(?:\.exe)?"
    r"(?:\s+-(?:useb\w*|sS?L?|fsSL|L|s))*\s+(?:-Uri\s+)?['\"]?"
    r"((?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,20})(?=[/:?'\"\s|;)]|$)", _I,
)  # fmt: skip
SEND = re.compile(
    r"-Method\s+['\"]?(?:Post|Put|Patch)\b|\.Upload(?:String|File|Data|Values)\b"
    r"|Send-MailMessage|-InFile\b|-X\s?(?:POST|PUT)\b|\.PostAsync\("
    r"|curl(?:\.exe)?\b.{0,200}\s(?:-d|--data\S{0,12}|-F|--form|-T)\s", _I,
)  # fmt: skip
RUNS_TEXT = re.compile(
    r"(?<![\w-])(?:iex|Invoke-Expression)\b|\[scriptblock\]::Create\(|\.InvokeScript\("
    r"|\[(?:System\.)?Reflection\.Assembly\]::(?:Unsafe)?Load(?:From|File)?\(|\.NewScriptBlock\("
    r"|\bAdd-Type\b[^|;]{0,80}?-(?:TypeDefinition|MemberDefinition|Path|AssemblyName)"
    r"|&\s{0,4}\(\s{0,4}(?:gcm|Get-Command)\b[^)]{0,60}[*?]",
    _I,
)
DECODES = re.compile(
    r"FromBase64String\(\s?['\"]?([A-Za-z0-9+/=\s]{8,})?|-bxor\b|GzipStream|DeflateStream", _I
)
ENCODED = re.compile(
    r"(?:powershell|pwsh)(?:\.exe)?\b[^|\n]{0,200}?\s[-/]e(?:nc(?:odedcommand)?|c|n"
    r"|ncod\w{0,10})?\s+['\"]?([A-Za-z0-9+/=]{8,}+)(?!\.\.|…)",
    _I,
)
NESTED = re.compile(
    r"(?:powershell|pwsh)(?:\.exe)?\b[^|\n\"']{0,200}?\s[-/]c(?:ommand)?\s+(.+)",
    _I | re.DOTALL,
)
CMD = re.compile(r"\bcmd(?:\.exe)?\s+/[ck]\s+(.+)", _I | re.DOTALL)
OUTPUT = re.compile(
    r"(?:-OutFile|-Destination\w{0,8}|-o|--output|-FilePath|Out-File|Set-Content(?:\s+-Path)?)\s+['\"]?([^\s'\"|;)]{1,300})"
    r"|\.DownloadFile\(\s?['\"]?[^,]{1,2000},\s?['\"]?([^'\")]{1,300})"
    r"|^set\s?>\s?['\"]?([^\s'\"|;)]{1,300})"
    r"|Compress-Archive\s+(?:-\w*Path\s+)?\S{3,300}\s+['\"]?([\w.$%:\\/~-]{1,300}\.zip)"
    r"|Start-BitsTransfer\s+(?:-Source\s+)?\S{4,600}\s+['\"]?([\w.$%:\\/~-]{1,300}\.\w{2,4})"
    r"|(?:-urlcache|/transfer)\b.{0,600}?\s['\"]?([\w.$%:\\/~-]{1,300}\.\w{2,4})['\"]?"
    r"\s{0,4}(?:\d?>\s?\S{1,40}\s{0,4})?$", _I,
)  # fmt: skip
#: Converts one file to another with the same content in some form.
TRANSFORMS = re.compile(
    r"(?:\bcertutil(?:\.exe)?\b.{0,40}?[-/]decode(?:hex)?|^(?:copy|copy-item|move|move-item|ren"
    r"|rename-item|expand)\b(?:\s+/\w)*)\s+['\"]?([^\s'\"]{1,300})['\"]?\s+(?:-Dest\w*\s+)?"
    r"['\"]?([^\s'\">|]{1,300})", _I,
)  # fmt: skip
STARTS = re.compile(
    r"^(?:&\s{0,4}"
    r"|\.\s{1,4})?['\"]?(?P<path>[\w.$%:\\/~{}() -]{0,200}?[\w$%:\\/~.-]{1,100}\.(?:exe|ps1|bat"
    r"|cmd|msi|vbs|js|py|dll|jar|scr))\b"
    r"|(?:Start-Process|start|saps|Invoke-Item|ii|msiexec|wscript|cscript|python|powershell|Import-Module|ipmo"
    r"|rundll32|regsvr32|call)\b(?P<rest>[^|\n]{1,400})"
    r"|^(?:&|\.)\s{0,4}(?P<variable>\$[\w:]{1,60})", _I,
)  # fmt: skip
READS = re.compile(
    r"\b(?:Get-Content|gc|cat|type|Copy-Item|copy|xcopy|robocopy|Compress-Archive|Select-String"
    r"|findstr|Get-ChildItem|gci|more)\b|ReadAll(?:Text|Bytes|Lines)\(",
    _I,
)
ALL_ENV = re.compile(
    r"\b(?:Get-ChildItem|gci|dir|ls|Get-Item|gi)\s+(?:-Path\s+)?['\"]?env:\\?\*?(?=['\"\s|)]|$)"
    r"|GetEnvironmentVariables\(\)|^set\s*[|>]",
    _I,
)
WRITES = re.compile(
    r"\b(?:Set-Content|Add-Content|Out-File|Copy-Item|Move-Item|New-Item|copy|move|xcopy"
    r"|Set-ItemProperty|New-ItemProperty|sc|ac|reg(?:\.exe)?\s+add)\b"
    r"|>{1,2}\s?['\"]?[\w$~%.\\/:]",
    _I,
)
REVERSE = re.compile(r"Sockets\.TCPClient\(\s?['\"]?([^'\",)]{1,253})", _I)
REVERSE_RUNS = re.compile(r"\biex\b|Invoke-Expression|cmd\.exe|StandardInput|powershell", _I)
REMOTE_HOSTS = re.compile(
    r"\b(?P<name>mshta|regsvr32|rundll32|wscript|cscript|msiexec|installutil"
    r"|odbcconf|cmstp|GetObject)(?:\.exe)?\b[^\n]{0,300}?(?:https?|ftp)://",
    _I,
)
#: A program on another machine's network share.
REMOTE_SHARE = re.compile(
    r"(?:^|\b(?:pcalua|rundll32|regsvr32|start|wmic|mshta|msiexec|forfiles|odbcconf|control|call|cmd"
    r"|wscript|cscript|powershell|Start-Process|schtasks|sc)(?:\.exe)?\b[^\n]{0,200}?[\s\"'=])"
    r"\\\\((?:[\w-]+\.)+[a-z]{2,20}|\d{1,3}(?:\.\d{1,3}){3})(?:@\w{1,9})?\\[^\s\"']{1,200}",
    _I,
)
#: A program whose output is run line by line, or passed to a shell.
OUTPUT_IS_RUN = re.compile(
    r"^for\s+/f\b[^\n(]{0,80}\(\s?['`\"](?P<lines>[^\n)]{4,400})['`\"]\s?\)\s?do\s+\(?@?"
    r"(?:call\s+|start\s+|cmd(?:\.exe)?\s+/c\s+)?[\"']?%%?~?\w\b"
    r"|(?P<piped>[^|\n]{4,400})\|\s?(?:cmd|powershell|pwsh)(?:\.exe)?(?:\s+-(?:c(?:ommand)?|nop\w*)?\s?-?)?\s{0,4}$",
    _I,
)
#: A request with an unusual protocol.
ASKS = re.compile(r"\b(?:finger(?:\.exe)?\s+\S{0,60}@|nslookup\b[^\n]{0,80}\s)([\w.-]{4,200})", _I)
SHELL_TOOLS = re.compile(
    r"^(?:npm|npx|pnpm|yarn|bun|pip3?|pipx|uvx?|git|winget|choco|scoop|cargo|gem|go|dotnet|ssh"
    r"|scp|node|python3?|py|docker|clawhub|bash|sh|zsh|wsl|claude|codex|gemini|kubectl|aws|gcloud"
    r"|rclone|openssl|osascript|tar)(?:\.exe)?\s",
    _I,
)

#: Pattern → act and its object.
PLAIN_RULES: tuple[tuple[re.Pattern[str], Act, str], ...] = tuple(
    (re.compile(pattern, _I), act, detail)
    for pattern, act, detail in (
        (r"Set-MpPreference\b.{0,200}-Disable\w+\s+(?:\$true|1)", Act.DISARM, "antivirus"),
        (r"Add-MpPreference\b.{0,200}-Exclusion", Act.DISARM, "antivirus"),
        (r"DisableAntiSpyware|DisableRealtimeMonitoring\b.{0,20}1", Act.DISARM, "antivirus"),
        ((
            r"(?:Stop-Service|Set-Service|sc(?:\.exe)?\s+(?:stop|delete|config)|net\s+stop"
            r"|taskkill)\b.{0,100}(?:WinDefend|MsMpEng|SecurityHealth|Sense\b|mpssvc)"
        ), Act.DISARM, "antivirus"),
        ((
            r"netsh\s+(?:advfirewall|firewall)\b.{0,100}\b(?:off|disable)\b"
            r"|Set-NetFirewallProfile\b.{0,100}-Enabled\s+(?:\$?False)"
        ), Act.DISARM, "firewall"),
        (r"amsiInitFailed|AmsiUtils|AmsiScanBuffer", Act.DISARM, "amsi"),
        (r"wevtutil(?:\.exe)?\s+cl\b|Clear-EventLog|Remove-EventLog", Act.DISARM, "event log"),
        ((
            r"Clear-History|ConsoleHost_history.{0,40}(?:Remove|del)|(?:Remove-Item"
            r"|del)\b.{0,100}ConsoleHost_history|HistorySaveStyle\s+SaveNothing"
        ), Act.DISARM, "shell history"),
        (r"Unblock-File|Zone\.Identifier", Act.DISARM, "quarantine"),
        (r"Set-ExecutionPolicy\s+(?:-\w+\s+)?(?:Bypass|Unrestricted)", Act.DISARM,
        "execution policy"),
        (r"EnableLUA\b.{0,40}\b0\b", Act.DISARM, "user account control"),
        ((
            r"-Verb\s+['\"]?RunAs|net\s+localgroup\s+administrators\b.{0,80}/add"
            r"|Add-LocalGroupMember\b.{0,60}Administrators|runas\s+/user"
        ), Act.ELEVATE, "administrator"),
        ((
            r"schtasks(?:\.exe)?\b.{0,40}/create|Register-ScheduledTask|New-ScheduledTask\b"
            r"|Register-WmiEvent|__EventFilter"
        ), Act.WRITE, "runs at start or on a timer"),
        (r"(?:New-Service\b|sc(?:\.exe)?\s+create\b)", Act.WRITE, "runs at start or on a timer"),
        (r"sc(?:\.exe)?\s+create\b.{0,80}type=\s{0,4}kernel", Act.ELEVATE, "a kernel driver"),
        ((
            r"(?:Remove-Item|rm|ri|del|rd|rmdir)\b(?=.{0,200}(?:-Recurse|/s\b"
            r"|-r\b)).{0,200}?\s['\"]?(?:[A-Za-z]:\\?\*?|\$HOME|~|\$env:USERPROFILE|%USERPROFILE%"
            r"|(?:\$HOME|~|\$env:USERPROFILE|%USERPROFILE%)[\\/]"
            r"(?:Documents|Desktop|Downloads|Pictures)(?:[\\/]\*)?"
            r"|\$env:SystemRoot|C:\\(?:Windows|Users)(?:\\\*)?|/|\\|\*)['\"]?(?=\s|$)"
        ), Act.DELETE, "files"),
        ((
            r"^format(?:\.com)?\s+[A-Za-z]:|Clear-Disk\b|Format-Volume\b|Initialize-Disk\b"
        ), Act.DELETE, "disk"),
        ((
            r"vssadmin(?:\.exe)?\s+delete\s+shadows|wbadmin\s+delete"
            r"|bcdedit\b.{0,80}recoveryenabled\s+no"
        ), Act.DELETE, "backups"),
        ((
            r"(?:-w(?:indowstyle)?|-WindowStyle)\s+['\"]?(?:h(?:idden)?|1)\b"
            r"|CreateNoWindow\s{0,4}=\s{0,4}\$true"
        ), Act.HIDE, "hidden window"),
        (r"HttpListener|Sockets\.TcpListener", Act.LISTEN, "listener"),
        ((
            r"cmdkey(?:\.exe)?\s*/list|vaultcmd|Get-StoredCredential|CredEnumerate"
            r"|\[Windows\.Security\.Credentials\.PasswordVault"
        ), Act.READ_SECRET, "a password store"),
        (r"Get-Clipboard", Act.RUN, "Get-Clipboard"),
    )
)  # fmt: skip
INSTALL = re.compile(
    r"\b(Install-Module|Install-Package|Install-Script"
    r"|Add-AppxPackage)\s+(?:-Name\s+)?['\"]?([\w.:/\\-]{1,100})",
    _I,
)
#: An alias of a command that runs text.
ALIAS = re.compile(
    r"\b(?:Set-Alias|New-Alias|sal|nal)\s+(?:-Name\s+)?['\"]?([\w-]{1,40})['\"]?\s+(?:-Value\s+)?"
    r"['\"]?(?:iex|Invoke-Expression)\b",
    _I,
)
#: A repository from which packages are installed.
REPOSITORY = re.compile(
    r"\b(?:Register-PSRepository|Register-PSResourceRepository|Register-PackageSource)\b"
    r"[^\n]{0,200}?(?:https?)://",
    _I,
)
RUN = re.compile(r"\b(mshta|rundll32|regsvr32|wscript|cscript)(?:\.exe)?\s", _I)
