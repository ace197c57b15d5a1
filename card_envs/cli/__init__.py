"""``card-envs …``: the command line. Each command has a thin module that calls the package."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import card_envs
from card_envs.cli import agents, bench, games, play, replay, rules, speed, warm
from card_envs.console import allow_any_output
from card_envs.risk.cli import app as risk_app


class OneLineErrors(TyperGroup):
    """A group of commands that all fail alike: one line on stderr, exit code 2, no traceback."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        try:
            # without the standalone mode, exceptions arrive here and the code of an Exit is returned
            code = super().main(*args, **kwargs | {"standalone_mode": False})
        except typer.TyperException as error:  # wrong usage
            _fail(error.format_message())
        except ModuleNotFoundError as error:
            _fail(f"{error}: pip install 'card-envs[train]' brings what training and the Stable-Baselines3 interface need")
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except ValueError as error:  # a wrong name, value or record
            _fail(str(error))
        sys.exit(code or 0)


def _fail(message: str) -> NoReturn:
    """Print an error on one line and exit."""
    print("card-envs:", " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


app = typer.Typer(
    name="card-envs", cls=OneLineErrors, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(asked: bool) -> None:
    if asked:
        print(f"card-envs {card_envs.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Card games as reinforcement-learning environments."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("games")(games.list_games)
app.command("agents")(agents.show_agents)
app.command("rules")(rules.show_rules)
app.command("play")(play.play)
app.command("replay")(replay.replay)
app.command("bench", cls=bench.OptionalAddress)(bench.bench)
app.add_typer(risk_app)
app.command("speed")(speed.speed)
app.command("warm")(warm.warm)


def main() -> None:
    """Run the installed script."""
    allow_any_output()
    app(prog_name="card-envs")
