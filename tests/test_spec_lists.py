"""Lists of players: specs with brackets, strings and quotes are split where they were joined."""

from __future__ import annotations

import random

import pytest

from card_envs.players import split_specs


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("ev", ["ev"]),
        ("ev,risk(.2),m:f(1, 2)", ["ev", "risk(.2)", "m:f(1, 2)"]),
        ("'a,b.safetensors',ev", ["a,b.safetensors", "ev"]),
        ('ev, "runs/a, b.safetensors" ', ["ev", "runs/a, b.safetensors"]),
        ('"it\'s, here.safetensors"', ["it's, here.safetensors"]),
        ("/home/o'brien/a.safetensors,ev", ["/home/o'brien/a.safetensors", "ev"]),
        (r"'C:\a,b\c.safetensors',ev", [r"C:\a,b\c.safetensors", "ev"]),
        ("m:f('a)', \"b,(\"),ev", ["m:f('a)', \"b,(\")", "ev"]),
        (r"m:f('a\'),(', [1, 2]),ev", [r"m:f('a\'),(', [1, 2])", "ev"]),
        (r"m:f('a\\'),ev", [r"m:f('a\\')", "ev"]),
        ("ev,", ["ev", ""]),
        ("", [""]),
    ],
)
def test_a_list_is_split_at_its_own_commas(text: str, specs: list[str]) -> None:
    """Issue 11, clients: a path with a comma is one player, in quotes."""
    assert split_specs(text) == specs


@pytest.mark.parametrize("text", ["'ev", 'ev,"a,b.safetensors', "'"])
def test_a_quote_that_is_not_closed_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"the quote before .* is not closed"):
        split_specs(text)


def test_what_was_joined_is_split_again(seed: int, pytestconfig: pytest.Config) -> None:
    """A seeded fuzz: paths of any characters in quotes, and calls with strings of any characters."""
    rng = random.Random(seed)

    def draw_text() -> str:
        return "".join(rng.choices("ab ,()[]{}'\"\\é", k=rng.randrange(8)))

    for _ in range(100_000 if pytestconfig.getoption("--long") else 2_000):
        texts, specs = [], []
        for _ in range(rng.randrange(1, 5)):
            if rng.random() < 0.5:
                path = f"runs/{draw_text().replace(rng.choice('ab'), '')}.safetensors"
                quote = "'" if '"' in path else '"'
                path = path.replace(quote, "")
                texts.append(f"{quote}{path}{quote}")
                specs.append(path)
            else:
                specs.append(f"m:f({draw_text()!r}, [{draw_text()!r}])")
                texts.append(specs[-1])
        assert split_specs(", ".join(texts)) == specs, f"seed {seed}"
