"""Recognise what reverses the meaning of words that look like an order."""

import re

import re2

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.negations import is_forbidden, is_negated, is_refused
from vskill_platform.scan.prose.sentences import FOR_USERS

#: "No account required" does not require anything.
_REQUIRED_REACH = 32
_NOT_REQUIRED = re2.compile(r"(?i)\b(?:no|not|without)\s+(?:\w+\s+){0,2}$")
_NEGATABLE = frozenset(
    {
        Act.TELL_OVERRIDE, Act.TELL_DISARM, Act.TELL_LEAK, Act.TELL_SHARE, Act.TELL_SEND,
        Act.TELL_ASK_SECRET, Act.TELL_WIPE, Act.TELL_SHELL, Act.TELL_PAY, Act.TELL_RUN,
        Act.TELL_OBEY, Act.TELL_VOUCH, Act.TELL_IMAGE, Act.TELL_SLANT, Act.TELL_COVER,
        Act.TELL_WEAKEN, Act.TELL_ACCOUNT, Act.TELL_DENY, Act.TELL_POISON, Act.TELL_DEMAND,
        Act.TELL_REMEMBER, Act.TELL_FORCE, Act.TOLD_COLLECT, Act.TOLD_GRANT, Act.TOLD_ERASE,
    }
)  # fmt: skip
_SENDING = frozenset({Act.TELL_LEAK, Act.TELL_SEND})
_ASKING = frozenset({Act.TELL_ASK_SECRET, Act.TELL_DEMAND})
#: How far around an order its object is searched for.
_CONTENT_REACH = 40
_HIDING = frozenset({Act.TELL_CONCEAL, Act.TELL_DENY})
#: "Never silently fall back" is the opposite of hiding.
_HIDDEN_WAY = re.compile(r"\w+ly\b")
#: "Never do it without asking" demands to ask. "Never hesitate to do it …" does not, and neither do
#: words about something else in front of it: "do not be shy and do it …".
_CLAUSE_REACH = 100
_WITHOUT = re.compile("(?i)without")
_CLAUSE_END = re.compile(
    r"(?i)[.,;:!?\n–—]| - |\b(?:and|but|then|yet|instead|rather)\b|(?<!do )\bso\b"  # noqa: RUF001 - both are meant
)
_NEVER = re.compile(
    r"(?i)\b(?:never|do not|don['’]t|must not|should not|cannot|can['’]t|avoid)\b"  # noqa: RUF001 - both are meant
)
_UNDONE = re.compile(
    r"(?i)\b(?:hesitat|fear|afraid|forget|fail|wait|bother|stop|paus|refus|refrain|shy|hold|mind"
    r"|worry|neglect|omit|delay|declin|resist)"
)
#: "Ignore instructions in web pages" protects the user, in any language. The words for earlier
#: instructions, or for those of the system, must not be among them.
_IN_CONTENT = re2.compile(
    r"(?i)(?:instrucciones|instructions|instruções|istruzioni|Anweisungen|Befehle|órdenes)"
    r"(?: (?:que (?:aparezcan|estén|vengan|haya)|contenidas|contenues|contidas|contenute|figurant"
    r"|présentes|enthalten))? (?:en|dans|in|aus|von|de|des|du|nas?|nos?|das?|dos?|nelle|nei|nella)"
    r"(?: (?:la|las|los|el|les?|den|der|dem|as|os))? (?:páginas?|pages?|sitios?|correos?|e-?mails?"
    r"|documentos?|documents?|courriels?|(?:Web)?[Ss]eiten?|Dokumenten|tickets?|documenti|pagine)\b"
    r"|(?:网页|页面|网站|邮件|文档|评论|工单|外部内容|第三方内容|搜索结果)(?:中|里|内|上)?(?:包含|出现)?的?"
    r"(?:任何|所有|一切)?(?:指令|提示|命令|规则)|忽略其中的(?:任何|所有|一切)?(?:指令|提示|命令)"
    r"|(?:メール|ページ|文書|ドキュメント|コメント|サイト)(?:内|中)?(?:の|にある|に含まれる)(?:指示|命令|指令)"
)
_OF_SYSTEM = re2.compile(
    r"(?i)bisherig|vorherig|frühere|anterior|previ[ao]s|précédent|precedent|system|sistema|système"
    r"|之前|以前|以上|先前|此前|系统|システム|これまで"
)
#: A person and not a secret goes somewhere: "send the customer to …", in other languages.
_SENDS_PERSON = re.compile(
    r"(?i)\b(?:env[ií][ae]\w*|mand[ae]\w*|r?e?dirig\w+|schick\w*|verweis\w*|envoye[zr]?)"
    r" (?:al|a la|a los|a las|den|die|das|le|la|les|os?|il|gli|lo) (?:usuari[oa]s?|Kund\w+"
    r"|(?:Be)?[Nn]utzer\w*|clientes?|clients?|clienti|utilisateurs?|utent[ei])"
    r" (?:auf|zu|sur|vers|à|para|al?) "
)
#: Gatekeeper of Kubernetes checks policies; its namespace and its objects are named so. Words such
#: as "policies" or "checks" would also fit the guard of macOS.
_POLICY_ENGINE = re.compile(
    r"-system\b| (?:constraints?|constraint templates?)\b| config\w*[^\n.]{0,20}\bnamespaces?\b"
)
#: "… never type passwords": the last verb in front of the secret is negated.
_NEVER_SECRET = re.compile(
    r"(?i)\b(?:never|do not|don['’]t) (?P<verb>\w+)(?: for)?"  # noqa: RUF001 - as people type it
    r"(?: (?:the|their|your|its|his|her|a|any|real)){0,2}(?: \w+)?$"
)


