"""Options of the suite: ``--seed`` for everything that is drawn at random, ``--long`` for longer random checks."""

from __future__ import annotations

import pytest

DEFAULT_SEED = 7


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=DEFAULT_SEED, help="seed of the random checks (default %(default)s)")
    parser.addoption("--long", action="store_true", help="ten times as many random matches, compared at every step")


def pytest_report_header(config: pytest.Config) -> str:
    return f"random checks: --seed {config.getoption('--seed')}{' --long' if config.getoption('--long') else ''}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="a long run: --long"))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a random check, which pytest shows if the check fails."""
    seed: int = request.config.getoption("--seed")
    print(f"seed {seed}")
    return seed
