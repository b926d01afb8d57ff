"""`make cluster-scale`: what the model of a cluster says about 10,000 runs on 500 workers, and about a small one."""

from __future__ import annotations

from typing import Final

from podium.simulate.cluster import Cluster, Load, Result, simulate_cluster

LARGE: Final = Load()
SMALL: Final = Load(runs=100, within_s=1.0, attempts=5, work_s=0.0)
CASES: Final[dict[str, tuple[Cluster, Load]]] = {
    "one server, one exchange": (Cluster(), LARGE),
    "four exchanges": (Cluster(exchanges=4), LARGE),
    "eight exchanges, 8 server cores": (Cluster(exchanges=8, servers=8), LARGE),
    "the same, 250 workers": (Cluster(exchanges=8, servers=8, workers=250), LARGE),
    "the same, server away for 30 s": (
        Cluster(exchanges=8, servers=8, outage_at_s=1800.0, outage_s=30.0),
        LARGE,
    ),
    "the same, server away for 90 s": (
        Cluster(exchanges=8, servers=8, outage_at_s=1800.0, outage_s=90.0),
        LARGE,
    ),
    "the same, each worker fails daily": (Cluster(exchanges=8, servers=8, failures_per_day=1.0), LARGE),
    "two workers, empty steps": (Cluster(workers=2, servers=1, failures_per_day=0.0), SMALL),
}


def row(name: str, result: Result) -> str:
    return (
        f"| {name} | {result.took_s / 60:.0f} min | {result.runs_per_minute:.0f} | {result.wait_s:.0f} / "
        f"{result.wait_95_s:.0f} s | {result.lost} ({result.lost_share:.2%}) | {result.server_busy:.0%} | "
        f"{result.exchange_busy:.0%} | {result.slots_busy:.0%} | {result.history_bytes / 1e6:.0f} MB | {result.most_refs:,} |"
    )


def main() -> None:
    print(
        "| cluster | all done in | runs/min | wait, mean / 95 % | lost | server | exchange | slots | histories | refs |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (cluster, load) in CASES.items():
        print(row(name, simulate_cluster(cluster, load)), flush=True)


if __name__ == "__main__":
    main()
