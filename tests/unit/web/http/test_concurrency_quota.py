"""Who holds enough gets no more, and nobody holds it all."""

from datetime import timedelta

import pytest

from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Visitor
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.rate_limits import quota_key


def some(in_all: int, each: int) -> ConcurrencyQuota:
    return ConcurrencyQuota(
        in_all=in_all, each=each, what="looking", retry_after=timedelta(seconds=5)
    )


def test_one_visitor_gets_a_share_and_others_theirs() -> None:
    shares = some(in_all=3, each=2)
    with shares.held_by("ada"), shares.held_by("ada"):
        with pytest.raises(TooMany, match="2 at a time"):
            shares.take("ada")
        with (
            shares.held_by("ben"),
            pytest.raises(TooMany, match="too many at the moment") as refused,
        ):
            shares.take("cyd")

    assert refused.value.retry_after == timedelta(seconds=5)
    assert shares.count == 0


def test_what_is_given_back_is_there_for_others_and_nobody_is_remembered() -> None:
    shares = some(in_all=1, each=1)
    for name in ("ada", "ben", "ada"):
        with shares.held_by(name):
            assert shares.count == 1

    assert shares.count == 0
    assert not shares._held


def test_a_household_is_one_holder() -> None:
    holders = {
        quota_key(Visitor(address=address)) for address in ("2001:db8:1:2::1", "2001:db8:1:2::9")
    }

    assert len(holders) == 1
