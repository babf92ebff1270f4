"""What memory a kernel can reach through its arguments: that of an array's owner, as on a GPU."""

from __future__ import annotations

import bitmma
import numpy as np
import pytest
from bitmma.kernels import launch_ptx

TEXT = """
.version 8.4
.target sm_80
.address_size 64
.visible .entry move(.param .u64 x, .param .u64 y)
.reqntid 32
{
.reg .b32 %%r<9>; .reg .b64 %%d<9>;
ld.param.b64 %%d1, [x]; ld.param.b64 %%d2, [y]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%d3, %%r1, %d;
add.s64 %%d4, %%d1, %%d3; add.s64 %%d5, %%d2, %%d3;
%s
ret;
}
"""

WORDS = TEXT % (4, "ld.global.b32 %r2, [%d4]; st.global.b32 [%d5], %r2;")
VECTORS = TEXT % (16, "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%d4]; st.global.v4.b32 [%d5], {%r2, %r3, %r4, %r5};")


def arrays(kind: str, values: np.ndarray) -> object:
    """An array of NumPy or PyTorch."""
    if kind == "numpy":
        return values
    return pytest.importorskip("torch").from_numpy(values)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_padding_of_an_owner_can_be_read(kind):
    whole = arrays(kind, np.arange(8 * 32, dtype=np.float32).reshape(8, 32))
    y = arrays(kind, np.zeros(32, np.float32))
    # the last row's padding lies behind the view
    launch_ptx(WORDS, 1, [whole[7:, :20], y])
    assert (np.asarray(y) == np.arange(7 * 32, 8 * 32)).all()
    # a kernel may write it, too, and nothing else changes
    part = arrays(kind, np.full((4, 32), -1, np.float32))
    launch_ptx(WORDS, 1, [whole[0], part[1, :20]])
    assert (np.asarray(part)[1] == np.arange(32)).all() and (np.asarray(part)[[0, 2, 3]] == -1).all()
    # the end of the owner is the end
    with pytest.raises(bitmma.KernelError, match="reads 4 bytes at byte 1024 of argument 0, which has 1024 bytes"):
        launch_ptx(WORDS, 1, [whole[7:, 20:], y])


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_view_has_the_alignment_that_it_has_in_its_owner(kind):
    x = arrays(kind, np.arange(256, dtype=np.float32))
    y = arrays(kind, np.zeros(128, np.float32))
    launch_ptx(VECTORS, 1, [x[4:], y])
    assert (np.asarray(y) == np.arange(4, 132)).all()
    with pytest.raises(bitmma.KernelError, match="reads 16 bytes at byte 4 of argument 0, which is not a multiple of 16"):
        launch_ptx(VECTORS, 1, [x[1:], y])


def test_a_read_only_view_of_memory_that_another_argument_writes():
    whole = np.arange(64, dtype=np.float32)
    x = whole[:32]
    x.flags.writeable = False
    launch_ptx(WORDS, 1, [x, whole[32:]])
    assert (whole == np.tile(np.arange(32), 2)).all()


def test_what_a_read_only_view_shares_with_another_argument_is_written():
    x, y = np.arange(32, dtype=np.float32), np.full(32, 7, np.float32)
    read_only = y.view()
    read_only.flags.writeable = False
    text = TEXT.replace(".param .u64 y)", ".param .u64 y, .param .u64 z)") % (4, "ld.global.b32 %r2, [%d4]; st.global.b32 [%d5], %r2;")
    for arguments in ([x, y, read_only], [x, read_only, y]):
        y[:] = 7
        launch_ptx(text, 1, arguments)
        assert (y == x).all()
    # beyond the view nobody takes it, and nothing is written
    whole = np.zeros(64, np.float32)
    part = whole[:16]
    part.flags.writeable = False
    with pytest.raises(bitmma.errors.PtxError, match="argument 1 is read-only, and the kernel writes to it"):
        launch_ptx(WORDS, 1, [x, part])
    with pytest.raises(bitmma.errors.PtxError, match="argument 1 is read-only"):
        launch_ptx(text, 1, [x, part, whole[32:]])  # near a view of the same memory that may be written
    assert not whole.any()


def test_read_only_columns_beside_others():
    """Which bytes are elements counts, and not from where to where they are."""
    text = TEXT.replace(".param .u64 y)", ".param .u64 y, .param .u64 z)") % (4, "ld.global.b32 %r2, [%d4]; st.global.b32 [%d5], %r2;")
    x, y = np.arange(32, dtype=np.float32), np.zeros((32, 2), np.float32)
    left, right = y[:, 0], y[:, 1]
    right.flags.writeable = False
    for arguments in ([x, left, right], [x, right, left]):
        with pytest.raises(bitmma.errors.PtxError, match="is read-only, and the kernel writes to it"):
            launch_ptx(text, 1, arguments)
    assert not y.any()


def test_a_writeable_view_of_memory_that_was_made_read_only_later_is_written():
    x, owner = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    view = owner[:]
    owner.flags.writeable = False
    with pytest.raises(bitmma.errors.PtxError, match="argument 1 is read-only"):
        launch_ptx(WORDS, 1, [x, owner])
    launch_ptx(WORDS, 1, [x, view])
    assert (owner == x).all()


def test_a_launch_above_the_limit_of_memory_is_an_error():
    """An in-place launch in a process that may not have the memory raises; it does not end Python."""
    import subprocess
    import sys

    program = f"""
import resource, numpy as np, bitmma
from bitmma.kernels import launch_ptx
x = np.zeros(1 << 26, np.float32)
size = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + (600 << 20), resource.RLIM_INFINITY))
try:
    launch_ptx({WORDS!r}, (2,), [x, x])
except (bitmma.PtxError, MemoryError) as error:
    print("refused:", error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "refused: " in run.stdout, run.stderr


@pytest.mark.parametrize("space", ["", ".global"])
def test_pointers_in_memory_lead_to_reachable_arrays(space):
    """Word i of X goes where pointer i of the table says: to two arrays in turn."""
    follow = "mul.wide.u32 %d6, %r1, 8; add.s64 %d6, %d2, %d6; ld.global.b64 %d7, [%d6]; "
    text = TEXT % (4, follow + f"ld.global.b32 %r2, [%d4]; st{space}.b32 [%d7], %r2;")
    x, one, other = np.arange(32, dtype=np.float32), np.zeros(16, np.float32), np.zeros(20, np.float32)
    addresses = [array.ctypes.data + 4 * i for i in range(16) for array in (one, other)]
    table = np.array(addresses, np.int64)
    launch_ptx(text, 1, [x, table], reachable=[one, other[:18]])
    assert (one == x[::2]).all() and (other[:16] == x[1::2]).all() and (other[16:] == 0).all()
    with pytest.raises(bitmma.KernelError, match="writes address 0x[0-9a-f]*, which is in no buffer"):
        launch_ptx(text, 1, [x, np.array(addresses, np.int64)], reachable=[one])
    beyond = np.full(32, other.ctypes.data + 80, np.int64)
    with pytest.raises(bitmma.KernelError, match="which is in no buffer"):
        launch_ptx(text, 1, [x, beyond], reachable=[other])
