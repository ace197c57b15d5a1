"""Train an agent by proximal policy optimisation: ``python -m train.ppo flip7 --help``.

sb3-contrib's MaskablePPO on the native vector environment: one learner among other players, who takes every seat in turn and is
asked only where there is a choice. The run's directory gets

* ``best.safetensors``, ``last.safetensors``: checkpoints, specs for any place that takes a player,
* ``run.json``, ``state.pt``: the run's arguments and all that the rest of it depends on, for ``--resume``,
* TensorBoard's scalars (``tensorboard --logdir runs``).
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from card_envs.arena import derive_list_seed
from card_envs.engine.game import Game, OptionValue
from card_envs.games import available_games, load_game
from card_envs.players import load_player, resolve, split_specs
from card_envs.players.network import save_network, write_atomically
from train.evaluation import as_metadata, as_table, evaluate, yardsticks
from train.settings import Settings, settings_of

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.envs.single_agent import Opponents
    from card_envs.players.network import Network

REPORT_MATCHES = 10_000
EXTRA = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard")


@dataclass(frozen=True)
class Run:
    """The arguments of a run, as the command line gives them: all that makes it what it is."""

    game: str
    players: int | None = None
    opponents: str | None = None
    self_play: bool = False
    warm_start: str | None = None
    steps: int = 1_000_000
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    seed: int = 0
    evaluate_every: int = 200_000
    evaluate_matches: int = 2_000
    threads: int = 1

    @property
    def command(self) -> str:
        """The command that makes this run again."""
        words = ["python", "-m", "train.ppo", self.game]
        plain = Run(self.game)
        for name, value in asdict(self).items():
            if value == getattr(plain, name):
                continue
            flag = {"options": "--option", "settings": "--set"}.get(name, "--" + name.replace("_", "-"))
            for one in value if isinstance(value, list) else [value]:
                words += [flag] if one is True else [flag, str(one)]
        return shlex.join(words)


@dataclass(frozen=True)
class Plan:
    """A run, checked: names resolved, nothing made yet. ``ValueError`` names what is wrong with it."""

    run: Run
    game: Game
    options: dict[str, OptionValue]
    settings: Settings
    opponents: list[str]
    steps: int  # whole rollouts
    judge: str  # the yardstick that tells which checkpoint is the best
    against: list[str]

    @classmethod
    def of(cls, run: Run) -> Plan:
        game = load_game(run.game)
        options = game.resolve(game.read_options(run.options, run.players))
        settings = settings_of(game, run.settings, warm_start=run.warm_start is not None)
        for name, least in (("steps", 1), ("evaluate_every", 1), ("evaluate_matches", 100), ("threads", 1), ("seed", 0)):
            value = getattr(run, name)
            if not least <= value < 2**32:
                raise ValueError(f"--{name.replace('_', '-')} {value}: allowed is a whole number from {least} to 2**32 - 1")
        if run.self_play and run.opponents is not None:
            raise ValueError("--self-play and --opponents exclude each other: the opponents are the agent itself, or others")
        opponents = [] if run.self_play else split_specs(run.opponents or game.default_opponent)
        others = int(options["players"]) - 1
        if len(opponents) not in ({0} if run.self_play else {1, others}):
            raise ValueError(f"--opponents: {len(opponents)} are named, allowed are one for all seats, or {others}")
        for spec in [*opponents, *([] if run.warm_start is None else [run.warm_start])]:
            resolve(spec, game, options)
        rollouts = -(-run.steps // settings.rollout)
        judge = opponents[0] if len(set(opponents)) == 1 else game.default_opponent
        return cls(run, game, options, settings, opponents, rollouts * settings.rollout, judge, yardsticks(game, *opponents))


def make_model(plan: Plan) -> tuple[MaskablePPO, Network | None]:
    """A new model on its environment, and with ``--self-play`` the network that sits opposite."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecMonitor

    from train.checkpoints import blank_network, layers_of

    torch.set_num_threads(plan.run.threads)
    torch.distributions.Distribution.set_default_validate_args(False)  # checks of every batch, a tenth of the time
    s = plan.settings
    opponent = None
    if plan.run.self_play:
        opponent = blank_network(plan.game, plan.options, s.hidden, s.activation, deterministic=False)
    env = make_env(plan, opponent or plan.opponents)
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[s.activation]
    model = MaskablePPO(
        "MlpPolicy", VecMonitor(env), seed=plan.run.seed, device="cpu", n_steps=s.n_steps, batch_size=s.batch_size,
        n_epochs=s.n_epochs, learning_rate=falling(s.learning_rate, 0.0, plan), clip_range=s.clip_range, gamma=s.gamma,
        gae_lambda=s.gae_lambda, vf_coef=s.vf_coef, max_grad_norm=s.max_grad_norm,
        policy_kwargs={"net_arch": s.hidden, "activation_fn": activation},
    )  # fmt: skip
    if opponent is not None:
        opponent.layers = layers_of(model)
    return model, opponent


