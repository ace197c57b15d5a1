"""The structure of the package: which way imports point, that private names stay private, that nothing shadows a module."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import card_envs

ROOT = Path(__file__).parent.parent
FILES = sorted(path for folder in ("card_envs", "agents", "train") for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(card_envs.__path__, "card_envs.") if not module.name.endswith("__main__")
)

# Each folder may import from those before it.
LAYERS = (("engine",), ("games", "render"), ("players",), ("envs",), ("arena", "risk"), ("cli",))
# What a game may import of the engine.
FOR_GAMES = {"bits", "game", "jitable", "random", "picture"}
# Public by their documentation: `collections.namedtuple`.
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
# Attributes of Stable-Baselines3 without which a training run could not go on to the bit; the place of a cache in numba;
# what numba's documentation calls for where code is generated; what the standard library calls private and documents.
OF_LIBRARIES = {
    "train/checkpoints.py": {"_last_episode_starts", "_last_obs", "_n_updates", "_stats_window_size"},
    "card_envs/engine/code_cache.py": {"_cache"},
    "card_envs/engine/jitable.py": {"_getvalue"},
    "card_envs/engine/warming.py": {"_exit"},
}
LONGEST = 400  # lines of a module


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def named_here(tree: ast.Module) -> set[str]:
    """The private names that a module defines: its own, and those of its classes and their instances."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The private names that a module uses, with their lines; what an object takes from itself or its base class is its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from ((node.lineno, alias.name) for alias in node.names if is_private(alias.name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_file_touches_a_private_name_of_another_module(path):
    tree = parse(path)
    allowed = named_here(tree) | OF_TUPLES | OF_LIBRARIES.get(path.relative_to(ROOT).as_posix(), set())
    touched = [f"line {line}: {name}" for line, name in private_names(tree) if name not in allowed]
    assert not touched, f"{path.relative_to(ROOT)} touches private names of other modules: {touched}"


def imports_of(path: Path) -> set[str]:
    """The modules of the package that a module imports when it is imported itself."""
    names = set()
    for node in parse(path).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith(("card_envs", "agents", "train"))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    top, *rest = path.relative_to(ROOT).parts
    imported = imports_of(path)
    if top == "agents":
        assert not any(name.startswith("train") for name in imported)
    if top != "card_envs" or len(rest) == 1:
        return
    assert not any(name.startswith(("agents", "train")) for name in imported)
    rank = next(number for number, layer in enumerate(LAYERS) if rest[0] in layer)
    above = {folder for layer in LAYERS[rank + 1 :] for folder in layer} | {
        folder for folder in LAYERS[rank] if folder != rest[0] and rest[0] in ("engine", "games", "players", "envs")
    }
    wrong = [name for name in imported if name.count(".") and name.split(".")[1] in above]
    assert not wrong, f"{path.relative_to(ROOT)} imports from above: {wrong}"
    if rest[0] == "games" and len(rest) > 2:
        engine = {name.split(".")[2] for name in imported if name.startswith("card_envs.engine.")}
        assert engine <= FOR_GAMES, f"{path.relative_to(ROOT)} imports {engine - FOR_GAMES} of the engine"
        others = {name.split(".")[2] for name in imported if name.startswith("card_envs.games.")} & set(
            card_envs.available_games()
        )
        assert others <= {rest[1]}, f"{path.relative_to(ROOT)} imports another game"


def test_no_modules_import_each_other():
    by_name = {module: Path(str(importlib.import_module(module).__file__)) for module in MODULES}
    imported = {module: imports_of(path) & set(by_name) for module, path in by_name.items()}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " imports ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for other in imported[module]:
                if other != module and not module.startswith(f"{other}."):  # a package is there before its modules
                    visit(other, (*trail, module))
            done.add(module)

    for module in by_name:
        visit(module, ())


@pytest.mark.parametrize("name", MODULES)
def test_nothing_shadows_a_module(name):
    package, _, last = name.rpartition(".")
    module = importlib.import_module(name)
    assert isinstance(module, ModuleType)
    assert getattr(importlib.import_module(package), last) is module, f"{package} has another {last} than its module"


@pytest.mark.parametrize("path", FILES + TESTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_are_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{path.relative_to(ROOT)} has {lines} lines"


def test_a_player_is_asked_in_one_place():
    """Nobody but the module that makes them asks whether a player is a built-in one."""
    asking = [
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        and "BuiltIn" in ast.unparse(node)
    ]  # fmt: skip
    assert not asking
