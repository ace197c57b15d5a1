"""Train a scorer of actions by rollouts: ``python -m train.rollouts pis_yedili --help``.

This is approximate policy iteration (Tesauro and Galperin 1996; Bertsekas 2013). At many decisions of a learner, the match is
forked once for every legal action, and a compiled player plays each of the copies on to the end of the deal. What the actions
are worth then, less their mean, is the label of the decision. A small network that scores one action at a time, from the
features of the action, is fitted to the labels by squared error. It starts as a copy of a built-in player, its *teacher*, and
the moving average of its weights plays on.

A run is a number of rounds. While the network learns from the labels of one round, workers make those of the next one, with
the weights from before; so the result depends neither on their number nor on their speed. The directory of the run gets

* ``agent.safetensors``: the checkpoint, a spec wherever a player is asked for,
* ``run.json`` and ``state.pt``: the arguments of the run and everything else that ``--resume`` needs,
* the scalars of TensorBoard (``tensorboard --logdir runs``).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from card_envs.console import allow_any_output
from card_envs.engine.checks import check_value
from card_envs.engine.game import Game, OptionValue
from card_envs.games import available_games, load_game
from card_envs.players import Player, resolve, split_specs
from card_envs.players.network import Network
from card_envs.players.player import Bindable, BuiltIn
from train.evaluation import list_yardsticks, report_agent
from train.labels import ShardTask
from train.rollout_settings import RolloutSettings, load_rollout_settings
from train.runs import (
    AGENT,
    ARGUMENTS,
    REPORT_MATCHES,
    STATE,
    Arguments,
    BadState,
    Source,
    check_counts,
    find_run,
    list_typed,
    require,
    write_run,
)

if TYPE_CHECKING:
    from train.scorer import Learner, Scorer

SELF = "self"  # in place of a spec: the network that learns
EXTRA = ("torch", "tensorboard")


@dataclass(frozen=True)
class RolloutRun(Arguments):
    """The arguments of ``train.rollouts``."""

    module = "train.rollouts"
    may_change = ("report_matches", "threads", "ray")

    players: int | None = None
    start: str | None = None
    opponents: str | None = None
    rollout: str | None = None
    deals: int = 1_000_000
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    seed: int = 0
    evaluate_every: int = 100_000
    evaluate_matches: int = 4_000
    report_matches: int = REPORT_MATCHES
    threads: int = 1
    ray: str | None = None


@dataclass(frozen=True)
class Plan:
    """A run whose arguments have been checked and whose names have been resolved, before anything is made.

    Attributes:
        start: The player as which the network starts.
        teacher: The built-in player on which the network is residual.
        opponents: Who may sit opposite; ``None`` is the network itself.
        rollout: Who plays on from labelled actions in all seats; ``None`` if everybody does so as they really play.
        rounds: How many rounds there are.
        against: The players against whom the network is measured.
    """

    run: RolloutRun
    game: Game
    options: dict[str, OptionValue]
    settings: RolloutSettings
    start: BuiltIn | Network
    teacher: BuiltIn
    opponents: list[Player | None]
    rollout: Bindable | None
    rounds: int
    against: list[str]
    judges: list[str]  # those of them against whom it is measured while it learns

    @property
    def deals(self) -> int:
        """How many deals there are."""
        return self.rounds * self.settings.round_deals

    @classmethod
    def from_run(cls, run: RolloutRun, source: Source | None = None) -> Plan:
        """Check the arguments of a run, and where they were read, if they were not typed.

        Raises:
            ValueError: The message names what is wrong.
        """
        game = load_game(run.game)
        options = game.resolve(game.read_options(run.options, run.players))
        settings = load_rollout_settings(game, run.settings)
        check_counts(run, deals=1)
        if game.action_features is None:
            raise ValueError(f"{game.name} has no action features, which a scorer needs")
        check_value(settings.value, game)

        def check(argument: str, text: str) -> list[str]:
            """Return the specs of an argument as they are to be resolved."""
            specs = split_specs(text) if argument == "opponents" else [text]
            if source is None:
                return specs
            return [spec if spec == SELF else source.check([spec], game, argument, text)[0] for spec in specs]

        def find_compiled(argument: str, spec: str) -> BuiltIn | Network:
            player = resolve(spec, game, options)
            if not isinstance(player, Bindable):
                raise ValueError(f"--{argument} {spec}: a built-in player or a checkpoint is expected, which runs compiled")
            return cast(BuiltIn | Network, player)

        first = check("start", run.start)[0] if run.start else find_strongest(game)
        start = find_compiled("start", first)
        specs = [first, SELF] if run.opponents is None else check("opponents", run.opponents)
        rollout = None
        if run.rollout != SELF:
            rollout = find_compiled("rollout", check("rollout", run.rollout)[0] if run.rollout else first)
        if rollout is None:
            for spec in set(specs) - {SELF}:
                find_compiled("opponents", spec)
        return cls(
            run,
            game,
            options,
            settings,
            start,
            teacher=find_teacher(start, game, options),
            opponents=[None if spec == SELF else resolve(spec, game, options) for spec in specs],
            rollout=rollout,
            rounds=-(-run.deals // settings.round_deals),
            against=list_yardsticks(game, find_strongest(game), first),
            judges=list(dict.fromkeys([find_strongest(game), first])),
        )


def find_strongest(game: Game) -> str:
    """Return the name of the strongest built-in player that a network can start as: the last one in the game's own list."""
    return game.policies[-1].name


