"""Search many texts for the words of all patterns and frames, before any of them is read further.

The tables of patterns and those of frames are each larger than the caches of the processor. A
search between other work first has to load its tables again, which takes as long as the search.
"""

from collections.abc import Sequence

from vskill_platform.scan.facts.sensitive_paths import secrets_in
from vskill_platform.scan.prose.frame_lexicon import load_lexicon
from vskill_platform.scan.prose.paragraphs import View
from vskill_platform.scan.prose.prose_patterns import load_patterns


class SearchedView:
    """A view of a text, and what was found in it; nothing can be read before the search."""

    #: The pattern, start and end of each match.
    matches: list[tuple[int, int, int]]
    #: The needs of frames that each line meets.
    met: list[int]
    #: The positions of paths of secrets.
    secrets: list[int]

    def __init__(
        self,
        view: View,
        *,
        only: frozenset[int] | None = None,
        has_frames: bool = True,
        has_secrets: bool = False,
    ) -> None:
        """Plan a search for patterns, limited to *only*, for frames and for paths of secrets."""
        self.view = view
        self.only = only
        self.has_frames = has_frames
        self.has_secrets = has_secrets


def search_views(views: Sequence[SearchedView]) -> None:
    """Search all views with one set of tables before the next."""
    patterns, index = load_patterns().patterns, load_lexicon().frame_index
    for only in dict.fromkeys(one.only for one in views):
        some = [one for one in views if one.only == only]
        matches = patterns.finds_in_all([one.view.text for one in some], only)
        for one, its in zip(some, matches, strict=True):
            one.matches = its
    for one in views:
        if one.has_frames:
            one.met = index.met_in(one.view.text)
    for one in views:
        if one.has_secrets:
            one.secrets = secrets_in(one.view.text)
