"""The regular inflections of English words, so that word lists need only their base forms."""

_VOWELS = frozenset("aeiou")
_IRREGULAR = {
    "send": ("sent",), "keep": ("kept",), "tell": ("told",), "say": ("said",),
    "know": ("knew", "known"), "find": ("found",), "get": ("got", "gotten"),
    "give": ("gave", "given"), "go": ("went", "gone"), "hide": ("hid", "hidden"),
    "leave": ("left",), "let": (), "make": ("made",), "pay": ("paid",), "put": (),
    "read": (), "run": ("ran",), "see": ("saw", "seen"), "set": (), "show": ("shown",),
    "spend": ("spent",), "take": ("took", "taken"), "write": ("wrote", "written"),
    "withhold": ("withheld",), "hold": ("held",), "bring": ("brought",), "do": ("did", "done"),
    "hear": ("heard",), "learn": ("learnt",), "override": ("overrode", "overridden"),
    "forget": ("forgot", "forgotten"), "buy": ("bought",), "sell": ("sold",), "cut": (),
    "overwrite": ("overwrote", "overwritten"), "steal": ("stole", "stolen"), "shut": (),
    "withdraw": ("withdrew", "withdrawn"), "become": ("became",), "feed": ("fed",),
    "mislead": ("misled",), "speak": ("spoke", "spoken"), "come": ("came",), "obey": (),
    "understand": ("understood",), "draw": ("drew", "drawn"), "lay": ("laid",),
    "forgo": ("forwent", "forgone"), "bind": ("bound",), "seek": ("sought",),
    "throw": ("threw", "thrown"), "lift": (), "teach": ("taught",), "lead": ("led",),
    "drop": (), "meet": ("met",), "hand": (), "break": ("broke", "broken"), "input": (),
}  # fmt: skip
#: Verbs with several syllables that double their last letter.
_DOUBLED = frozenset({"forget", "commit", "submit", "transmit", "omit", "permit", "admit", "defer"})
_MAX_DOUBLED = 5


def verb_forms(phrase: str) -> set[str]:
    """Return a verb in all its forms; of a phrase, the first word is the verb."""
    verb, *tail = phrase.split()
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
    if _is_doubled(verb):
        stem = verb + verb[-1]
    ends_in_y = verb.endswith("y") and verb[-2] not in _VOWELS
    past = f"{verb[:-1]}ied" if ends_in_y else f"{stem}ed"
    forms = {verb, _with_s(verb), f"{stem}ing", past, *_IRREGULAR.get(verb, ())}
    if verb.endswith("el"):  # cancelled, canceled
        forms |= {f"{verb}led", f"{verb}ling"}
    return {" ".join((form, *tail)) for form in forms}


def noun_forms(phrase: str) -> set[str]:
    """Return a noun in singular and plural; of a phrase, the last word is the noun."""
    *head, noun = phrase.split()
    return {" ".join((*head, form)) for form in (noun, _with_s(noun))}


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{word}s"


def _is_doubled(verb: str) -> bool:
    if verb in _DOUBLED:
        return True
    is_short = len(verb) <= _MAX_DOUBLED and sum(letter in _VOWELS for letter in verb) == 1
    closed = verb[-1] not in _VOWELS and verb[-1] not in "wxyh" and verb[-2:-1] in _VOWELS
    return is_short and closed
