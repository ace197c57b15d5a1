"""Train an agent by proximal policy optimisation: ``python -m train.ppo flip7 --help``.

The learner is sb3-contrib's MaskablePPO on the native vector environment. It sits among other players, takes every seat in turn
and is asked only where there is a choice. The directory of the run gets

* ``best.safetensors`` and ``last.safetensors``: checkpoints, which are specs wherever a player is asked for,
* ``run.json`` and ``state.pt``: the arguments of the run and everything else that ``--resume`` needs,
* the scalars of TensorBoard (``tensorboard --logdir runs``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from card_envs.arena import derive_list_seed
from card_envs.console import allow_any_output
from card_envs.engine.game import Game, OptionValue
from card_envs.games import available_games, load_game
from card_envs.players import load_player, resolve, split_specs
from train.evaluation import evaluate, list_yardsticks, report_agent
from train.runs import ARGUMENTS, STATE, BadState, Run, Source, check_counts, find_run, list_typed, require, write_run
from train.settings import Settings, load_settings
from train.start import Start, find_start

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.envs.single_agent import Opponents
    from card_envs.players.network import Network
    from train.selves import Selves

EXTRA = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard")


@dataclass(frozen=True)
class Plan:
    """A run whose arguments have been checked and whose names have been resolved, before anything is made."""

    run: Run
    game: Game
    options: dict[str, OptionValue]
    settings: Settings
    opponents: list[str]
    start: Start
    steps: int  # a multiple of the decisions in a rollout
    judge: str  # the yardstick that tells which checkpoint is the best
    against: list[str]

    @classmethod
    def from_run(cls, run: Run, source: Source | None = None) -> Plan:
        """Check the arguments of a run, and where they were read, if they were not typed.

        Raises:
            ValueError: The message names what is wrong.
        """
        game = load_game(run.game)
        options = game.resolve(game.read_options(run.options, run.players))
        settings = load_settings(game, run.settings, warm_start=run.warm_start is not None)
        check_counts(run, steps=1)
        if run.self_play and run.opponents is not None:
            raise ValueError("--self-play and --opponents exclude each other, as in self-play the agent is its own opponent")
        opponents = [] if run.self_play else split_specs(run.opponents or game.default_opponent)
        others = int(options["players"]) - 1
        if len(opponents) not in ({0} if run.self_play else {1, others}):
            raise ValueError(f"--opponents: {len(opponents)} are named; allowed is one for all seats, or {others}")
        if run.imitate and run.warm_start is None:
            raise ValueError("--imitate needs --warm-start, which says who is imitated")
        if settings.pool and not run.self_play:
            raise ValueError(f"setting pool = {settings.pool}: earlier selves are there only with --self-play")
        begun = [] if run.warm_start is None else [run.warm_start]
        if source is not None:
            opponents = source.check(opponents, game, "opponents", run.opponents or "")
            begun = source.check(begun, game, "warm_start", run.warm_start or "")
        for spec in opponents:
            resolve(spec, game, options)
        first = [resolve(spec, game, options) for spec in begun]
        rollouts = -(-run.steps // settings.rollout)
        return cls(
            run,
            game,
            options,
            settings,
            opponents,
            start=find_start(first[0], game, imitate=run.imitate) if first else Start(),
            steps=rollouts * settings.rollout,
            judge=opponents[0] if len(set(opponents)) == 1 else game.default_opponent,
            against=list_yardsticks(game, *opponents),
        )

    @property
    def hidden(self) -> list[int]:
        """The widths of the hidden layers."""
        network = self.start.network
        return self.settings.hidden if network is None else [len(bias) for _, bias in network.layers[:-1]]

    @property
    def activation(self) -> str:
        """The activation after each hidden layer."""
        network = self.start.network
        return self.settings.activation if network is None else str(network.metadata["network"]["activation"])


def make_agent(plan: Plan, *, deterministic: bool = True) -> Network:
    """Make a player of the shape of the plan's policy, which does not yet play as it does."""
    from train.checkpoints import make_blank_network

    return make_blank_network(
        plan.game, plan.options, plan.hidden, plan.activation, plan.run.command, teacher=plan.start.teacher,
        deterministic=deterministic,
    )  # fmt: skip


