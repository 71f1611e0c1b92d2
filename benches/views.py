"""Compares Flowmill's graph page with TensorBoard's and Netron's in one browser: time to the first picture, time to open a scope, memory.

    python benches/views.py [--markdown FILE] [NAME ...]

needs Flowmill, Playwright with a Chromium (or the program that FLOWMILL_CHROMIUM names), tensorboard and netron. Each graph is shown three times by default, in a
new browser; the table has the medians.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from playwright.sync_api import Error, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "python" / "views"))

import flowmill as tf  # noqa: E402
from view_graphs import generated  # noqa: E402

ROUNDS = 3
LIMIT_SECONDS = 60
MODELS = ROOT / "tests" / "data" / "models"
#: The graphs, each with the address of a scope to open.
GRAPHS = {
    "resnet_small": lambda: (MODELS / "resnet_small.pb").read_bytes(),
    "bert_small": lambda: (MODELS / "bert_small.pb").read_bytes(),
    "lstm": lambda: (MODELS / "lstm_small.pb").read_bytes(),
    "10,000 nodes": lambda: generated(10_000).SerializeToString(),
    "100,000 nodes": lambda: generated(100_000).SerializeToString(),
    "1,000,000 nodes": lambda: generated(1_000_000).SerializeToString(),
}
TOOLS = ("flowmill", "tensorboard", "netron")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(url: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(url):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{url} does not answer")


@contextlib.contextmanager
def running(*command: str):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def flowmill_page(graph_def: bytes, folder: pathlib.Path):
    path = folder / "graph.html"
    tf.view(graph_def).save(path)
    yield path.as_uri()


@contextlib.contextmanager
def tensorboard_page(graph_def: bytes, folder: pathlib.Path):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder / "logs"))
    writer.add_event(Event(graph_def=graph_def))
    writer.close()
    port = free_port()
    with running(sys.executable, "-m", "tensorboard.main", f"--logdir={folder / 'logs'}", f"--port={port}", "--load_fast=false"):
        wait_for(f"http://127.0.0.1:{port}/data/plugin/graphs/info")
        yield f"http://127.0.0.1:{port}/#graphs"


@contextlib.contextmanager
def netron_page(graph_def: bytes, folder: pathlib.Path):
    path = folder / "graph.pb"
    path.write_bytes(graph_def)
    port = free_port()
    script = f"import netron, time; netron.start({str(path)!r}, address=('127.0.0.1', {port}), browse=False); time.sleep(1e6)"
    with running(sys.executable, "-c", script):
        wait_for(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}/"


def first_picture(tool: str, page) -> None:
    """Waits until boxes are on the screen."""
    wait = {"timeout": LIMIT_SECONDS * 1000, "state": "attached"}
    if tool == "flowmill":
        page.wait_for_selector("html[data-ready]", **wait)
    elif tool == "tensorboard":
        page.wait_for_selector("g.node .nodeshape", **wait)
    else:
        page.wait_for_selector("#target g.graph-node[transform]", **wait)


def open_scope(tool: str, page) -> bool:
    """Opens the first scope, and waits until its content is drawn; returns false if the tool has no scopes to open."""
    if tool == "flowmill":
        return page.evaluate(
            """async () => {
              const pane = flowmillView.active;
              const { root } = pane.graph;
              const place = Array.from({ length: root.numChildren }, (_, i) => i).find((i) => root.isScope(i) && !root.open.has(i));
              if (place === undefined) return false;
              await pane.open({ scope: root, place });
              await new Promise((resolve) => pane.addEventListener('drawn', resolve, { once: true }));
              return true;
            }"""
        )
    if tool == "tensorboard":
        scopes = page.locator("g.node g.nodeshape:has(rect)")
        if scopes.count() == 0:
            return False
        # The open scope holds nodes of its own.
        before = page.locator("g.node").count()
        scopes.first.dblclick(force=True)
        deadline = time.monotonic() + LIMIT_SECONDS
        while page.locator("g.node").count() <= before and time.monotonic() < deadline:
            time.sleep(0.01)
        return page.locator("g.node").count() > before
    return False


def renderer_bytes(children: set[int]) -> int:
    """Returns the resident bytes of the largest renderer among these processes."""
    largest = 0
    for pid in children:
        with contextlib.suppress(OSError):
            if "--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_text():
                pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
                largest = max(largest, pages * os.sysconf("SC_PAGE_SIZE"))
    return largest


def processes() -> set[int]:
    return {int(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()}


def measure(tool: str, url: str) -> tuple[float, float | None, int] | str:
    """Returns the seconds to the first picture and to open a scope, and the renderer's bytes; or why there is no picture."""
    before = processes()
    with sync_playwright() as driver:
        program = os.environ.get("FLOWMILL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            start = time.monotonic()
            page.goto(url, timeout=LIMIT_SECONDS * 1000)
            if tool == "netron":
                # It begins when it is allowed to use cookies.
                accept = page.get_by_role("button", name="Accept")
                accept.wait_for()
                start = time.monotonic()
                accept.click()
            try:
                first_picture(tool, page)
            except Error:
                return f"no picture after {LIMIT_SECONDS} s"
            first = time.monotonic() - start
            page.wait_for_timeout(1000)
            start = time.monotonic()
            opened = open_scope(tool, page)
            expand = time.monotonic() - start
            return first, expand if opened else None, renderer_bytes(processes() - before)
        finally:
            browser.close()


def compare(name: str, tool: str, rounds: int) -> tuple[str, str, str]:
    """Returns the cells of a tool's row."""
    with tempfile.TemporaryDirectory() as folder, globals()[f"{tool}_page"](GRAPHS[name](), pathlib.Path(folder)) as url:
        runs = []
        for _ in range(rounds):
            found = measure(tool, url)
            if isinstance(found, str):
                return found, "", ""
            runs.append(found)
    first, bytes_ = statistics.median(run[0] for run in runs), statistics.median(run[2] for run in runs)
    opened = [run[1] for run in runs if run[1] is not None]
    return f"{first:.2f} s", f"{statistics.median(opened):.2f} s" if opened else "–", f"{bytes_ / 2**20:.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"graphs: {', '.join(GRAPHS)}; all by default")
    parser.add_argument("--markdown", help="a file to write the table to")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times that each graph is shown")
    arguments = parser.parse_args()
    lines = ["| graph | tool | first picture | open a scope | memory of the page |", "|---|---|---|---|---|"]
    for name in arguments.names or GRAPHS:
        for tool in TOOLS:
            cells = compare(name, tool, arguments.rounds)
            lines.append(f"| {name} | {tool} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
