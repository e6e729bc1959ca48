# ruff: noqa: SLF001 - it switches off what is private
"""What each speed trick in the code buys: with it, without it, and the ratio of processor time.

A trick that buys nothing here makes the code harder to read for no reason: remove it.
"""

import gc
import hashlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from types import ModuleType

import apsw
import re2

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks import sample_catalogue
from benchmarks.report import duration, print_note, print_table
from vskill_platform.catalogue import list_submissions, search_skills
from vskill_platform.catalogue.query import SkillQuery, SkillSort, SubmissionQuery, SubmissionSort
from vskill_platform.catalogue.skill_rows import SkillFacts
from vskill_platform.catalogue.sql import SEARCH, WRITE
from vskill_platform.catalogue.write_skills import SkillChanges, write_skills
from vskill_platform.catalogue.write_submissions import (
    SubmissionChanges,
    SubmissionFacts,
    write_submissions,
)
from vskill_platform.fetch.workspace import _remove_few
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.trust import TrustScore, TrustTier
from vskill_platform.scan import scan_skill
from vskill_platform.scan.any_language import code_signs as code_signs_module
from vskill_platform.scan.any_language.code_signs import code_signs, may_have_signs
from vskill_platform.scan.collect import run_files
from vskill_platform.scan.facts import addresses, decode_text, hidden_text, pattern_set
from vskill_platform.scan.prose import (
    commands_in_prose,
    frames_other,
    other_spellings,
    read_prose,
    sentences,
)
from vskill_platform.scan.prose.commands_in_prose import commands_in
from vskill_platform.scan.prose.concepts import OF_LANGUAGE
from vskill_platform.scan.prose.frame_index import FrameIndex, words_of
from vskill_platform.scan.prose.frame_lexicon import load_lexicon
from vskill_platform.scan.prose.frames import find_frames
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.prose_patterns import load_patterns
from vskill_platform.web.app import collect_rarely
from vskill_platform.web.http import middleware

_ROUNDS = 5
_ROOT = Path(__file__).parents[1]
#: Prose as skills contain it: instructions, tables, code blocks.
_TEXTS = [path.read_text() for path in sorted(_ROOT.glob("d[eo][mc]*/**/*.md"))]
#: Skills and submissions in the search index.
_INDEXED = 10_000
_MATERIALIZED, _BY_INDEX = " AS MATERIALIZED", " INDEXED BY {index}"
_CODE = [path.read_text() for path in sorted(_ROOT.glob("src/vskill_platform/web/**/*.py"))]
_IMPORTS = "import vskill_platform.cli.local.submissions, vskill_platform.cli.run_command"


def main() -> None:
    rows = [
        _row("remove few files without a thread", *_removing()),
        _row("search words in pieces of 400 bytes", *_searching()),
        _row("find the words of patterns by Aho-Corasick, not re2", *_finding_words()),
        _row("end sentences with `re`, not re2", *_ending_sentences()),
        _row("compare only sentences with the words of a frame", *_comparing_frames()),
        _row("check frames for whole phrases and negations", *_checking_phrases()),
        _row("find the words of frames by Aho-Corasick, not one by one", *_finding_phrases()),
        _row("search only words with a dot for addresses", *_finding_addresses()),
        _row(
            "find the words of other languages by Aho-Corasick first", *_reading_other_languages()
        ),
        _row("count no letters when looking for commands", *_looking_for_commands()),
        _row("look for signs in a text before each command", *_looking_for_signs()),
        _row("keep short decoded runs", *_decoding_twice()),
        _row("match only the signs whose words occur", *_matching_signs()),
        _row("search for a sign with re2 before `re`", *_searching_signs_quickly()),
        _row("look for letters before invisible characters first", *_finding_cut_words()),
        _row("read only obfuscated parts again", *_reading_other_spellings()),
        _row("count the words of list items, not their characters", *_finding_items()),
        _row("search once for several signs that are rare", *_finding_named_files()),
        _row("look for garbage rarely in a scan of large settings", *_scanning_settings()),
        _row("start a command without garbage collection", *_starting()),
        _row("look for garbage rarely in a server that builds its index", *_building()),
        _row("hash a response without releasing the lock (elapsed)", *_hashing()),
        *_index_rows(_filled_index()),
    ]
    print_table(("trick", "with it", "without it", "ratio"), rows)
    print_note("processor time, the best of five rounds each")


