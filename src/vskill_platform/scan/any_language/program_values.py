"""Insert the values of names into a program of any language: the home folder, parts of a path.

``os.RemoveAll(filepath.Join(home, ".ssh"))`` deletes a folder whose path is nowhere in the program.
This converts it to ``os.RemoveAll(filepath.Join("~/.ssh"))``, which other modules can read.
"""

import re
from itertools import islice

import re2

_MANY = 3
_MAX_NAMES = 200
_CONCATENATED = re.compile(r"([\"'])\s{0,9}(?:\+|\.\.?|\s\*\s|&|<>)\s{0,9}\1")
#: A value between two strings, and a name to which a string is added.
_VALUE_BETWEEN = re.compile(
    r"([\"'])\s{0,9}(?:\+|\.\.?|&|<>)\s{0,9}(?:quoted form of )?[$@]?[A-Za-z_][\w.]{0,60}"
    r"(?:\([^()\n\"']{0,60}\))?\s{0,9}(?:\+|\.\.?|&|<>)\s{0,9}\1"
)
_ASSIGNED = re.compile(
    r"(?m)(?:^|[;{])\s{0,40}(?:(?:local|my|set|let|const|var|our|final|auto|val|static|mut"
    r"|[A-Z]\w{0,20}) ){0,3}"
    r"([$@]?[A-Za-z_]\w{0,40})(?:\s?,\s?\w{1,20})?(?:\s?:\s?&?\w{1,20})?"
    r"\s{0,4}(?::?=|<-|\bto\b)\s{0,4}"
    r"([\"'])([^\"'\n]{1,400})\2(?:\.unwrap\(\)|[?!]{1,2})?\s{0,4}(?:;|$)"
)
_NAME_AND_STRING = re.compile(
    r"([$@]?\b[A-Za-z_]\w{0,40})\s{0,4}(?:\+|\.\.?|\*|&|<>)\s{0,4}([\"'])"
)
_NAME_EXTENDED = re.compile(
    r"\b([A-Za-z_]\w{0,40})(?=\.(?:join|push|resolve|appendingPathComponent)\(|\s/\s\")"
)
#: A name as an argument, and a name in a template string.
_NAME_PASSED = re.compile(r"(?<=[(,\[])(\s?)&?([$@]?[A-Za-z_]\w{0,40})(?=\s?[,)\]])")
_NAME_FILLED_IN = re.compile(
    r"(?:#\{|\$\{|\{)([$@]?[A-Za-z_]\w{0,40})\}|(\$[A-Za-z_]\w{0,40})(?=/)"
)
#: Strings of a list that is joined elsewhere.
_LISTED = re.compile(r"([\"'])\s{0,9},\s{0,9}\1")
_FIRST_FILLED = re.compile(
    r"([\"'])(?:\{\}|%s)([^\"'\n]{0,200})\1\s{0,4},\s{0,4}(?:sizeof \w+, )?[\"']~[\"']"
)
_PATH_OF = re.compile(
    r"((?:[Jj]oin|Path\.of|Paths\.get|Path\.Combine|expand_path|joinpath)\w{0,5}\s?\([^\n()]{2,300}\))"
)
_PATH_ADDED = re.compile(
    r"\"~\"\)?(?:\.(?:join|push|resolve|appendingPathComponent)|\s?/)\s?\(?\s?\"([^\"\n]{1,200})\"\)?"
)
_HOME_NAME = r"[\"']?(?:HOME|USERPROFILE)[\"']?"
#: How programs get the home folder.
_HOME = (
    rf"\bDir\.home(?:\(\))?|\$?\bENV(?:\.fetch)?\s?[\[({{]\s?{_HOME_NAME}\s?[\])}}]|\$_SERVER\[{_HOME_NAME}\]"
    rf"|\b(?:\w{{1,20}}(?:\.|::)){{0,3}}(?:getenv|[Gg]etEnv|Getenv|get_env!?|var|GetEnvironmentVariable)"
    rf"\(\s?{_HOME_NAME}\s?\)|\bPlatform\.environment\[{_HOME_NAME}\]"
    r"|\bSystem\.getProperty\(\s?[\"']user\.home[\"']\s?\)|\bNSHomeDirectory\(\)|\b(?:os\.)?homedir\(\)"
    r"|\b(?:dirs|home|env)::home_dir\(\)|\bos\.UserHomeDir\(\)|\bSystem\.user_home!?\(\)"
    r"|\bEnvironment\.GetFolderPath\(\s?(?:System\.)?Environment\.SpecialFolder\.UserProfile\s?\)"
    r"|\b(?:File\.expand_path|path\.expand|expanduser|Path\.expand)\(\s?[\"']~[\"']\s?\)"
    r"|\bos\.home\b(?!\s?\()|\bgetHomeDirectory\b|\bgetHomeDir\(\)"
    r"|\bFileManager\.default\.homeDirectoryForCurrentUser(?:\.path)?|\bURL\.homeDirectory"
)
_UNWRAPPED = r"(?:\.unwrap\(\)|\.expect\([^()\n]{0,60}\)|!!?|\?)?"
_HOME_FILLED_IN = re.compile(
    rf"#\{{(?:{_HOME})\}}|\$\{{(?:{_HOME})\}}|\\\((?:{_HOME})\)|\{{(?:{_HOME})\}}|\$ENV\{{HOME\}}(?=/)"
)
_HOME_ASKED = re.compile(rf"(?:{_HOME}){_UNWRAPPED}")
_MAY_ASK_HOME = re2.compile(
    rb"HOME|USERPROFILE|user\.home|NSHomeDir|homedir|home_dir|os\.home|getHomeDir|[hH]omeDir|user_home|UserProfile|Dir\.home|[\"']~[\"']"
)


def with_values(text: str) -> str:
    """Return a program line by line, with strings joined and names replaced by their strings."""
    if _MAY_ASK_HOME.search(text.encode(errors="replace")):
        text = _HOME_ASKED.sub('"~"', _HOME_FILLED_IN.sub("~", text))
    joined = "\n".join(line if is_list(line) else _joined(line) for line in text.split("\n"))
    known = {name: value for name, _, value in islice(_ASSIGNED.findall(joined), _MAX_NAMES)}
    if known:
        joined = _CONCATENATED.sub("", _with_names(joined, known))
    if '"~"' not in joined:
        return joined
    paths = _PATH_OF.sub(lambda found: _LISTED.sub("/", found[1]), joined)
    return _FIRST_FILLED.sub(r"\1~\2\1", _PATH_ADDED.sub(r'"~/\1"', paths))


def _with_names(text: str, known: dict[str, str]) -> str:
    def value_of(name: str) -> str | None:
        return known.get(name) or known.get(f"${name}")

    text = _NAME_AND_STRING.sub(
        lambda found: found[2] + known[found[1]] if found[1] in known else found[0], text
    )
    text = _NAME_FILLED_IN.sub(lambda found: value_of(found[1] or found[2]) or found[0], text)
    text = _NAME_EXTENDED.sub(
        lambda found: f'"{known[found[1]]}"' if found[1] in known else found[0], text
    )
    return _NAME_PASSED.sub(
        lambda found: f'{found[1]}"{known[found[2]]}"' if found[2] in known else found[0], text
    )


def is_list(line: str) -> bool:
    """Return whether a line is a list of strings, where a sign between quotes is a string."""
    return line.count(",") > _MANY and _LISTED.search(line) is not None


def _joined(line: str) -> str:
    return _VALUE_BETWEEN.sub("$value", _CONCATENATED.sub("", line))
