"""``make demo``: train a player of Pis Yedili for about two minutes, and show how it does against the built-in ones."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from train.rollouts import RolloutRun, start_run
from train.runs import AGENT

RUN = RolloutRun(
    "pis_yedili",
    players=2,
    deals=400_000,
    settings=["shard_deals=512"],  # many rounds: with few of them the network lags behind
    evaluate_every=100_000,
    evaluate_matches=2_000,
    report_matches=8_000,
    threads=2,
)


def find_free_directory() -> Path:
    """Return the first of runs/demo, runs/demo-2, … that does not exist yet."""
    return next(path for n in count(1) if not (path := Path("runs") / (f"demo-{n}" if n > 1 else "demo")).exists())


if __name__ == "__main__":
    out = find_free_directory()
    print(f"This is the same as {RUN.command} --out {out}")
    print(
        f"A network of 18,000 weights starts as the built-in player best, and learns from {RUN.deals:,} deals what each action"
        " is worth. This takes about two minutes on two cores."
    )
    start_run(RUN, out)
    print(f"Play against it: card-envs play pis_yedili --players 2 --against {out / AGENT}")