def find_teacher(start: BuiltIn | Network, game: Game, options: dict[str, OptionValue]) -> BuiltIn:
    """Return the built-in player on which a network that starts as this one is residual.

    Raises:
        ValueError: It is a checkpoint of another form, or with another activation than the learner's.
    """
    if not isinstance(start, Network):
        return start
    about = start.metadata["network"]
    if about["form"] != "scorer":
        raise ValueError(f"--start {start.name}: a network that scores actions is expected")
    if about["activation"] != "relu":
        raise ValueError(f"--start {start.name}: a network with the activation relu is expected, not {about['activation']}")
    return cast(BuiltIn, start.find_teacher(game))  # every scorer has one


def list_tasks(plan: Plan, number: int, student: Network) -> list[ShardTask]:
    """List the shards of a round."""
    s = plan.settings
    return [
        ShardTask(
            game=plan.game, options=plan.options, seed=plan.run.seed, number=number * s.shards + shard, deals=s.shard_deals,
            episode=s.episode, value=s.value, student=student, opponents=plan.opponents, weights=[1.0] * len(plan.opponents),
            rollout=plan.rollout, decks=s.decks, labelled=s.labelled, teacher_share=s.teacher_share,
            random_share=s.random_share, candidates=s.candidates,
        )
        for shard in range(s.shards)
    ]  # fmt: skip


def make_plan_learner(plan: Plan) -> Learner:
    """Make the learner of a run, which plays as the plan's ``start`` does."""
    from train.scorer import make_learner

    s = plan.settings
    hidden = [len(bias) for _, bias in plan.start.layers[:-1]] if isinstance(plan.start, Network) else s.hidden
    learner = make_learner(
        plan.game, plan.options, hidden, learning_rate=s.learning_rate, weight_decay=s.weight_decay, average=s.average,
        batch_size=s.batch_size, seed=plan.run.seed,
    )  # fmt: skip
    if isinstance(plan.start, Network):
        learner.take_weights(plan.start)
    return learner


def train(plan: Plan, out: Path, *, state: dict[str, Any] | None = None, console: Console) -> Network:
    """Train into the directory ``out``, from the start or from a ``state`` of :func:`train.scorer.load_state`.

    Returns:
        The player that the moving average of the weights makes at the end.

    Raises:
        BadState: The state is not one of this run.
    """
    import torch

    from train.progress import Keeper
    from train.scorer import make_network, restore_state
    from train.workers import open_workers

    torch.set_num_threads(1)  # the last bits of sums depend on the number of threads
    learner = make_plan_learner(plan)
    earlier, done = learner.average, 0
    if state is not None:
        earlier, done = restore_state(learner, state), state["rounds"]
        if done > plan.rounds:
            raise BadState(f"this is not a state of this run ({done:,} rounds are done, but it has {plan.rounds:,})")

    def make_student(scorer: Scorer) -> Network:
        return make_network(scorer, plan.game, plan.options, plan.teacher, plan.run.command)

    with open_workers(plan.run.threads, plan.run.ray) as workers, Keeper(plan, out, console, done) as keeper:
        tasks = list_tasks(plan, done, make_student(earlier)) if done < plan.rounds else []
        wait = workers.submit(tasks)
        for number in range(done, plan.rounds):
            labels = wait()
            earlier = copy.deepcopy(learner.average)
            if number + 1 < plan.rounds:
                wait = workers.submit(list_tasks(plan, number + 1, make_student(earlier)))
            loss = learner.learn(labels, number, plan.settings.passes, find_learning_rate(number / plan.rounds))
            keeper.after_round(learner, earlier, labels, loss, make_student(learner.average))
    return make_student(learner.average)


def find_learning_rate(progress: float) -> float:
    """Return the share of the learning rate after a share of the run: all of it for a while, then linearly less."""
    return min(1.0, max(0.02, 1.4 * (1.0 - progress)))


