"""Results on disk, in the user's cache folder, so that what takes seconds is computed once.

``CARD_ENVS_CACHE`` names another folder. The name of a file holds the model and a hash of its deck and of :data:`VERSION`.
Files are written atomically. A result that cannot be read is computed again, and one that cannot be written is not kept.
"""

from __future__ import annotations

import io
import os
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_dir

from card_envs.engine.files import write_file

VERSION = 2  # of the solver: raise it when its results or the names of their arrays change


def name_file(name: str, *about: object) -> Path:
    """Return the file of the result ``name``, which depends on ``about``."""
    folder = Path(os.environ.get("CARD_ENVS_CACHE") or user_cache_dir("card-envs")) / "risk"
    return folder / f"{name}-{sha256(repr((VERSION, *about)).encode()).hexdigest()[:12]}.npz"


def load(path: Path) -> dict[str, NDArray[np.float64]] | None:
    """Return the arrays of a file by their names; ``None`` if there is no such file or it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, BadZipFile):
        return None


def save(path: Path, **arrays: NDArray[np.float64]) -> None:
    """Write the arrays by their names. If that is impossible, do nothing."""
    data = io.BytesIO()
    np.savez_compressed(data, **arrays)  # type: ignore[arg-type]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data.getvalue())
    except OSError:
        pass  # the home is read-only, so the result is computed again next time
