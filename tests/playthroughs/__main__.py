"""``python -m tests.playthroughs``: write all playthroughs anew."""

from tests.playthroughs import write

if __name__ == "__main__":
    write()
