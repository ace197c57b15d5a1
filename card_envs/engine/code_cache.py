"""Compiled code on disk: numba's cache with a digest in every file, so that a damaged file is noticed and compiled anew.

numba itself unpickles whatever it finds. A file that is empty or cut short, or in which some bits have changed, would stop the
package until somebody deletes it, or crash the process when its machine code runs. The digest stands in the same file as what
it covers, because two files could not be replaced at the same moment. It protects against accidents, not against attackers.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from hashlib import sha256
from inspect import signature
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST_SIZE = 32  # bytes at the beginning of a file
OVERRIDDEN = {"_load_index", "_save_index", "_load_data", "_save_data", "_open_for_write", "_dump", "_data_path"}
OVERRIDDEN_IN_CACHE = {"_index_key", "load_overload", "save_overload"}

Base: Any = IndexDataCacheFile
BaseCache: Any = FunctionCache
told: set[str] = set()
problems: list[str] = []  # why compiled code is not kept


def tell_once(text: str) -> None:
    """Print a line on standard error, unless this process has printed it before."""
    if text not in told:
        told.add(text)
        print(f"card_envs: {text}", file=sys.stderr, flush=True)


class SealedCacheFile(Base):  # type: ignore[misc]
    """The files of one function in numba's cache, each with the digest of its content in front."""

    def list_keys(self) -> list[Any]:
        """Return the keys of all machine code in the files."""
        return list(self._load_index())

    def _load_index(self) -> dict[Any, str]:
        content = self._read(self._index_path)
        if content is None:
            return {}
        version, stamp, overloads = pickle.loads(content)
        return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        content = self._read(self._data_path(name))
        return None if content is None else pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> bytes | None:
        """Return the content of a file; ``None`` if there is none or it is damaged."""
        try:
            with open(path, "rb") as file:
                sealed = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            tell_once(f"compiled code cannot be read from {path} ({error.strerror}), so it is compiled anew")
            return None
        content = sealed[DIGEST_SIZE:]
        if sha256(content).digest() != sealed[:DIGEST_SIZE]:
            tell_once(f"compiled code in {path} is damaged, so it is compiled anew")
            return None
        return content

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(sha256(content).digest() + content)


class SealedCache(BaseCache):  # type: ignore[misc]
    """The cache of one function. If it cannot be written, the function is compiled all the same.

    Args:
        function: The function, whose qualified name holds a digest of all that is compiled into it.
        wait: Waits for another process that is compiling the function into the same cache; returns whether there was one.
    """

    def __init__(self, function: Callable[..., Any], wait: Callable[[], bool]) -> None:
        super().__init__(function)
        self.wait = wait
        self._cache_file = SealedCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def is_filled(self, codegen: Any) -> bool:
        """Return whether the function has been compiled for this kind of processor."""
        return any(key[1] == codegen.magic_tuple() for key in self._cache_file.list_keys())

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return what tells apart the machine code in the files of one function.

        numba's own key also holds a hash of what the function closes over. The name holds one already, and compiled functions
        to which a function is linked would be hashed differently in every process.
        """
        return sig, codegen.magic_tuple()

    def load_overload(self, sig: Any, context: Any) -> Any:
        """Load what was compiled for a signature, and wait for it where another process is compiling it."""
        loaded = super().load_overload(sig, context)
        return super().load_overload(sig, context) if loaded is None and self.wait() else loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled for a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_uncached(f"{error.strerror}: {self._cache_path}")


def is_supported() -> bool:
    """Return whether this version of numba has the methods that are overridden here, which it does not document."""
    arguments = set(signature(Base.__init__).parameters)
    names = {name for kind in BaseCache.__mro__ for name in vars(kind)}
    return (
        vars(Base).keys() >= OVERRIDDEN
        and names >= OVERRIDDEN_IN_CACHE
        and arguments == {"self", "cache_path", "filename_base", "source_stamp"}
    )


def warn_uncached(reason: str) -> None:
    """Warn, once in a process, that compiled code is not kept."""
    problems.append(reason)
    if "uncached" not in told:
        told.add("uncached")
        text = f"card_envs cannot cache its compiled code ({reason}), so every process compiles it anew"
        warnings.warn(f"{text}; NUMBA_CACHE_DIR can name a folder for it", stacklevel=2)


def is_compiled(dispatcher: Any) -> bool:
    """Return whether the machine code of a function is on disk, without loading it."""
    cache = dispatcher._cache
    return isinstance(cache, SealedCache) and cache.is_filled(dispatcher.targetctx.codegen())


def find_folder(dispatcher: Any) -> str:
    """Return the folder in which the machine code of a function is kept."""
    return str(dispatcher._cache.cache_path)


def find_problem() -> str | None:
    """Return why this process could not keep compiled code; ``None`` if it could."""
    return problems[0] if problems else None


def compile_cached(
    function: Callable[..., Any], flags: Mapping[str, Any], wait: Callable[[], bool] = lambda: False
) -> tuple[Any, bool]:
    """Compile a function at its first call, and cache the machine code on disk if possible.

    Args:
        function: The function. Its qualified name must hold a digest of all that is compiled into it.
        flags: What numba's ``njit`` is given besides the cache.
        wait: See :class:`SealedCache`.

    Returns:
        numba's dispatcher, and whether it is cached.
    """
    try:
        if not is_supported():
            return njit(cache=True, **flags)(function), True
        dispatcher: Any = njit(**flags)(function)
        dispatcher._cache = SealedCache(function, wait)
    except RuntimeError:  # numba has found no folder that it can write to
        warn_uncached("no folder for it can be written to")
        return njit(**flags)(function), False
    return dispatcher, True
