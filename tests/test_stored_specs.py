"""Specs: those that a stranger's file holds run no code, and a typed one is refused in one line if it is wrong."""

from __future__ import annotations

import random
import shutil
import string
from pathlib import Path
from types import SimpleNamespace

import pytest

import card_envs
from card_envs.players import Player, check_stored, resolve, resolve_policy, resolve_stored

GAME = card_envs.load_game("flip7")
ROOT = Path(card_envs.__file__).parents[1]


def refusal(spec: object, **stored: object) -> str:
    """The one line by which a spec is refused."""
    with pytest.raises(ValueError) as caught:
        resolve_stored(spec, GAME, **stored) if stored else resolve(spec, GAME)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 800
    return text


def test_a_spec_from_a_file_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, item 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harm.py").write_text("open('harmed', 'w')\ndef player(): raise SystemExit\n")
    file = tmp_path / "run.json"
    for spec in (
        "os:system('touch harmed')",
        "harm:player",
        "harm:player()",
        " harm:player ",
        "subprocess:run(['touch', 'harmed'])",
    ):
        text = refusal(spec, file=file, flag="--opponents X")
        assert "runs code" in text
        assert "type --opponents X" in text
    for spec in (None, 3, ["ev"], {"ev": 1}, "", "ev\n", "nobody", "../ev", "ev(", "ev(__import__('os'))", "harm.player"):
        if spec != "ev\n":
            refusal(spec, file=file, flag="--opponents X")
    assert not (tmp_path / "harmed").exists()
    for spec in ("random", "risk(.2)", "risk24", "ev"):
        assert isinstance(resolve_stored(spec, GAME, file=file, flag=""), Player)


def test_registered_names_are_players_of_a_file_too(tmp_path: Path) -> None:
    assert "exact" in repr(resolve_stored("exact", GAME, {"players": 2}, file=tmp_path / "run.json", flag=""))


def test_a_file_names_checkpoints_beside_it_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, item 2: not those in other directories, be it by a path or by a link."""
    for directory in ("run", "other"):
        (tmp_path / directory).mkdir()
        shutil.copy(ROOT / "agents" / "flip7_2.safetensors", tmp_path / directory / "best.safetensors")
    (tmp_path / "run" / "link.safetensors").symlink_to(tmp_path / "other" / "best.safetensors")
    (tmp_path / "run" / "loop.safetensors").symlink_to(tmp_path / "run" / "loop.safetensors")
    monkeypatch.chdir(tmp_path)
    file, options = Path("run") / "run.json", {"players": 2}
    for spec in ("best.safetensors", "./best.safetensors", "run/best.safetensors", str(tmp_path / "run" / "best.safetensors")):
        assert isinstance(resolve_stored(spec, GAME, options, file=file, flag=""), Player), spec
    for spec in ("../other/best.safetensors", "other/best.safetensors", str(tmp_path / "other" / "best.safetensors"),
                 "link.safetensors", "a\0.safetensors"):  # fmt: skip
        assert "if you trust it, type --opponents X" in refusal(spec, file=file, flag="--opponents X")
    for spec in ("none.safetensors", "loop.safetensors", "x" * 5000 + ".safetensors"):
        assert "safetensors" in refusal(spec, file=file, flag="--opponents X")


def test_a_search_from_a_file_plays_on_by_checkpoints_beside_it_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds for a player holds for the player that a search plays on by, too."""
    for directory in ("run", "other"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "best.safetensors").write_text("a checkpoint")
    monkeypatch.chdir(tmp_path / "other")
    file = tmp_path / "run" / "run.json"
    beside = str(tmp_path / "run" / "best.safetensors")
    for spec, expected in (
        ("search", "search"),
        ("search(20, policy='ev')", "search(20, policy='ev')"),
        ("search(20, policy='best.safetensors')", f"search(20, policy={beside!r})"),
        (f"search(policy={beside!r}, width=3)", f"search(policy={beside!r}, width=3)"),
    ):
        assert check_stored(spec, GAME, file=file, flag="") == expected
    for path in ("../other/best.safetensors", str(tmp_path / "other" / "best.safetensors"), "/best.safetensors"):
        text = refusal(f"search(policy={path!r})", file=file, flag="--opponents X")
        assert "if you trust it, type --opponents X" in text
    refusal("search(policy='../run/best')", file=file, flag="--opponents X")
    for policy in ("'os:system'", "'search'", "['best.safetensors']", "3"):
        assert "policy = " in refusal(f"search(policy={policy})", file=file, flag="--opponents X")


