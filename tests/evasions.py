"""Disguised attacks and their harmless variants, as in `make bench-evasion`."""

from functools import cache

from benchmarks.evasion.samples import load_behaviours
from benchmarks.scan_evasion import Variant, all_variants


@cache
def some_variants() -> tuple[Variant, ...]:
    """Return the variants that the benchmark tries without `--all`."""
    return tuple(all_variants(load_behaviours(), is_full=False))