def make_model(plan: Plan) -> tuple[MaskablePPO, Selves | None]:
    """Make a new model on its environment and, with ``--self-play``, those who sit opposite."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecMonitor

    from train.residual import ResidualPolicy
    from train.selves import Selves

    torch.set_num_threads(plan.run.threads)
    torch.distributions.Distribution.set_default_validate_args(False)  # these checks would take a tenth of the time
    s = plan.settings
    selves = None
    if plan.run.self_play:
        selves = Selves(lambda: make_agent(plan, deterministic=False), s.pool, s.pool_every)
    env = make_env(plan, plan.opponents if selves is None else selves.opponents)
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[plan.activation]
    model = MaskablePPO(
        "MlpPolicy" if plan.start.teacher is None else ResidualPolicy, VecMonitor(env), seed=plan.run.seed, device="cpu",
        n_steps=s.n_steps, batch_size=s.batch_size, n_epochs=s.n_epochs,
        learning_rate=make_falling_schedule(s.learning_rate, 0.0, plan), clip_range=s.clip_range, gamma=s.gamma,
        gae_lambda=s.gae_lambda, vf_coef=s.vf_coef, max_grad_norm=s.max_grad_norm,
        policy_kwargs={"net_arch": plan.hidden, "activation_fn": activation},
    )  # fmt: skip
    return model, selves


def make_env(plan: Plan, opponents: Opponents) -> CardVecEnv:
    """Make the environment to train in. Forced choices are played automatically, and the learner takes the seats in turn."""
    from card_envs.envs.sb3 import CardVecEnv

    if isinstance(opponents, list) and len(opponents) == 1:
        opponents = opponents[0]
    options: dict[str, Any] = plan.options
    s = plan.settings
    return CardVecEnv(
        plan.game.name, s.n_envs, opponents=opponents, auto_forced=True, reward=s.reward, episode=s.episode,
        teacher=plan.start.teacher, **options,
    )  # fmt: skip


def make_falling_schedule(start: float, end: float, plan: Plan) -> Callable[[float], float]:
    """Make a linear schedule for SB3, from ``start`` at the first update to ``end`` at one that would follow the last.

    SB3 calls it with the fraction of the steps that remains *after* the rollout, so the rollout itself is added.
    """
    one = plan.settings.rollout / plan.steps
    return lambda remaining: end + (start - end) * min(1.0, remaining + one)


def train(
    run: Run | Plan, out: Path, *, state: dict[str, Any] | None = None, console: Console, callbacks: list[Any] | None = None
) -> MaskablePPO:
    """Train into the directory ``out``, from the start or from a ``state`` of :func:`train.checkpoints.load_state`.

    Raises:
        BadState: The state is not one of this run.
    """
    from stable_baselines3.common.logger import configure

    from train.callbacks import Bar, EntropySchedule, Keeper, SelfPlay, WatchInputs
    from train.checkpoints import Layers, Part, copy_policy, restore_state
    from train.inputs import InputRanges, fold_constants
    from train.warm_start import warm_start

    plan = run if isinstance(run, Plan) else Plan.from_run(run)
    run, s, start = plan.run, plan.settings, plan.start
    model, selves = make_model(plan)
    model.set_logger(configure(str(out), ["tensorboard"]))
    ranges = InputRanges(plan.game.observation_size(plan.options))
    parts: dict[str, Part] = {"inputs": ranges} | ({} if selves is None else {"selves": selves})
    if state is not None:
        restore_state(model, state, parts)
    elif start.player is not None:
        env = make_env(plan, start.player if run.self_play else plan.opponents)  # in self-play that player sits opposite
        env.learner.reset(derive_list_seed("train", run.seed) + s.n_envs + np.arange(s.n_envs))  # other deals than those of PPO
        shown = warm_start(model, env.learner, start, run.warm_start or "", s, run.seed, console)
        if start.imitates:
            ranges.watch(shown.observation.numpy())
    if selves is not None and state is None:
        selves.begin(model)
    earlier = None if start.network is None else start.network.layers[0][0]

    def fold(layers: Layers) -> Layers:
        return fold_constants(layers, ranges, earlier)

    def on_tune(player: Network) -> dict[str, Any]:
        return evaluate(
            player, plan.game, plan.options, plan.against, board_list="tune", seed=run.seed, matches=run.evaluate_matches
        )

    keeper = Keeper(
        out, make_agent(plan), lambda model, agent: copy_policy(model, agent, fold), on_tune, every=run.evaluate_every,
        first=run.warm_start is not None, judge=plan.judge, best=None if state is None else state["best"], parts=parts,
        console=console,
    )  # fmt: skip
    bar = Bar(plan.steps, console)
    chain = [
        EntropySchedule(make_falling_schedule(s.ent_coef, s.ent_coef_end, plan), plan.steps),
        keeper,
        bar,
        WatchInputs(ranges),
        *([] if selves is None else [SelfPlay(selves)]),
        *(callbacks or []),
    ]
    try:
        model.learn(plan.steps - model.num_timesteps, callback=chain, reset_num_timesteps=state is None)
    finally:
        bar.progress.stop()
    return model


def load_best(plan: Plan, out: Path) -> Network:
    """Load the best checkpoint of a run. Of what it says of itself only the number of its steps is used.

    Raises:
        ValueError: The file is not a checkpoint of this run.
    """
    path = out / "best.safetensors"
    agent = load_player(path)
    agent.check(plan.game, plan.options)
    steps = agent.metadata["evaluation"].get("steps")
    if not isinstance(steps, int) or isinstance(steps, bool):
        raise ValueError(f"{path}: its evaluation does not say after how many steps it was made")
    return agent


def report(plan: Plan, agent: Network, out: Path, console: Console) -> None:
    """Measure the best checkpoint of a run: see :func:`train.evaluation.report_agent`."""
    steps = agent.metadata["evaluation"]["steps"]
    path, matches = out / "best.safetensors", plan.run.report_matches
    report_agent(agent, path, plan.game, plan.options, plan.against, matches=matches, console=console, steps=steps)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def main(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help=f"The game: {', '.join(available_games())}.", show_default=False)],
    players: Annotated[int | None, typer.Option(help="Players at the table.", show_default="the default of the game")] = None,
    opponents: Annotated[
        str | None,
        typer.Option(
            help="The players opposite the learner: one spec for all seats, or a list with one for each seat, clockwise."
            " A spec is a built-in policy, module:factory or a .safetensors file.",
            show_default="the default opponent of the game",
        ),
    ] = None,
    self_play: Annotated[
        bool,
        typer.Option("--self-play", help="Learn against the current policy itself, and against earlier ones: --set pool=8."),
    ] = False,
    warm_start: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Begin as this player: with the weights of a checkpoint of this program, residual on a built-in player, or by"
            " imitating any other.",
            show_default="random weights",
        ),
    ] = None,
    imitate: Annotated[bool, typer.Option("--imitate", help="Imitate the player of --warm-start in any case.")] = False,
    steps: Annotated[int, typer.Option(help="Decisions to learn from, rounded up to whole rollouts.")] = Run.steps,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the game, such as brutal=true; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Replace a setting of train/settings.toml, such as n_envs=32; repeatable.",
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
    ] = Run.report_matches,
    threads: Annotated[int, typer.Option(help="Threads of the network's arithmetic.")] = Run.threads,
) -> None:
    """Train an agent for GAME, measure it while it learns, and report how it does on deals that it was not chosen by."""
    run = Run(
        game, players, opponents, self_play, warm_start, imitate, steps, option or [], set_ or [], seed, evaluate_every,
        evaluate_matches, report_matches, threads,
    )  # fmt: skip
    start(run, out, resume=resume, given=list_typed(context))


def start(run: Run, out: Path | None, *, resume: bool = False, given: list[str] | None = None) -> None:
    """Train and report. Bad input ends the program with one line and exit code 2."""
    console = Console()
    try:
        plan = Plan.from_run(run)
        state = None
        out = out or Path("runs") / run.game
        require(EXTRA)
        if resume:
            from train.checkpoints import load_state

            run = find_run(run, out, given or [])
            state = load_state(out / STATE) if (out / STATE).exists() else None
            plan = Plan.from_run(run, Source(out / ARGUMENTS, given or []))
        write_run(run, out, resume=resume)
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
        train(plan, out, state=state, console=console)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: go on with python -m train.ppo {run.game} --out {out} --resume", err=True)
        raise typer.Exit(130) from None
    except BadState as error:
        typer.echo(f"error: {out / STATE}: {error}", err=True)
        raise typer.Exit(2) from None
    try:
        agent = load_best(plan, out)
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    report(plan, agent, out, console)


if __name__ == "__main__":
    allow_any_output()
    sys.exit(app())
