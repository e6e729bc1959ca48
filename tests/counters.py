"""Read the counters of this process, as `/metrics` would show them."""

from prometheus_client import REGISTRY

from vskill_platform.base.metrics import start_metrics


def counted(name: str, **labels: str) -> float:
    """Return the value of a counter; 0 before its first use."""
    start_metrics()
    return REGISTRY.get_sample_value(name, labels) or 0
