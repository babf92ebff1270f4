"""What a GPU chooses by measuring: the configuration of each kernel, as a rule decides it, as it is given, or as a real run has chosen it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import OptionError

#: How PyTorch ends the names of files that hold what a run has chosen.
_ENDING = ".best_config"


def check(choices: Any) -> None:
    """An error if these are no choices."""
    if not isinstance(choices, dict) or not all(isinstance(one, str) and isinstance(about, dict) for one, about in choices.items()):
        raise OptionError(f"choices is {choices!r}; a dictionary of configurations by kernel was expected, as compiled.choices has it")


def name(kernel: Any) -> str:
    """Of a kernel, with the start of a digest of its text: graphs number their kernels each for itself."""
    source = hashlib.sha256(f"{kernel.size_hints} {kernel.fn.src}".encode()).hexdigest()
    return f"{_plain(kernel)} {source[:12]}"


def _plain(kernel: Any) -> str:
    return str(kernel.inductor_meta.get("kernel_name", kernel.fn.__name__))


def described(configuration: Any) -> dict[str, Any]:
    """A configuration of Triton as plain data."""
    return {**configuration.kwargs, "num_warps": configuration.num_warps, "num_stages": configuration.num_stages}


class Choices:
    """Those of the kernels of one backend."""

    def __init__(self, given: dict[str, dict[str, Any]]) -> None:
        self._given = {kernel: dict(about) for kernel, about in given.items()}
        self.made: dict[str, dict[str, Any]] = {}
        """The configuration of each kernel that has several."""

    @property
    def unused(self) -> list[str]:
        """Kernels for which a choice was given, and that no graph has so far."""
        return sorted(self._given.keys() - self.made.keys())

    def of(self, kernel: Any, configurations: list[Any]) -> Any:
        """The configuration that was given for a kernel, or none."""
        own = name(kernel)
        if _plain(kernel) in self._given:
            raise OptionError(f"choices has {_plain(kernel)!r}, by which several graphs may call a kernel: say {own!r}")
        if own not in self._given:
            return None
        given = self._given[own]
        for one in configurations:
            if described(one) == given:
                return one
        raise OptionError(f"choices has {given} for {own}, which has the configurations {', '.join(str(described(one)) for one in configurations)}")

    def note(self, kernel: Any, configurations: list[Any]) -> None:
        """A kernel was compiled."""
        if len(configurations) > 1:
            self.made[name(kernel)] = described(kernel.compile_results[0].config)


class BestConfigs:
    """Files in which a run of PyTorch on a GPU has kept what it chose, by kernel: a folder, which is searched, or files."""

    def __init__(self, given: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> None:
        try:
            paths = [Path(given)] if isinstance(given, (str, os.PathLike)) else [Path(one) for one in given]
        except TypeError:
            raise OptionError(f"best_configs is {given!r}; a folder, or files that end with {_ENDING}, were expected") from None
        found = [file for path in paths for file in (path.rglob(f"*{_ENDING}") if path.is_dir() else [path])]
        self._files = {file.name: file for file in found}
        if missing := [str(path) for path in found if not path.is_file() or path.suffix != _ENDING]:
            raise OptionError(f"best_configs has {missing[0]}, which is no file of PyTorch's that ends with {_ENDING}")
        if not found:
            raise OptionError(f"best_configs has no file that ends with {_ENDING} in {', '.join(map(str, paths)) or 'an empty list'}: a run keeps them in TORCHINDUCTOR_CACHE_DIR")

    def look(self, configurations: list[Any], filename: str | None, meta: Any, **about: Any) -> tuple[list[Any], None, dict[str, Any]]:
        """As PyTorch looks for the best configuration of a kernel, whose text is in a file named after its digest."""
        from torch._inductor.runtime.autotune_cache import AutotuneCache, _load_cached_autotuning
        from torch._inductor.runtime.triton_heuristics import hash_configs

        kernel = meta.get("kernel_name", "a kernel")
        if filename is None or (len(configurations) < 2 and not meta.get("coordinate_descent_tuning")):
            return configurations, None, {}
        file = os.path.basename(AutotuneCache._make_local_cache_key("", AutotuneCache._prepare_key(filename)))
        if file not in self._files:
            raise OptionError(
                f"best_configs has no {file}, which would hold the configuration of {kernel}; it has {len(self._files)} other files: "
                "they must be of a run of this very code, with the same build of PyTorch"
            )
        best, own = _read(self._files[file]), hash_configs(configurations)
        if best.get("configs_hash") != own:
            raise OptionError(f"{file} was made for other configurations of {kernel} than it has here: its configs_hash is {str(best.get('configs_hash'))[:12]}…, and theirs {own[:12]}…")
        for name in (*configurations[0].kwargs, "num_warps", "num_stages"):
            value = best.get(name, configurations[0].num_stages if name == "num_stages" else None)
            if type(value) is not int or value < 1:
                raise OptionError(f"{self._files[file]}: {name} is {value!r}; a number from 1 on was expected")
        try:
            return [_load_cached_autotuning(best, own, configurations, meta)], None, {}
        except (KeyError, TypeError) as error:
            raise OptionError(f"{file} holds no configuration of {kernel}: {error!r}") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise OptionError(f"{file} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise OptionError(f"{file} holds a {type(found).__name__}; a dictionary was expected")
    return found
