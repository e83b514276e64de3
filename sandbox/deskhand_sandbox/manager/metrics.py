"""What the manager measures, for Prometheus: durations by kind, and what was lost and why."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from deskhand_sandbox.manager.records import Lost, PoolStatus

BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """Counts from the manager's start on; a registry of its own, so that managers do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def histogram(name: str, says: str, *labels: str) -> Histogram:
            return Histogram(name, says, labels, registry=self._registry, buckets=BUCKETS_S)

        self._create = histogram("deskhand_sandbox_create_seconds", "Making a sandbox", "kind")
        self._lease = histogram("deskhand_sandbox_lease_seconds", "From a request to its sandbox", "kind")
        self._call = histogram("deskhand_sandbox_call_seconds", "A call on a sandbox", "kind", "call")
        self._settle = histogram("deskhand_sandbox_settle_seconds", "Until a screen stood still", "kind")
        self._lost = Counter(
            "deskhand_sandbox_lost", "Sandboxes thrown away", ("kind", "reason"), registry=self._registry
        )
        self._refused = Counter(
            "deskhand_sandbox_call_errors", "Calls that raised", ("kind", "error"), registry=self._registry
        )
        self._now = Gauge(
            "deskhand_sandboxes", "Sandboxes and requests now", ("pool", "state"), registry=self._registry
        )

    def created(self, kind: str, seconds: float) -> None:
        """A sandbox was made."""
        self._create.labels(kind).observe(seconds)

    def leased(self, kind: str, seconds: float) -> None:
        """A request got its sandbox."""
        self._lease.labels(kind).observe(seconds)

    def called(self, kind: str, call: str, seconds: float) -> None:
        """A call ended well."""
        self._call.labels(kind, call).observe(seconds)

    def failed(self, kind: str, error: BaseException) -> None:
        """A call raised."""
        self._refused.labels(kind, type(error).__name__).inc()

    def settled(self, kind: str, seconds: float) -> None:
        """A screen stood still, or was taken at the settle deadline."""
        self._settle.labels(kind).observe(seconds)

    def lost(self, kind: str, reason: Lost) -> None:
        """A sandbox was thrown away."""
        self._lost.labels(kind, reason.value).inc()

    def exposition(self, pools: tuple[PoolStatus, ...]) -> bytes:
        """Everything in Prometheus' text format, with the pools as they are now."""
        for pool in pools:
            for state in ("leased", "idle", "creating", "closing", "queued"):
                self._now.labels(pool.name, state).set(getattr(pool, state))
        return generate_latest(self._registry)