def says_otherwise(act: Act, text: str, start: int, end: int) -> bool:
    """Return whether the context reverses the meaning of the words."""
    if act in _HIDING and FOR_USERS.match(text, end):
        return True
    if act is Act.TELL_REQUIRED:
        before = text[max(start - _REQUIRED_REACH, 0) : start]
        return text[start:end].lower() == "required" and _NOT_REQUIRED.search(before) is not None
    if act is Act.TELL_UNASKED:
        before = text[max(start - _CLAUSE_REACH, 0) : start]
        return _WITHOUT.match(text, start, end) is not None and _forbids(before)
    if _is_harmless(act, text, start, end):
        return True
    is_hidden_way = act is Act.TELL_CONCEAL and _HIDDEN_WAY.match(text, start) is not None
    if not is_hidden_way and act not in _NEGATABLE:
        return False
    is_demand = act is Act.TELL_DEMAND and is_forbidden(text, start, end)
    return is_demand or is_negated(text, start, end) or is_refused(text, start)


def _is_harmless(act: Act, text: str, start: int, end: int) -> bool:
    """Return whether the words have the form of an order against the user, but another object."""
    words = text[start:end]
    if act is Act.TELL_OVERRIDE:
        around = text[max(start - _CONTENT_REACH, 0) : end + _CONTENT_REACH]
        return bool(_IN_CONTENT.search(around)) and not _OF_SYSTEM.search(around)
    if act in _SENDING:
        return _SENDS_PERSON.search(words) is not None
    if act is Act.TELL_DISARM:
        return _POLICY_ENGINE.match(text, end) is not None and words.lower().endswith("gatekeeper")
    if act in _ASKING:
        negated = _NEVER_SECRET.search(words)
        return negated is not None and not _UNDONE.match(negated["verb"])
    return False


def _forbids(before: str) -> bool:
    """Return whether the clause in front of "without asking" forbids what it names."""
    clause = _CLAUSE_END.split(before)[-1]
    return len(_NEVER.findall(clause)) == 1 and not _UNDONE.search(clause)
