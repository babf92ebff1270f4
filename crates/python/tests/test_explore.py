"""The explorer's server from Python: its page, its answers, its end."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

import numpy as np
import pytest

import bitmma


def asked(address: str, question: object) -> object:
    request = urllib.request.Request(address.partition("#")[0] + "ask", data=json.dumps(question).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["ok"]


def test_the_page_is_served_until_it_is_stopped():
    with bitmma.explore("u=h100 wgmma f16 f32&a=1", browser=False) as explorer:
        assert explorer.is_running and explorer.address in repr(explorer)
        assert explorer.address.endswith("/#u=h100+wgmma+f16+f32&a=1")
        with urllib.request.urlopen(explorer.address, timeout=30) as page:
            assert b"<title>bitmma explorer</title>" in page.read()
        question = {"ask": "explain", "units": [{"unit": "h100 wgmma f16 f32"}], "input": {"a": "3 1", "b": "0.5 2", "c": "1"}}
        answer = asked(explorer.address, question)
        assert answer["units"][0]["d"]["value"] == "4.5"
        frame = explorer._repr_html_()
        assert "<iframe" in frame and explorer.address.replace("&", "&amp;") in frame
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(explorer.address.split("/", 3)[0] + "//" + explorer.address.split("/", 3)[2] + "/", timeout=30)
    assert not explorer.is_running and "stopped" in repr(explorer) and "stopped" in explorer._repr_html_()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(explorer.address, timeout=5)
    explorer.stop()


def test_what_python_copies_runs():
    """The code that the page offers to copy gives the result that it showed."""
    with bitmma.explore(browser=False) as explorer:
        for unit, edit in (("h100 wgmma f16 f32", {}), ("mi300x xf32", {}), ("b200 nvfp4", {}), ("h100 wgmma f16 f32", {"F": "13"}), ("a100 mma m16n8k16 bf16 f32", {})):
            question = {"ask": "explain", "units": [{"unit": unit, "edit": edit}], "input": {"a": "1.5 0.1 -3", "b": "1 0.7 6", "c": "0x1p-3"}}
            one = asked(explorer.address, question)["units"][0]
            printed: list[str] = []
            exec(compile(one["copies"]["python"], unit, "exec"), {"print": lambda text: printed.append(str(text))})
            assert printed[0].splitlines()[-1] == f"d = {one['d']['value']}", unit


@pytest.mark.parametrize("port", [0, 65536, 70000, -1, True, False, 80.0, "80", [80]])
def test_a_wrong_port_is_named(port):
    with pytest.raises(bitmma.OptionError, match=re.escape(f"port is {port!r}; an integer from 1 to 65535 is expected")):
        bitmma.explore(port=port, browser=False)


@pytest.mark.parametrize("state", [None, 3, b"a=1", ["a=1"]])
def test_a_wrong_state_is_named(state):
    with pytest.raises(bitmma.OptionError, match=re.escape(f"state is {state!r}; a text is expected: a copied link")):
        bitmma.explore(state, browser=False)


def test_a_port_that_is_used_is_an_error():
    with bitmma.explore(browser=False) as first:
        port = int(first.address.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match=f"port {port}: another program uses it; choose another port, or leave it out"):
            bitmma.explore(port=port, browser=False)
        with pytest.raises(OSError, match=f"port {port}: another program"):
            bitmma.explore(port=np.uint16(port), browser=False)  # any integer is one


def test_an_address_is_one_line():
    with bitmma.explore("u=h100 wgmma f16 f32&a=1\n2\"<", browser=False) as explorer:
        assert explorer.address.endswith("/#u=h100+wgmma+f16+f32&a=1%0A2%22%3C")