def make_env(plan: Plan, opponents: Opponents) -> CardVecEnv:
    """The environment that is trained in: forced choices are not asked for, the seats take turns."""
    from card_envs.envs.sb3 import CardVecEnv

    if isinstance(opponents, list) and len(opponents) == 1:
        opponents = opponents[0]
    options: dict[str, Any] = plan.options
    s = plan.settings
    return CardVecEnv(plan.game.name, s.n_envs, opponents=opponents, auto_forced=True, reward=s.reward, **options)


def falling(start: float, end: float, plan: Plan) -> Callable[[float], float]:
    """A schedule for SB3: the first update has ``start``, one after the last would have ``end``, in between it is linear.

    SB3 asks with the part of the steps that remains *after* the rollout: the rollout itself is added.
    """
    one = plan.settings.rollout / plan.steps
    return lambda remaining: end + (start - end) * min(1.0, remaining + one)


def train(
    run: Run, out: Path, *, state: dict[str, Any] | None = None, console: Console, callbacks: list[Any] | None = None
) -> MaskablePPO:
    """Train into the directory ``out``, from the start or from a ``state`` of :func:`train.checkpoints.load_state`."""
    from stable_baselines3.common.logger import configure

    from train.callbacks import Bar, EntropySchedule, Keeper, SelfPlay
    from train.checkpoints import blank_network, restore_state
    from train.warm_start import warm_start

    plan = Plan.of(run)
    s = plan.settings
    model, opponent = make_model(plan)
    model.set_logger(configure(str(out), ["tensorboard"]))
    if state is not None:
        restore_state(model, state)
    elif run.warm_start is not None:
        player = resolve(run.warm_start, plan.game, plan.options)
        env = make_env(plan, player if run.self_play else plan.opponents)  # what it becomes sits opposite in self-play
        env.learner.reset(derive_list_seed("train", run.seed) + s.n_envs + np.arange(s.n_envs))  # the deals beside PPO's
        warm_start(model, env.learner, player, run.warm_start, s, run.seed, console)
    agent = blank_network(plan.game, plan.options, s.hidden, s.activation, run.command)

    def on_tune(player: Network) -> dict[str, Any]:
        return evaluate(
            player, plan.game, plan.options, plan.against, board_list="tune", seed=run.seed, matches=run.evaluate_matches
        )

    keeper = Keeper(
        out, agent, on_tune, every=run.evaluate_every, first=run.warm_start is not None, judge=plan.judge,
        best=None if state is None else state["best"], console=console,
    )  # fmt: skip
    bar = Bar(plan.steps, console)
    chain = [EntropySchedule(falling(s.ent_coef, s.ent_coef_end, plan), plan.steps), keeper, bar, *(callbacks or [])]
    if opponent is not None:
        chain.append(SelfPlay(opponent))
    try:
        model.learn(plan.steps - model.num_timesteps, callback=chain, reset_num_timesteps=state is None)
    finally:
        bar.progress.stop()
    return model


