"""Campaigns: in one process, and on a Ray cluster of two workers of which one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

import bitmma
from bitmma.verify import merge

from common import EVERYTHING

UNIT = "sim:hopper/wgmma.m64n256k16.f32.f16.f16"
TESTS = 1_000_000_000 if EVERYTHING else 20_000_000


def test_shards_make_the_digest_of_the_whole(tmp_path):
    seen = []
    whole = bitmma.verify(UNIT, tests=3_000_000, progress=lambda done, of: seen.append((done, of)))
    assert whole.agrees and whole.verdict == "agrees" and whole.mismatches == 0
    assert whole.dot_products >= 3_000_000 and whole.unit == "hopper/wgmma.m64n256k16.f32.f16.f16"
    assert len(seen) == whole.of and seen[-1] == (whole.dot_products, whole.dot_products)
    for shard in ("1/2", "2/2"):
        part = bitmma.verify(UNIT, tests=3_000_000, state=tmp_path, shard=shard)
        assert part.digest is None and part.verdict == "agrees" and not part.agrees
    assert merge(sorted(tmp_path.iterdir())) == whole and whole.missing == []
    # one of the files alone: incomplete, and its gaps are named
    first = merge(sorted(tmp_path.iterdir())[:1])
    assert first.verdict == "incomplete" and not first.agrees and first.digest is None
    assert first.missing == [(block, block) for block in range(1, whole.of, 2)]
    with pytest.raises(OSError, match="it already exists"):
        bitmma.verify(UNIT, tests=3_000_000, state=tmp_path, shard="1/2")
    again = bitmma.verify(UNIT, tests=3_000_000, state=tmp_path, shard="1/2", resume=True)
    assert again.blocks == (whole.of + 1) // 2


def test_a_changed_state_file_is_refused(tmp_path):
    whole = bitmma.verify(UNIT, tests=1_000_000, state=tmp_path)
    (file,) = tmp_path.iterdir()
    text = file.read_text()
    file.write_text(text.replace('"dot_products":524288', '"dot_products":0', 1))
    for again in (lambda: merge([file]), lambda: bitmma.verify(UNIT, tests=1_000_000, state=tmp_path, resume=True)):
        with pytest.raises(OSError, match="line 2: its checksum is .*delete the line and run the campaign with"):
            again()
    lines = text.splitlines(keepends=True)
    file.write_text("".join(lines[:1] + lines[2:]))  # what the message says
    assert merge([file]).missing == [(0, 0)]
    assert bitmma.verify(UNIT, tests=1_000_000, state=tmp_path, resume=True) == whole
    # what a worker sends is checked too
    blocks = bitmma._bitmma.Blocks(json.dumps(json.loads(lines[0])))
    block = json.loads(lines[1])
    blocks.add(json.dumps(block))
    with pytest.raises(bitmma.RecordingError, match="block 116; the campaign has"):
        blocks.add(json.dumps({**block, "block": 116}))
    with pytest.raises(bitmma.RecordingError, match="block 1: 0 dot products; it has 524288"):
        blocks.add(json.dumps({**block, "block": 1, "dot_products": 0}))


def test_a_difference_is_counted_and_kept():
    report = bitmma.verify("sim:hopper/HMMA.16816.F32", against="ampere/HMMA.16816.F32", tests=20_000)
    assert report.verdict == "differs" and report.mismatches > 100
    assert sum(report.by_kind.values()) == report.mismatches
    first = report.first[0]
    assert len(first["a"]) == 16 and first["expected"] != first["actual"]
    own = bitmma.mma("hopper", "HMMA.16816.F32").toml
    assert bitmma.verify("sim:hopper/HMMA.16816.F32", model=own, tests=20_000).agrees


def test_what_goes_on_when_progress_raises():
    def stop(done, of):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        bitmma.verify(UNIT, tests=100_000, progress=stop)


@pytest.mark.parametrize(
    ("unit", "options", "kind", "message"),
    [
        ("gpu:0", {}, bitmma.OptionError, "unknown kind of unit 'gpu:'"),
        ("sim:hoper/x", {}, bitmma.UnknownArchitecture, "sim:hoper/x: unknown architecture 'hoper'"),
        ("cpu:nothing", {}, bitmma.UnitError, "cpu:nothing unavailable"),
        ("exec:no-such-program", {}, bitmma.UnitError, "no-such-program unavailable"),
        ("model:x.toml@1x1x1", {}, FileNotFoundError, "x.toml"),
        (UNIT, {"against": "ampere/HMMA.16816.F16"}, bitmma.OptionError, "is f32, of the model f16"),
        (UNIT, {"model": "A = 1"}, bitmma.ModelError, ""),
        (UNIT, {"resume": True}, bitmma.OptionError, "resume needs state, the folder with the blocks so far"),
        (UNIT, {"shard": "3/2"}, bitmma.OptionError, "'3/2' is not a shard"),
        (UNIT, {"tests": 10**16}, bitmma.OptionError, "at most 10^15"),
    ],
)
def test_what_it_refuses(unit, options, kind, message):
    with pytest.raises(kind) as raised:
        bitmma.verify(unit, **options)
    assert message in str(raised.value)


def test_without_ray_the_fleet_says_what_is_missing():
    code = "import sys; sys.modules['ray'] = None\nfrom bitmma import fleet\nfleet.verify('cpu:fma.f32')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ImportError: bitmma.fleet needs Ray, which is not installed: pip install 'bitmma[ray]'" in done.stderr


@pytest.fixture(scope="module")
def cluster():
    """A cluster on this machine with room for two workers."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_two_workers_one_killed_one_digest(cluster, tmp_path):
    from bitmma import fleet

    killed = []

    def kill(now):
        if not killed and now.workers and now.blocks >= now.of // 4:
            os.kill(now.workers[0].pid, signal.SIGKILL)
            killed.append((now.workers[0].pid, now.blocks))

    report = fleet.verify(UNIT, tests=TESTS, state=tmp_path, progress=kill)
    assert killed, "the campaign was over before a worker could be killed"
    assert [loss.worker.pid for loss in report.losses] == [killed[0][0]]
    assert report.losses[0].blocks > 0 and killed[0][1] < report.of
    assert report.agrees and sum(worker.blocks for worker in report.workers) == report.of
    assert len({worker.pid for worker in report.workers}) >= 2
    whole = bitmma.verify(UNIT, tests=TESTS)
    assert report.digest == whole.digest and report.dot_products == whole.dot_products
    # the file is that of the command
    assert merge(list(tmp_path.iterdir())) == whole
    print(f"{report.dot_products} dot products, {report.seconds:.1f} s, killed at block {killed[0][1]} of {report.of}")