def report(plan: Plan, agent: Network, out: Path, console: Console) -> None:
    """Measure the trained player: see :func:`train.evaluation.report_agent`."""
    path, matches = out / AGENT, plan.run.report_matches
    report_agent(agent, path, plan.game, plan.options, plan.against, matches=matches, console=console, deals=plan.deals)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def main(
    context: typer.Context,
    game: Annotated[str, typer.Argument(help=f"The game: {', '.join(available_games())}.", show_default=False)],
    players: Annotated[int | None, typer.Option(help="Players at the table.", show_default="the default of the game")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The player as which the network starts: a built-in player, or a checkpoint of an earlier run.",
            show_default="the strongest built-in player",
        ),
    ] = None,
    opponents: Annotated[
        str | None,
        typer.Option(
            help="Who sits opposite: specs, equally often, one kind at each table; self is the network that learns.",
            show_default="--start and self",
        ),
    ] = None,
    rollout: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Who plays on from a labelled action; self: everybody as they really play.",
            show_default="--start",
        ),
    ] = None,
    deals: Annotated[int, typer.Option(help="Deals to learn from, rounded up to whole rounds.")] = RolloutRun.deals,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the game, such as brutal=true; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Replace a setting of train/rollouts.toml, such as decks=1; repeatable."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new directory for the run.", show_default="runs/GAME")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, with its own arguments, from its last state.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything: weights, deals, choices.")] = RolloutRun.seed,
    evaluate_every: Annotated[int, typer.Option(help="Deals between evaluations.")] = RolloutRun.evaluate_every,
    evaluate_matches: Annotated[
        int, typer.Option(help="Matches against the start in an evaluation (deals 'tune').")
    ] = RolloutRun.evaluate_matches,
    report_matches: Annotated[
        int, typer.Option(help="Matches against each yardstick in the final report (deals 'report').")
    ] = RolloutRun.report_matches,
    threads: Annotated[int, typer.Option(help="Threads that make labels; another one learns.")] = RolloutRun.threads,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Make labels on the Ray cluster at this address, or on a new one: local."),
    ] = None,
) -> None:
    """Train a network that scores the actions of GAME, by rollouts, and report how it does on deals that it has not seen."""
    run = RolloutRun(
        game, players, start, opponents, rollout, deals, option or [], set_ or [], seed, evaluate_every, evaluate_matches,
        report_matches, threads, ray,
    )  # fmt: skip
    start_run(run, out, resume=resume, given=list_typed(context))


def start_run(run: RolloutRun, out: Path | None, *, resume: bool = False, given: list[str] | None = None) -> None:
    """Train and report. Bad input ends the program with one line and exit code 2."""
    console = Console()
    folder = out or Path("runs") / run.game
    run_plan(
        lambda: run,
        folder,
        lambda plan, agent: report(plan, agent, folder, console),
        console,
        given=given if resume else None,
    )


def run_plan(
    make_run: Callable[[], RolloutRun],
    out: Path,
    finish: Callable[[Plan, Network], None],
    console: Console,
    *,
    given: list[str] | None = None,
) -> None:
    """Carry out a run, in a new directory or on from its last state. Bad input ends the program with one line, exit code 2.

    Args:
        make_run: Makes the arguments of the run. It may raise ``ValueError``.
        out: The directory of the run.
        finish: Takes the plan and the trained player at the end.
        console: Where progress is shown.
        given: To go on with a run, the names of the arguments that were typed.
    """
    try:
        run = make_run()
        state = None
        if given is None:
            plan = Plan.from_run(run)
        else:
            run = find_run(run, out, given)
            plan = Plan.from_run(run, Source(out / ARGUMENTS, given))
        require(EXTRA)
        if run.ray is not None:
            require(["ray"], "ray")
        if given is not None and (out / STATE).exists():
            from train.scorer import load_state

            state = load_state(out / STATE)
        write_run(run, out, resume=given is not None)
        done = "" if state is None else f", {state['rounds'] * plan.settings.round_deals:,} of them done"
        console.print(
            f"{plan.game.title}, {plan.options['players']} players, starting as {plan.start.name}: {plan.deals:,} deals{done};"
            f" into {out}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
        agent = train(plan, out, state=state, console=console)
    except KeyboardInterrupt:
        again = f": go on with python -m train.rollouts {run.game} --out {out} --resume" if (out / STATE).exists() else ""
        typer.echo(f"interrupted{again}", err=True)
        raise typer.Exit(130) from None
    except ValueError as error:
        where = f"{out / STATE}: " if isinstance(error, BadState) else ""
        typer.echo(f"error: {where}{error}", err=True)
        raise typer.Exit(2) from None
    finish(plan, agent)


if __name__ == "__main__":
    allow_any_output()
    sys.exit(app())
