"""Where NVIDIA's tools are: ptxas and nvdisasm, which say what becomes of a text, and NVRTC."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path

#: Folders of wheels that have the two, and NVRTC: Triton's, and NVIDIA's of CUDA 13 and 12 (nvidia-cuda-nvcc, nvidia-cuda-nvdisasm,
#: nvidia-cuda-nvrtc).
WHEELS = (
    ("triton", "backends/nvidia/bin"),
    ("nvidia", "cu13/bin"),
    ("nvidia", "cu13/lib"),
    ("nvidia", "cuda_nvrtc/lib"),
    ("nvidia", "cuda_nvcc/bin"),
    ("nvidia", "cuda_nvdisasm/bin"),
)


@functools.cache
def folders() -> list[str]:
    """Those that exist."""
    found = []
    for package, below in WHEELS:
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            folder = Path(root) / below
            if folder.is_dir():
                found.append(str(folder.resolve()))
    return found


#: A mode and a fusion, where ptxas is looked for first, and its options.
How = tuple[str, "str | None", tuple[str, ...], tuple[str, ...]]


def compiled(mode: str, fusion: str | None, options: Iterable[str] = (), ptxas: str | None = None) -> How:
    """A mode and a fusion with what they need. ``ptxas``: the one that is asked first."""
    return mode, fusion, (*([ptxas] if ptxas else []), *folders()), tuple(options)


def of_triton(capability: int) -> str | None:
    """The ptxas that Triton itself calls for a compute capability, by its knobs and variables (``TRITON_PTXAS_PATH``)."""
    from triton.backends.nvidia import compiler

    try:
        path: str = compiler.get_ptxas(capability).path
    # one that is named and missing, or of a Triton that chooses otherwise: the folders have others
    except (AttributeError, RuntimeError, OSError, TypeError):
        return None
    return path
