"""CUDA C++ on a chip: NVRTC or nvcc compiles it, and its kernels run here."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._bitmma import compile_cuda
from ..errors import CudaError, OptionError
from . import _foreign, _nvcc, _sass
from ._chips import target_of
from ._module import Module


@functools.lru_cache(maxsize=64)
def _kept(surroundings: tuple[str | None, ...], *what: Any) -> tuple[str, list[str], str, str]:
    """What NVRTC makes of a source; what it made lately is kept. ``surroundings``: what says which NVRTC it is."""
    source, name, target, options, expressions = what
    return compile_cuda(_sass.folders(), source, name, target, list(options), list(expressions))


def _with_nvrtc(source: str, name: str, target: str, options: tuple[str, ...], expressions: tuple[str, ...]) -> tuple[str, list[str], str, str]:
    # files that it includes may change
    includes = any(re.match(r"-I|--?include|--?pre-include", option) for option in options) or re.search(r'#\s*include\s*"', source)
    surroundings = os.environ.get("BITMMA_LIBNVRTC"), os.environ.get("BITMMA_CUDA_TOOLS")
    return (_kept.__wrapped__ if includes else _kept)(surroundings, source, name, target, options, expressions)


#: Compilers of CUDA C++: of a source of that name, for a target, with options and name expressions.
COMPILERS: dict[str, Any] = {"nvrtc": _with_nvrtc, "nvcc": _nvcc.compile_cuda}


def cuda(
    source: Any,
    chip: str,
    *,
    options: Sequence[str] = (),
    include: Sequence[str | os.PathLike[str]] = (),
    names: Sequence[str] = (),
    compiler: str = "nvrtc",
    fusion: str | None = None,
    ptxas: str | None = None,
    ptxas_options: Sequence[str] = (),
) -> Any:
    """CUDA C++ compiled for a chip, without a GPU: ``cuda(source, "h100").scale[grid, block](x, 2.0, n)``.

    ``source`` is the text, or the path of a file; or a ``RawModule`` or ``RawKernel`` of CuPy, an ``ObjectCode`` of cuda.core that holds PTX, or
    a kernel of ``numba.cuda``, which are taken as they are. ``chip`` is one, or a target as in ``sm_90a``. Kernels are ``extern "C" __global__``, or have a
    C++ name; templates are instantiated by name expressions, ``module["scale<float>"]``, those of ``names`` at once. ``include`` are folders
    of headers besides CUDA's own; ``options`` are further ones of the compiler. ``compiler`` is ``nvrtc``, or ``nvcc`` for files with code of the
    host. The other options are those of ``launch_ptx``.

    Arguments are arrays, numbers and None; vectors and structures are tuples of their members, or of ``ctypes`` or NumPy.
    """
    if compiler not in COMPILERS:
        raise OptionError(f"unknown compiler {compiler!r}; one of {', '.join(COMPILERS)}")
    how = _sass.compiled("gpu", fusion, ptxas_options, ptxas)
    foreign = _foreign.taken(source, chip, how)
    if isinstance(foreign, _foreign.Source):
        source, options, names = foreign.text, [*foreign.options, *options], [*foreign.names, *names]
    elif foreign is not None:
        return foreign
    if isinstance(source, str) and "\n" not in source and source.endswith((".cu", ".cuh", ".cpp")):
        source = Path(source)
    name = "kernel.cu"
    folders = [os.fspath(folder) for folder in include]
    if not isinstance(source, str):
        path = Path(source)
        try:
            source, name = path.read_text(), path.name
        except (OSError, UnicodeDecodeError) as error:
            raise CudaError(f"{path}: {error.strerror if isinstance(error, OSError) else 'it is no text in UTF-8'}") from None
        folders.insert(0, os.fspath(path.parent))
    for folder in folders:
        if not Path(folder).is_dir():
            raise CudaError(f"the include folder {folder} does not exist")
    given = [*options, *(f"-I{Path(folder).absolute()}" for folder in folders)]
    module = Module(functools.partial(COMPILERS[compiler], source, name, target_of(chip), tuple(given)), name, chip, how, names)
    return module[foreign.kernel] if isinstance(foreign, _foreign.Source) and foreign.kernel else module
