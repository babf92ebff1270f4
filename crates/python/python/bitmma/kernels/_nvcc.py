"""CUDA C++ with code of the host: nvcc compiles its kernels to PTX."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import CudaError
from . import _sass

#: Seconds after which nvcc is stopped.
TIME_LIMIT = 600


def find() -> str:
    """Where nvcc is: in a wheel, in the folders of ``BITMMA_CUDA_TOOLS``, in PATH, or in ``bin`` of CUDA_HOME or CUDA_PATH."""
    homes = [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [*_sass.folders(), os.environ.get("BITMMA_CUDA_TOOLS", ""), os.environ.get("PATH", ""), *homes]
    found = shutil.which("nvcc", path=os.pathsep.join(filter(None, places)))
    if found is None:
        raise CudaError("nvcc was not found: pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl nvidia-nvvm, or set CUDA_HOME")
    return found


def compile_cuda(source: str, name: str, target: str, options: Sequence[str], expressions: Sequence[str]) -> tuple[str, list[str], str, str]:
    """As NVRTC is called: the text, the entries of name expressions, of which there are none, what nvcc warns of, and its release."""
    if expressions:
        raise CudaError(f"nvcc makes no instances of templates by name: instantiate {expressions[0]} in the file, and ask for the kernel by its name")
    nvcc = find()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / (name if name.endswith((".cu", ".cuh")) else f"{name}.cu")
        file.write_text(source)
        command = [nvcc, "-ptx", f"-arch={target}", "-lineinfo", "--std=c++17", *options, "-x", "cu", str(file), "-o", f"{folder}/text.ptx"]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            raise CudaError(f"nvcc took more than {TIME_LIMIT} seconds") from None
        except OSError as error:
            raise CudaError(f"nvcc cannot be run: {error}") from None
        said = (ended.stdout + ended.stderr).replace(f"{folder}/", "").strip()
        if ended.returncode:
            raise CudaError(said or f"nvcc ended with code {ended.returncode}")
        text = (Path(folder) / "text.ptx").read_text()
    release = [line.split("release ")[1].split(",")[0] for line in text.splitlines()[:10] if "release " in line]
    return text, [], said, release[0] if release else ""
