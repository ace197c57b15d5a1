"""The process that compiles on a second core: what it takes over, when it is started, and that nothing hangs on it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import card_envs
from card_envs.engine import helper
from card_envs.engine.helper import Helper

ECHO = "import sys, json\nfor line in sys.stdin: print(json.dumps(dict(order=line.strip())), flush=True)"
SILENT = "import sys\nfor line in sys.stdin: pass"
NOISY = "import sys\nprint('a note of a library', flush=True)\nprint('[]', flush=True)\n" + ECHO


@pytest.fixture
def started(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Helper]:
    """A helper that runs another program."""
    monkeypatch.setattr(helper, "PROGRAM", request.param)
    it = Helper()
    yield it
    it.stop()


@pytest.mark.parametrize("started", [ECHO, NOISY], indirect=True)
def test_orders_are_answered(started: Helper) -> None:
    started.ask(["module one", "module two"])
    assert started.wait("module two") == {"order": "module two"}
    assert started.wait("module one") == {"order": "module one"}
    assert started.wait("module one") is None, "nobody was asked again"


@pytest.mark.parametrize("started", ["raise SystemExit(3)", "import os; os.abort()", "not Python"], indirect=True)
def test_nobody_waits_for_a_helper_that_has_ended(started: Helper) -> None:
    started.ask(["module one"])
    assert started.wait("module one") is None
    started.ask(["module two"])
    assert started.wait("module two") is None


@pytest.mark.parametrize("started", [SILENT], indirect=True)
def test_a_helper_that_is_killed_or_never_answers_is_given_up(started: Helper) -> None:
    started.ask(["module one"])
    assert started.wait("module one", timeout=0.0) is None, "patience has an end"
    started.ask(["module two"])
    started.stop()
    assert started.wait("module two") is None


def test_a_helper_that_is_asked_once_ends_when_it_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not stay in memory, whether or not somebody wants to hear the answers."""
    monkeypatch.setattr(helper, "PROGRAM", ECHO)
    it = Helper(once=True)
    it.ask(["module one", "module two"])
    it._listener.join(timeout=60)
    assert it._process.poll() is not None
    assert it.wait("module one") == {"order": "module one"}


def test_the_helper_ends_with_the_process_that_asked() -> None:
    """Its standard input is closed then, whatever it is doing."""
    program = helper.PROGRAM.format(path=sys.path)
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.communicate(b"card_envs.games.flip7 rule.play\n", timeout=120)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("executable", "frozen"),
    [("", False), (None, False), ("/no/such/python3", False), (os.__file__, False), (sys.executable, True)],
)
def test_only_an_interpreter_is_started(executable: str | None, frozen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert helper.can_start()
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    assert not helper.can_start()


@pytest.mark.parametrize("reason", ["none", "variable", "one core", "a worker of multiprocessing", "no memory"])
def test_when_a_helper_is_started(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Helper] = []

    def start(once: bool) -> Helper:
        if reason == "no memory":
            raise OSError(12, "Cannot allocate memory")
        started.append(Helper(once))
        return started[-1]

    monkeypatch.setattr(helper, "PROGRAM", ECHO)
    monkeypatch.setattr(helper, "Helper", start)
    monkeypatch.setattr(helper, "count_cores", lambda: 1 if reason == "one core" else 2)
    monkeypatch.delenv(helper.VARIABLE, raising=False)
    if reason == "variable":
        monkeypatch.setenv(helper.VARIABLE, "0")
    if reason == "a worker of multiprocessing":
        monkeypatch.setattr(multiprocessing, "parent_process", object)
    helper.start_helper(["module one", "module two"])
    assert len(started) == (reason == "none")
    assert helper.wait_for_helper("module one") == (reason == "none")
    assert not helper.wait_for_helper("module one")
    assert not helper.wait_for_helper("module three")
    helper.stop_helpers()
    assert not helper.wait_for_helper("module two")


def test_a_fork_does_not_wait_for_the_helper_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "PROGRAM", SILENT)
    it = Helper()
    it.ask(["module one"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert it.wait("module one") is None
        it.stop()  # it is not ours to stop
    it.stop()


# ---- a cold start

FIRST_STEP = """
import json, sys
import numba.core.event as event
import card_envs
from card_envs.engine import helper

class Names(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Names())
helper.count_cores = lambda: 2
exec(sys.argv[2])
batch = card_envs.batch(sys.argv[1], 8, seed=1)
actions = batch.sample()
batch.step(actions)
print(json.dumps([Names.names, actions.tolist(), batch.observation.tolist()]))
"""


def step_first(folder: Path, change: str = "", **variables: str) -> tuple[list[str], list[object], str]:
    """Take a first step in a process of its own: return what it has compiled, the numbers it has computed, and its stderr."""
    environment = {name: value for name, value in os.environ.items() if name != helper.VARIABLE}
    environment |= {"NUMBA_CACHE_DIR": str(folder)} | variables
    command = [sys.executable, "-c", FIRST_STEP, "pis_yedili", change]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=300)
    names, *numbers = json.loads(done.stdout)
    return [name for name in names if name.startswith("pis_yedili.")], numbers, done.stderr


def shorten(names: list[str]) -> list[str]:
    """The names without the game and the digest, sorted."""
    return sorted(name.split(".")[1] for name in names)


ALL = ["action_mask", "choose_random", "init", "legal", "observe", "step", "step"]  # the rule and the loop have one name


def test_a_first_step_is_compiled_by_two_processes(tmp_path: Path) -> None:
    names, numbers, notes = step_first(tmp_path)
    assert shorten(names) == ["init", "step", "step"]
    assert notes == "card_envs: compiling pis_yedili.step (once; the result is cached) …\n"
    forbidden = "def fail(*orders): raise AssertionError(orders)\nhelper.start_helper = fail"
    assert step_first(tmp_path, forbidden) == ([], numbers, ""), "a warm cache needs no helper"


@pytest.mark.parametrize(
    ("change", "variables"),
    [
        ("helper.PROGRAM = 'import os; os.abort()'", {}),
        ("", {helper.VARIABLE: "0"}),
    ],
    ids=["crash", "off"],
)
def test_without_a_helper_everything_is_compiled_here(change: str, variables: dict[str, str], tmp_path: Path) -> None:
    names, numbers, _ = step_first(tmp_path, change, **variables)
    assert shorten(names) == ALL
    batch = card_envs.batch("pis_yedili", 8, seed=1)
    actions = batch.sample()
    batch.step(actions)
    assert numbers == [actions.tolist(), batch.observation.tolist()]


NOTED = """
start = helper.Helper.__init__
def note(self, once):
    start(self, once)
    print(self._process.pid, file=sys.stderr, flush=True)
helper.Helper.__init__ = note
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_an_interrupt_leaves_no_process_behind(tmp_path: Path) -> None:
    """Only the process that asked is interrupted, as by ``kill -INT``."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), helper.VARIABLE: "1"}
    command = [sys.executable, "-c", FIRST_STEP, "flip7", NOTED]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    started = int(process.stderr.readline())
    assert "compiling" in process.stderr.readline()
    os.kill(started, 0)  # it is there
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(started, 0)
