"""Compares placements by cost with others on simulated machines, and the prediction of a step with a real one.

    python benches/placement.py MODELS [--write]

MODELS is a directory of frozen graphs (`*.pb`). Random graphs are made with fixed seeds. The table goes to standard output, and with `--write`
between the marks of `benches/PLACEMENT.md`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PAGE = Path(__file__).with_name("PLACEMENT.md")
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
NUM_RANDOM = 50
# Devices, and bytes per second of each link.
MACHINES = [(2, 1e9), (2, 2e10), (8, 1e9), (8, 2e10)]


def machine(num_devices: int, bytes_per_second: float) -> dict:
    """Returns the description of a machine of equal devices, with a memory limit of 4 GiB each."""
    device = {"flops_per_second": 5e10, "bytes_per_second": 2e10, "launch_seconds": 2e-7, "memory_bytes": 4 << 30}
    link = {"bytes_per_second": bytes_per_second, "latency_seconds": 2e-6}
    return {"devices": [{"name": f"CPU:{i}", **device} for i in range(num_devices)], "link": link}


def flowmill(*args) -> str:
    done = subprocess.run([sys.executable, "-m", "flowmill", *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"flowmill {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def place(model: Path, description: Path, *args) -> dict:
    num_devices = len(json.loads(description.read_text())["devices"])
    return json.loads(flowmill("place", model, "--machine", description, "--devices", f"CPU:{num_devices}", "--batch", 8, "--json", *args))


def random_graph(seed: int):
    """Returns a random graph of 20 to 200 products and element-wise nodes on square matrices, most of which read recent results."""
    import flowmill as fm

    random = np.random.default_rng(seed)
    size = int(random.choice([64, 128, 256]))
    with fm.Graph().as_default() as graph:
        made = [fm.placeholder(fm.float32, [size, size], name=f"x{i}") for i in range(int(random.integers(1, 4)))]
        for _ in range(int(random.integers(20, 200))):
            recent = made[-int(random.integers(2, 20)):]
            a, b = (recent[int(random.integers(len(recent)))] for _ in range(2))
            kind = random.integers(3)
            made.append(fm.matmul(a, b) if kind == 0 else fm.tanh(a) if kind == 1 else a + b)
        return graph.as_graph_def()


def row(name: str, reports: list[dict]) -> str:
    """Returns a row with each makespan divided by the lower bound; the geometric mean over `reports`."""
    def ratio(of):
        return statistics.geometric_mean(of(r) / r["other_placements_us"]["lower_bound"] for r in reports)

    bound = statistics.geometric_mean(r["other_placements_us"]["lower_bound"] for r in reports)
    others = [ratio(lambda r, kind=kind: r["other_placements_us"][kind]) for kind in ("simple_placer", "HEFT")]
    return f"| {name} | {bound:,.0f} µs | {others[0]:.2f} | {others[1]:.2f} | {ratio(lambda r: r['predicted_us']):.2f} |"


def simulated(models: list[Path], graphs: list[Path], folder: Path) -> list[str]:
    lines = ["| machine | graph | lower bound | simple ÷ bound | HEFT ÷ bound | by cost ÷ bound |", "|---|---|---|---|---|---|"]
    for num_devices, bandwidth in MACHINES:
        description = folder / "machine.json"
        description.write_text(json.dumps(machine(num_devices, bandwidth)))
        title = f"{num_devices} devices, {bandwidth / 1e9:.0f} GB/s"
        for model in models:
            lines.append(f"| {title} " + row(model.stem, [place(model, description, "--effort", 1_000_000)]))
        reports = [place(graph, description, "--effort", 300_000) for graph in graphs]
        lines.append(f"| {title} " + row(f"{len(graphs)} random graphs (geometric mean)", reports))
        assert all(r["predicted_us"] <= r["other_placements_us"]["simple_placer"] for r in reports)
    return lines


def real(models: list[Path], folder: Path) -> list[str]:
    lines = ["| graph | predicted | measured | error | predicted from measured nodes | error |", "|---|---|---|---|---|---|"]
    description = folder / "this.json"
    flowmill("calibrate", "--devices", 2, "--seconds", 1, "--out", description)
    for model in models:
        report = place(model, description, "--measure", "--effort", 1_000_000)
        measured = report["measured_us"]
        predictions = [(time, 100 * (time - measured) / measured) for time in (report["predicted_us"], report["predicted_from_measured_us"])]
        (estimated, error), (from_measured, other_error) = predictions
        lines.append(
            f"| {model.stem} | {estimated:,.0f} µs | {measured:,.0f} µs | {error:+.0f} % | {from_measured:,.0f} µs | {other_error:+.0f} % |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=NUM_RANDOM, help="the number of random graphs")
    parser.add_argument("--no-real", action="store_true", help="leave out the real steps")
    args = parser.parse_args()
    models = sorted(args.models.glob("*.pb"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graphs = []
        for seed in range(args.random):
            graphs.append(folder / f"random{seed}.pb")
            graphs[-1].write_bytes(random_graph(seed).SerializeToString())
        lines = ["Simulated machines:", "", *simulated(models, graphs, folder)]
        if not args.no_real:
            lines += ["", "Two CPU devices of the machine that made this page, at batch 8:", "", *real(models, folder)]
    table = "\n".join(lines) + "\n"
    print(table)
    if args.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