def _row(trick: str, with_it: float, without: float) -> tuple[str, str, str, str]:
    return trick, duration(with_it), duration(without), f"{without / with_it:.2f}x"


def _best(work: Callable[[], None]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _removing() -> tuple[float, float]:
    files = ["SKILL.md", "scripts/run.py", "references/guide.md"]

    def folder() -> Path:
        path = Path(tempfile.mkdtemp())
        for file in files:
            (path / file).parent.mkdir(exist_ok=True)
            (path / file).write_text("x")
        return path

    def in_thread(path: Path) -> None:
        thread = threading.Thread(target=shutil.rmtree, args=(path,))
        thread.start()
        thread.join()

    def total(remove: Callable[[Path], object]) -> float:
        folders = [folder() for _ in range(100)]
        start = time.process_time()
        for path in folders:
            remove(path)
        return (time.process_time() - start) / len(folders)

    few = min(total(lambda path: _remove_few(path, files)) for _ in range(_ROUNDS))
    return few, min(total(in_thread) for _ in range(_ROUNDS))


def _searching() -> tuple[float, float]:
    patterns = load_patterns().patterns

    def search() -> None:
        for text in _TEXTS:
            patterns.finds(text)

    size = pattern_set._PIECE_BYTES
    try:
        with_it = _best(search)
        pattern_set._PIECE_BYTES = max(map(len, _TEXTS))
        return with_it, _best(search)
    finally:
        pattern_set._PIECE_BYTES = size


def _finding_words() -> tuple[float, float]:
    patterns = load_patterns().patterns
    by_re2 = re2.Filter()
    for text in patterns._texts:
        by_re2.Add(pattern_set.loosened(text))
    by_re2.Compile()
    texts = [Paragraphs(text, 1).plain.text.encode() for text in _TEXTS]
    pieces = [piece for text in texts for _, piece in pattern_set._pieces(text)]

    def find() -> None:
        for piece in pieces:
            patterns._words.possible(patterns._words.met_in(piece))

    def find_by_re2() -> None:
        for piece in pieces:
            by_re2.Match(piece, potential=True)

    return _best(find), _best(find_by_re2)


def _ending_sentences() -> tuple[float, float]:
    texts = [text[at : at + 240] for text in _TEXTS for at in range(0, len(text), 240)]

    def end() -> None:
        for text in texts:
            sentences._SENTENCE_END.search(text)

    by_re2 = re2.compile(sentences._SENTENCE_END.pattern.replace(r"\Z", r"\z"))
    return _swapped(end, "_SENTENCE_END", by_re2, module=sentences)


def _sentences() -> list[str]:
    return [line for text in _TEXTS for line in Paragraphs(text, 1).plain.text.split("\n") if line]


def _comparing_frames() -> tuple[float, float]:
    return _reading_sentences("possible", lambda _index, _met, among: among)


def _checking_phrases() -> tuple[float, float]:
    """Without it, a sentence may have a phrase if it has its longest word, negated or not."""
    index = load_lexicon().frame_index
    loose: dict[bytes, int] = {}
    for phrase, needs in _needs_of_phrases().items():
        longest = max(phrase, key=len)
        loose[longest] = loose.get(longest, 0) | needs

    def met_in(_index: FrameIndex, text: str) -> list[int]:
        return list(map(met_in_line, text.split("\n")))

    def met_in_line(text: str) -> int:
        met = index._nothing | index._is_known | index._is_negated
        met |= index._address if "." in text else 0
        for word in loose.keys() & set(words_of(text).split()):
            met |= loose[word]
        return met

    return _reading_sentences("met_in", met_in)


def _finding_phrases() -> tuple[float, float]:
    """Without it, the words of each line are looked up one by one."""
    singles: dict[bytes, int] = {}
    pairs: dict[tuple[bytes, ...], list[tuple[bytes, int]]] = {}
    for phrase, needs in _needs_of_phrases().items():
        if len(phrase) == 1:
            singles[phrase[0]] = needs
        else:
            pairs.setdefault(phrase[:2], []).append((b" %b " % b" ".join(phrase), needs))

    def met_in(index: FrameIndex, text: str) -> list[int]:
        return [met_in_line(index, line) for line in text.split("\n")]

    def met_in_line(index: FrameIndex, text: str) -> int:
        words, met = words_of(text).split(), index._addresses_in(text)
        for word in singles.keys() & set(words):
            met |= singles[word]
        line = b" %b " % b" ".join(words)
        for pair in pairs.keys() & set(pairwise(words)):
            for phrase, needs in pairs[pair]:
                met |= needs if phrase in line else 0
        return met

    whole = "\n".join(_sentences())
    index = load_lexicon().frame_index

    def find() -> None:
        index.met_in(whole)

    return _swapped(find, "met_in", met_in, module=FrameIndex)


def _needs_of_phrases() -> dict[tuple[bytes, ...], int]:
    lexicon = load_lexicon()
    forms = [
        " ".join((first, *phrase.tail))
        for first, by_second in lexicon.phrases.items()
        for phrases in by_second.values()
        for phrase in phrases
    ]
    needs = lexicon.frame_index.met_in("\n".join(forms))
    met = {tuple(words_of(form).split()): its for form, its in zip(forms, needs, strict=True)}
    return {phrase: its for phrase, its in met.items() if lexicon.frame_index.is_known(its)}


def _reading_sentences(name: str, without: object) -> tuple[float, float]:
    texts = _sentences()

    def read() -> None:
        for text in texts:
            list(find_frames(text))

    return _swapped(read, name, without, module=FrameIndex)


def _finding_addresses() -> tuple[float, float]:
    texts = [text for text in _sentences() if "." in text]

    def find() -> None:
        for text in texts:
            addresses.names_address(text)

    return _swapped(find, "_addresses", addresses._ADDRESS.finditer, module=addresses)


def _reading_other_languages() -> tuple[float, float]:
    texts = [f"{text} por el" for text in _sentences()]
    every: dict[str, list[str]] = {}
    for name in frames_other._lexicon()._names:
        every.setdefault(name.partition(OF_LANGUAGE)[0], []).append(name)

    def read() -> None:
        for text in texts:
            list(frames_other.find_foreign_frames(text))

    return _swapped(
        read, "possible_in", lambda _lexicon, _text: every, module=frames_other._Lexicon
    )


def _looking_for_commands() -> tuple[float, float]:
    texts = [Paragraphs(text, 1).shown.text for text in _TEXTS]

    def look() -> None:
        for text in texts:
            list(pattern_set.lines_with(commands_in_prose._ANY_BARE, text))

    exact = re2.compile(f"{commands_in_prose._PROGRAM}|{commands_in_prose._PIPED}".encode())
    return _swapped(look, "_ANY_BARE", exact, module=commands_in_prose)


def _looking_for_signs() -> tuple[float, float]:
    commands = [[command.code for command in commands_in(Paragraphs(text, 1))] for text in _TEXTS]

    def whole_first() -> None:
        for text, codes in zip(_TEXTS, commands, strict=True):
            if may_have_signs(text):
                list(map(code_signs, codes))

    def each() -> None:
        for codes in commands:
            list(map(code_signs, codes))

    return _best(whole_first), _best(each)


def _decoding_twice() -> tuple[float, float]:
    runs = [text[start:end] for text in _TEXTS for start, end in decode_text.encoded_runs(text)]

    def decode(decode_one: Callable[[str], str | None]) -> None:
        decode_text._decode_short.cache_clear()
        for run in runs:
            decode_one(run)
            decode_one(run)

    return _best(lambda: decode(decode_text.decode_literal)), _best(
        lambda: decode(decode_text._decode)
    )


def _matching_signs() -> tuple[float, float]:
    hinted = [code for code in _CODE if code_signs_module._HINTED.Match(code)]

    def only_hinted() -> None:
        for code in hinted:
            code_signs(code)

    def all_signs() -> None:
        for code in hinted:
            for _, _, parts in code_signs_module._PATTERNS:
                all(part.search(code) for part in parts)

    return _best(only_hinted), _best(all_signs)


def _searching_signs_quickly() -> tuple[float, float]:
    texts = [code for code in _CODE if code_signs_module._HINTED.Match(code)] + _TEXTS

    def match() -> None:
        for text in texts:
            code_signs(text)

    return _swapped(match, "may_match", lambda *_: True, module=code_signs_module)


def _finding_cut_words() -> tuple[float, float]:
    with_emoji = [f"{text}\n\u26a0\ufe0f Note\n" for text in _TEXTS]

    def find() -> None:
        for text in with_emoji:
            hidden_text.invisible_in_words(text)

    return _swapped(find, "_MAY_CUT", re.compile(b""), module=hidden_text)


def _reading_other_spellings() -> tuple[float, float]:
    technical = "Load l2fwd, then p4rt and b3d into the n3tw0rk.\n\n"
    texts = [Paragraphs(f"{technical}{text}", 1) for text in _TEXTS]

    def read() -> None:
        for text in texts:
            read_prose.read_prose(text)

    def whole(_text: str, plain: str) -> str:
        return plain

    return _swapped(read, "_changed_blocks", whole, module=other_spellings)


def _finding_items() -> tuple[float, float]:
    steady = random.Random(5)
    texts = [_as_list(text.split(), steady).encode() for text in _TEXTS]
    mark = rf"[ \t>]*(?:{other_spellings._MARK}|\|)"
    counted = re2.compile(rf"(?m)(?:^{mark}[^\n]{{1,80}}(?:\n(?:[ \t]*\n)?|\z)){{3,}}")

    def find() -> None:
        for text in texts:
            other_spellings._joined_items(text)

    return _swapped(find, "_RUN", counted, module=other_spellings)


def _as_list(words: list[str], steady: random.Random) -> str:
    """Return words as items of all lengths, as lists of skills have them."""
    items, at = [], 0
    while at < len(words):
        length = steady.randint(1, 24)
        items.append(" ".join(words[at : at + length]))
        at += length
    return "\n".join(f"{'  ' * steady.randint(0, 2)}- {item}" for item in items)


def _finding_named_files() -> tuple[float, float]:
    def find() -> None:
        for text in (*_TEXTS, *_CODE):
            list(run_files._tokens(text, is_code=True))

    return _swapped(find, "_LOADS_OR_RUNS", re.compile(b""), module=run_files)


def _scanning_settings() -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="vskill-tricks-") as scratch:
        folder = Path(scratch)
        (folder / "SKILL.md").write_text("---\nname: a\ndescription: Measures.\n---\n\nWords.\n")
        (folder / "settings.yaml").write_text("x: [" + "{a: b}, " * 16_000 + "]\n")

        def scan() -> None:
            scan_skill.scan_skill(folder, None)

        return _swapped(scan, "_OBJECTS_BETWEEN_COLLECTIONS", 700, module=scan_skill)


