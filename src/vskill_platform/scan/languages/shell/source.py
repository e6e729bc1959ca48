"""Normalise shell code from documents: remove prompts and invisible characters."""

import re

#: No one reviews a longer script; the rest is not read.
MAX_CHARACTERS = 512 * 1024
#: Invisible characters, which can split a word that a scanner searches for.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
#: Those in the basic plane, for each of which a search is fast.
_IN_FIRST_PLANE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_SPLIT_WORD = re.compile(f"[A-Za-z/]{INVISIBLE.pattern}+[A-Za-z/]")
#: Private-use characters mark unknown values during the analysis, so the input must not contain
#: any.
FIRST_MARK = 0xF0000
LAST_MARK = 0xFFFFD
_MARKS = re.compile(f"[{chr(FIRST_MARK)}-{chr(LAST_MARK)}\x00\x1f]")
_PROMPT = re.compile(
    r"^[ \t]{0,12}(?:(?:\([\w.-]{1,30}\) )?(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^\s$#%]{0,80}\]?)?"
    r"[$%\u276f\u279c][ \t]{1,4}(?=\S)|>[ \t]{1,4}(?=[A-Za-z.][\w./-]{0,60}[ \t]+\S))",
    re.MULTILINE,
)
#: Every prompt contains one of these.
_PROMPT_ENDS = tuple(sign + blank for sign in "$%>\u276f\u279c" for blank in " \t")
#: A function without brackets after its name, and a named coprocess.
_FUNCTION = re.compile(r"\bfunction[ \t]{1,8}([\w:.-]{1,100})([ \t\n]{1,8})\{")
_COPROCESS = re.compile(r"\bcoproc[ \t]{1,8}([A-Za-z_]\w{0,60})[ \t]{1,8}(?=[{(])")
_BRACES = re.compile(r"(?m)(^|[|;&(`])([ \t]{0,8})\{([\w./-]{1,40}(?:,[^\s{},]{1,400}){1,40})\}")


def clean(code: str) -> str:
    """Return *code* without prompts and invisible characters, with the same lines."""
    code = code[:MAX_CHARACTERS]
    if "\r" in code:
        code = code.replace("\r\n", "\n").replace("\r", "\n")
    if not code.isascii():
        code = code.replace("\u00a0", " ")
    if _may_be_odd(code):
        code = INVISIBLE.sub("", _MARKS.sub("?", code))
    if any(end in code for end in _PROMPT_ENDS):
        code = _PROMPT.sub(lambda found: " " * len(found[0]), code)
    if "function" in code:
        code = _FUNCTION.sub(r"\1()\2{", code)
    return code


def take_coprocess_names(code: str) -> tuple[str, list[str]]:
    """Return *code* without the names of its coprocesses, and these names."""
    names = _COPROCESS.findall(code)
    return (_COPROCESS.sub("coproc ", code), names) if names else (code, names)


def _may_be_odd(code: str) -> bool:
    """Return quickly whether a text may contain marks or invisible characters."""
    if "\x00" in code or "\x1f" in code:
        return True
    if code.isascii():
        return False
    goes_beyond = len(code.encode("utf-16-le", "surrogatepass")) > 2 * len(code)
    return goes_beyond or any(letter in code for letter in _IN_FIRST_PLANE)


def lines_with_split_words(code: str) -> list[int]:
    """Return the lines in which an invisible character is inside a word."""
    if code.isascii() or not _may_be_odd(code):
        return []
    return sorted({code.count("\n", 0, found.start()) + 1 for found in _split_words(code)})


def _split_words(code: str) -> list[re.Match[str]]:
    found = list(_SPLIT_WORD.finditer(code[:MAX_CHARACTERS]))
    return found[:20]


def open_braces(code: str) -> str:
    """Rewrite a command that hides its spaces, ``{curl,-s,…}``, as the shell would run it."""
    return _BRACES.sub(lambda found: f"{found[1]}{found[2]} {found[3].replace(',', ' ')} ", code)