def report(out: Path, matches: int, console: Console) -> None:
    """Measure a run's best checkpoint on deals that nothing was chosen by, print it, and store it in the checkpoint."""
    path = out / "best.safetensors"
    agent = load_player(path)
    about = agent.metadata
    game = load_game(about["game"])
    against = list(about["evaluation"]["share"])
    duels = evaluate(agent, game, about["options"], against, board_list="report", seed=0, matches=matches)
    steps = about["evaluation"]["steps"]
    agent.metadata["evaluation"] = as_metadata(duels, steps=steps, deal_list="report", matches=matches)
    save_network(path, agent)
    players = about["options"]["players"]
    console.print(f"{path} in {game.title}, {players} players, alone among others:", highlight=False, soft_wrap=True)
    console.print(as_table(duels))


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def main(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help=f"The game: {', '.join(available_games())}.", show_default=False)],
    players: Annotated[int | None, typer.Option(help="How many sit at the table.", show_default="the game's default")] = None,
    opponents: Annotated[
        str | None,
        typer.Option(
            help="Who sits opposite the learner: one spec for all seats, or a list with commas, one for each seat clockwise."
            " A spec is a built-in policy, module:factory or a .safetensors file.",
            show_default="the game's default opponent",
        ),
    ] = None,
    self_play: Annotated[bool, typer.Option("--self-play", help="Learn against the current policy itself.")] = False,
    warm_start: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="First imitate this player, a spec like the opponents', and learn on from there.",
            show_default="from nothing",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Decisions to learn from, rounded up to whole rollouts.")] = Run.steps,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the game, as brutal=true. May be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting in place of train/settings.toml's, as n_envs=32. May be repeated."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new directory for the run.", show_default="runs/GAME")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, with its own arguments, from its last rollout.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything: weights, deals, choices.")] = Run.seed,
    evaluate_every: Annotated[int, typer.Option(help="Decisions between evaluations.")] = Run.evaluate_every,
    evaluate_matches: Annotated[
        int, typer.Option(help="Matches against each yardstick in an evaluation (deals 'tune').")
    ] = Run.evaluate_matches,
    report_matches: Annotated[
        int, typer.Option(help="Matches against each yardstick in the final report (deals 'report').")
    ] = REPORT_MATCHES,
    threads: Annotated[int, typer.Option(help="Threads of the network's arithmetic.")] = Run.threads,
) -> None:
    """Train an agent for a GAME, measure it while it learns, and report how it does on deals that it was not chosen by."""
    run = Run(
        game, players, opponents, self_play, warm_start, steps, option or [], set_ or [], seed, evaluate_every,
        evaluate_matches, threads,
    )  # fmt: skip
    given = [name for name in context.params if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    start(run, out, resume=resume, given=given, report_matches=report_matches)


def start(
    run: Run, out: Path | None, *, resume: bool = False, given: list[str] | None = None, report_matches: int = REPORT_MATCHES
) -> None:
    """Train and report; bad input ends the program with one line and code 2."""
    console = Console()
    try:
        plan = Plan.of(run)
        if not 100 <= report_matches < 2**32:
            raise ValueError(f"--report-matches {report_matches}: allowed is a whole number from 100")
        state = None
        out = out or Path("runs") / run.game
        missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
        if missing:
            raise ValueError(f"training needs {', '.join(missing)}: pip install -e '.[train]'")
        if resume:
            state, run = _found(run, out, given or [])
            plan = Plan.of(run)
        elif out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ValueError(f"--out {out} exists: choose another, or go on with its run by --resume")
        try:
            out.mkdir(parents=True, exist_ok=True)
            write_atomically(out / "run.json", json.dumps(asdict(run)).encode())
        except OSError as error:
            raise ValueError(f"--out {out} cannot be written ({error.strerror})") from None
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    done = "" if state is None else f", {state['num_timesteps']:,} of them done"
    against = "itself" if run.self_play else ", ".join(plan.opponents)
    console.print(
        f"{plan.game.title}, {plan.options['players']} players, against {against}: {plan.steps:,} decisions{done}; into {out}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    try:
        train(run, out, state=state, console=console)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: go on with python -m train.ppo {run.game} --out {out} --resume", err=True)
        raise typer.Exit(130) from None
    report(out, report_matches, console)


def _found(run: Run, out: Path, given: list[str]) -> tuple[dict[str, Any] | None, Run]:
    """The state of the run in ``out``, if it got that far, and its arguments; whoever names others is told."""
    from train.checkpoints import load_state

    path = out / "run.json"
    if not path.is_file():
        raise ValueError(f"--resume: there is no run in {out} (no run.json)")
    try:
        found = Run(**json.loads(path.read_bytes()))
    except (ValueError, TypeError):
        raise ValueError(f"{path}: these are no arguments of a training run") from None
    names = {"option": "options", "set_": "settings"}
    for name in given:
        mine, its = (getattr(r, names.get(name, name), None) for r in (run, found))
        if mine != its:
            raise ValueError(f"--resume: the run in {out} has {names.get(name, name)} = {its!r}, not {mine!r}")
    state = out / "state.pt"
    return load_state(state) if state.exists() else None, found


if __name__ == "__main__":
    sys.exit(app())