def test_the_fleet_goes_on_with_a_file(cluster, tmp_path):
    from bitmma import fleet

    path = tmp_path / "state"
    first = bitmma.verify(UNIT, tests=2_000_000, state=path)
    (file,) = path.iterdir()
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: 1 + first.of // 2]))
    report = fleet.verify(UNIT, tests=2_000_000, state=path, resume=True, workers=1, progress=False)
    assert report.digest == first.digest
    assert sum(worker.blocks for worker in report.workers) == first.of - first.of // 2
    assert json.loads(lines[0])["blocks"] == first.of
    # a campaign whose blocks are not all there
    file.write_text("".join(lines[:3]))
    part = merge([file])
    assert part.verdict == "incomplete" and part.missing == [(2, first.of - 1)]


def test_a_unit_that_fails_everywhere_ends_the_fleet(cluster):
    from bitmma import fleet

    with pytest.raises(bitmma.UnitError, match="2 workers were lost, 1 are allowed; the last: .*no-such-program"):
        fleet.verify("exec:no-such-program", workers=1, losses=1, progress=False)
    with pytest.raises(bitmma.OptionError, match="unknown kind of unit"):
        fleet.verify("gpu:0", workers=1, progress=False)
    with pytest.raises(bitmma.OptionError, match="0 workers"):
        fleet.verify(UNIT, workers=0)
