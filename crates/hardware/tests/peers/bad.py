"""A peer that does what its first argument says; the unit is 2×2×2, FP16 in, FP32 out."""
import json
import os
import struct
import sys
import time

mode = sys.argv[1]
out, source = sys.stdout.buffer, sys.stdin.buffer
hello = {"bitmma": 1, "name": "bad " + mode, "m": 2, "n": 2, "k": 2,
         "a": "f16", "b": "f16", "c": "f32", "d": "f32"}
hello.update(json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})


def say(line):
    out.write(line)
    out.flush()


if mode == "dies at once":
    sys.exit("no such device: 7")
if mode == "says nothing":
    time.sleep(600)
if mode == "child says nothing":
    import subprocess
    child = subprocess.Popen(["sleep", "600"])
    with open(sys.argv[3], "w") as file:
        file.write(str(child.pid))
    time.sleep(600)
if mode == "nonsense":
    say(b"Hello, I am a GPU!\n")
    time.sleep(600)
if mode == "endless line":
    while True:
        say(b"x" * 65536)
if mode == "half a line":
    say(b'{"bitmma":1,')
    sys.exit(0)
if mode == "closes":
    say(json.dumps(hello).encode() + b"\n")
    os.close(1)
    time.sleep(600)
say(json.dumps(hello).encode() + b"\n")
if mode == "hangs deaf":
    time.sleep(600)
if mode == "babbles":
    try:
        while True:
            say(b"spam" * 16384)
    except BrokenPipeError:
        sys.exit(1)
while header := source.read(16):
    magic, sequence, count, length = struct.unpack("<4sIII", header)
    request = source.read(length)
    code = 4 if hello["d"] == "f32" else 1
    d = bytes(4 * code * count)
    head = [b"MMAD", sequence, count, len(d)]
    after = b""
    if mode == "hangs":
        time.sleep(600)
    if mode == "dies":
        sys.stderr.write("fatal: ECC error at 0x1234\n")
        sys.exit(3)
    if mode == "killed":
        os.kill(os.getpid(), 9)
    if mode == "half a frame":
        say(struct.pack("<4sIII", *head) + d[:5])
        sys.exit(0)
    if mode == "stalls":
        say(struct.pack("<4sIII", *head) + d[:5])
        time.sleep(600)
    if mode == "short":
        d = d[:-4]
        head[3] -= 4
    if mode == "long":
        d += b"1234"
        head[3] += 4
    if mode == "more":
        after = b"tail"
    if mode == "magic":
        head[0] = b"XXXX"
    if mode == "sequence":
        head[1] += 1
    if mode == "count":
        head[2] += 1
    if mode == "range":
        d = b"\xff" * len(d)
    if mode == "refuses" and sequence == 0:
        d = b"out of memory: 12 of 16 GiB taken"
        head[0], head[3] = b"MMAE", len(d)
    say(struct.pack("<4sIII", *head) + d + after)