def test_a_typed_module_of_python_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, item 2: a courtesy to whoever copies a spec from a page."""
    monkeypatch.chdir(tmp_path)
    for spec in (
        "os:system('touch harmed')",
        "os.path:exists('.')",
        "subprocess:run(['touch', 'harmed'])",
        "builtins:exec('1')",
    ):
        assert "belongs to Python itself, and no player is in it" in refusal(spec)
    assert not (tmp_path / "harmed").exists()


def test_what_a_factory_returns_is_a_player_or_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, item 2."""
    (tmp_path / "own_factories.py").write_text(
        "class Player:\n    def act(self, decisions): ...\n"
        "class NoMethod:\n    act = 3\n"
        "def the_class(): return Player\n"
        "def number(): return 0\n"
        "def function(): return lambda decisions: None\n"
        "def lines(): raise ValueError('one\\ntwo')\n"
    )
    monkeypatch.chdir(tmp_path)
    for good in ("own_factories:Player", "own_factories:function()"):
        assert isinstance(resolve(good, GAME), Player)
    for bad, kind in (("the_class", "the class Player"), ("number", "int"), ("NoMethod", "NoMethod")):
        assert f"returned {kind}; a player with act(decisions) or a function is expected" in refusal(f"own_factories:{bad}")
    assert "raised ValueError: one two" in refusal("own_factories:lines")
    for value in (SimpleNamespace(act=3), int, None, 7):
        refusal(value)


@pytest.mark.parametrize(
    "spec",
    [
        f"risk({'1' * 400})", f"risk({'1' * 5000})", f"risk({'-' * 900}1)", f"risk({'-' * 100_000}1)",
        f"risk({'(' * 900}1{')' * 900})", f"risk({'[' * 90}1{']' * 90})", f"risk({'1+' * 400}1)",
        "risk(1e400)", "risk(-1e308)", "risk(nan)", "risk(True)",
        "risk('.2')", "risk(1j)", "risk(p=10**9)", "risk(**{})", "risk(*[1])", "risk({[]: 1})", "a" * 100_000, "risk(" * 1000,
        "\0", "risk(p=.1, p=.2)", "risk(\n)x",
    ],
    ids=lambda spec: spec[:12].encode("unicode_escape").decode(),
)  # fmt: skip
def test_a_malformed_spec_is_refused_in_one_line(spec: str) -> None:
    """Issue 11, item 10."""
    refusal(spec)
    with pytest.raises(ValueError):
        resolve_policy(spec, GAME)


def test_random_specs(tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    """A built-in player, or one line; no code is imported for a spec from a file."""
    rng = random.Random(seed)
    parts = ["ev", "risk", "risk24", "(", ")", ",", ".2", "p=", "-", "[", "]", "'", ":", "os", "os:system", "1" * 50, "{", "\n",
             "*", ".safetensors", "/", "..", " ", "\\", "é", "=", "1e9", *string.printable]  # fmt: skip
    accepted = 0
    messages: dict[str, str] = {}
    for _ in range(100_000 if request.config.getoption("--long") else 2_000):
        name = rng.choice(["", "risk(", "risk(", "ev", "random"])
        spec = name + "".join(rng.choices(parts, k=rng.choice([0, 1, 2, 5, 30]))) + rng.choice(["", ")"])
        try:
            player = resolve_stored(spec, GAME, {"players": 2}, file=tmp_path / "run.json", flag="--opponents X")
        except ValueError as refusal:
            messages[str(refusal)] = spec
            continue
        assert isinstance(player, Player)
        accepted += 1
    assert accepted > 10
    assert not [(seed, spec) for message, spec in messages.items() if "\n" in message]