def _starting() -> tuple[float, float]:
    return (
        _program(f"import gc; gc.disable(); {_IMPORTS}; gc.freeze()"),
        _program(_IMPORTS),
    )


def _building() -> tuple[float, float]:
    before = gc.get_threshold()
    without = min(_timed(_filled_index) for _ in range(2))
    collect_rarely()
    with_it = min(_timed(_filled_index) for _ in range(2))
    gc.unfreeze()
    gc.set_threshold(*before)
    return with_it, without


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _hashing() -> tuple[float, float]:
    """Hash a page of search results while another thread computes, as a search does."""
    body, is_over = random.randbytes(6_000), threading.Event()

    def compute() -> None:
        while not is_over.is_set():
            sum(range(10_000))

    def elapsed(hash_it: Callable[[bytes], object]) -> float:
        start = time.perf_counter()
        for _ in range(200):
            hash_it(body)
        return (time.perf_counter() - start) / 200

    other = threading.Thread(target=compute)
    other.start()
    taken = min(elapsed(middleware._digest) for _ in range(_ROUNDS))
    plain = min(elapsed(lambda text: hashlib.sha256(text).hexdigest()) for _ in range(_ROUNDS))
    is_over.set()
    other.join()
    return taken, plain


def _program(code: str) -> float:
    taken = []
    for _ in range(_ROUNDS):
        start = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        end = getrusage(RUSAGE_CHILDREN)
        taken.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return min(taken)


