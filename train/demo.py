"""``make demo``: train an agent for Flip 7 with two players for about two minutes, and show how it does."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from train.ppo import start
from train.runs import Run

RUN = Run(
    "flip7",
    players=2,
    opponents="ev",
    warm_start="ev",
    imitate=True,
    steps=500_000,
    evaluate_every=250_000,
    evaluate_matches=4_000,
)


def find_free_directory() -> Path:
    """Return the first of runs/demo, runs/demo-2, … that does not exist yet."""
    return next(path for n in count(1) if not (path := Path("runs") / (f"demo-{n}" if n > 1 else "demo")).exists())


if __name__ == "__main__":
    out = find_free_directory()
    print(f"This is the same as {RUN.command} --out {out}")
    print(
        f"The agent imitates {RUN.warm_start}, then learns from {RUN.steps:,} decisions of its own."
        " This takes about two minutes on two cores."
    )
    start(RUN, out)
    print(f"Play against it: card-envs play flip7 --players 2 --against {out}/best.safetensors")