def _filled_index() -> apsw.Connection:
    schema = files("vskill_platform.catalogue").joinpath("schema.sql").read_text()
    index = apsw.Connection(":memory:")
    index.execute(schema)
    tiers = list(TrustTier)
    skills = [sample_catalogue.a_skill(number) for number in range(_INDEXED)]
    facts = [
        SkillFacts(
            skill=skill,
            trust=TrustScore(tier=tiers[number % len(tiers)], score=number % 100, words=()),
            updated_at=skill.published_at,
            installs=number % 50,
        )
        for number, skill in enumerate(skills)
    ]
    with index:
        index.execute(WRITE["gather"])
        write_skills(index, SkillChanges(listed=facts))
        write_submissions(index, SubmissionChanges(submissions=list(map(_submission, skills))))
        index.execute(WRITE["join"])
    return index


def _submission(skill: PublishedSkill) -> SubmissionFacts:
    source = git_source(skill.repo_url, skill.skill_path)
    submission = Submission(
        id=skill.submission_id, source=source, repo_url=source.url, skill_name=skill.name,
        skill_path=source.path, state=SubmissionState.PUBLISHED, submitter="ada",
        created_at=skill.published_at, updated_at=skill.published_at, slug=skill.slug,
    )  # fmt: skip
    return SubmissionFacts(submission, 90)


def _index_rows(index: apsw.Connection) -> list[tuple[str, str, str, str]]:
    """Return the rows of the hints to SQLite's query planner in search.sql and lists.sql."""
    steady = random.Random(5)
    asked = [" ".join(sample_catalogue.asked_words(steady, 1)) for _ in range(20)]

    def search(*queries: SkillQuery) -> Callable[[], None]:
        def work() -> None:
            for query in queries:
                search_skills.search_some(index, [search_skills.Question(query)])

        return work

    by_words = search(*(SkillQuery(text=text) for text in asked))
    newest = search(*(SkillQuery(text=text, sort=SkillSort.NEWEST) for text in asked))
    browse = search(SkillQuery(sort=SkillSort.NEWEST), SkillQuery(sort=SkillSort.NAME))
    recent = SubmissionQuery(states=(SubmissionState.PUBLISHED,), sort=SubmissionSort.UPDATED)
    find = search_skills._FIND.replace(_MATERIALIZED, " AS")
    free_walk = SEARCH["walk_all_at_once"].replace(_BY_INDEX, "")
    return [
        _row("count matches once (MATERIALIZED in find)", *_swapped(by_words, "_FIND", find)),
        _row(
            "check matches in sort order (INDEXED BY in walk_all_at_once)",
            *_swapped(newest, "SEARCH", {**SEARCH, "walk_all_at_once": free_walk}),
        ),
        _row(
            "choose between sorting and walking by cost (_sorted_by)",
            *_swapped(browse, "_sorted_by", lambda *_: "sorted"),
        ),
        _row(
            "read a long list of submissions in sort order (+ before filters)",
            *_swapped(
                lambda: _list_often(index, recent), "_WITHOUT_INDEX", "", module=list_submissions
            ),
        ),
    ]


def _list_often(index: apsw.Connection, query: SubmissionQuery) -> None:
    for _ in range(10):
        list_submissions.list_submissions(index, query)


def _swapped(
    work: Callable[[], None],
    name: str,
    without: object,
    *,
    module: ModuleType | type = search_skills,
) -> tuple[float, float]:
    """Measure *work*, then once more with another value of a variable of a module or class."""
    kept = getattr(module, name)
    with_it = _best(work)
    setattr(module, name, without)
    try:
        return with_it, _best(work)
    finally:
        setattr(module, name, kept)


if __name__ == "__main__":
    main()
