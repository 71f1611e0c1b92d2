"""Measures networks and training steps beside TensorFlow, ONNX Runtime and OpenVINO and prints the tables of benches/NETWORKS.md.

    python benches/peers/networks.py [NAME ...] [--engines flowmill,tensorflow,…] [--threads 1,2] [--batches 1,8] [--seconds S] [--write]

Networks are made once into benches/peers/models/networks. A network that tf2onnx cannot convert has no figure of ONNX Runtime; OpenVINO reads the
frozen graph, or ONNX where it refuses that. All engines compute in float32.
"""
import argparse
import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import measure  # noqa: E402
from models import onnx_session  # noqa: E402
from overhead import flowmill_session, tensorflow_session  # noqa: E402

DIRECTORY = HERE / "models" / "networks"
PAGE = HERE.parent / "NETWORKS.md"
PEERS = {"tensorflow": "TensorFlow", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


# The modules with networks, and the names of their tables.
ZOOS = {
    "zoo": "NETWORKS",
    "public_zoo": "PUBLIC_NETWORKS",
    "script_zoo": "SCRIPT_NETWORKS",
    "layer_zoo": "LAYER_NETWORKS",
    "research_zoo": "RESEARCH_NETWORKS",
    "domain_zoo": "DOMAIN_NETWORKS",
    "scene_zoo": "SCENE_NETWORKS",
    "wild_zoo": "WILD_NETWORKS",
    "keras_zoo": "KERAS_NETWORKS",
    "paper_zoo": "PAPER_NETWORKS",
    "random_zoo": "RANDOM_NETWORKS",
}

# The modules with training steps, and the names of their tables.
TRAINING_ZOOS = {
    "training_zoo": "TRAININGS",
    "training_domain_zoo": "DOMAIN_TRAININGS",
    "random_zoo": "RANDOM_TRAININGS",
}


def functions_of(tables: dict[str, str]) -> dict:
    """Returns the functions of tables by name. Imports TensorFlow."""
    return {name: build for module, table in tables.items() for name, build in getattr(importlib.import_module(module), table).items()}


def all_networks() -> dict:
    """Returns the functions that make networks, by name."""
    return functions_of(ZOOS)


def all_trainings() -> dict:
    """Returns the functions that make training steps, by name."""
    return functions_of(TRAINING_ZOOS)


def make(names: list[str]) -> None:
    """Writes NAME.pb, NAME.onnx where tf2onnx can, and NAME.json with the names and shapes."""
    from make_models import to_onnx

    networks, trainings = all_networks(), all_trainings()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for name in names:
        made = {**networks, **trainings}[name]()
        (DIRECTORY / f"{name}.pb").write_bytes(made.graph_def.SerializeToString(deterministic=True))
        if name in networks:
            try:
                (DIRECTORY / f"{name}.onnx").write_bytes(to_onnx(made.graph_def, list(made.inputs), made.output))
            except Exception as error:  # tf2onnx refuses graphs with exceptions of many kinds
                print(f"{name}: tf2onnx: {error!r:.200}", file=sys.stderr)
        rest = {key: value for key, value in made._asdict().items() if key not in ("graph_def", "inputs")}
        rest["inputs"] = {key: tuple(value) for key, value in made.inputs.items()}
        (DIRECTORY / f"{name}.json").write_text(json.dumps(rest))
        print(f"made {name}", file=sys.stderr, flush=True)


def write_tables(page: Path, text: str) -> None:
    """Replaces the tables of a page."""
    begin, end = "<!-- tables: begin -->", "<!-- tables: end -->"
    before, after = page.read_text().split(begin)[0], page.read_text().split(end)[1]
    page.write_text(f"{before}{begin}\n{text}{end}{after}")


def description(name: str) -> dict:
    return json.loads((DIRECTORY / f"{name}.json").read_text())


def feeds_of(inputs: dict, batch: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1000)

    def values(shape, num_tokens):
        shape = (batch, *shape)
        return random.integers(0, num_tokens, shape).astype(np.int32) if num_tokens else random.normal(0, 1, shape).astype(np.float32)
    return {key: values(*each) for key, each in inputs.items()}


def openvino_caller(name: str, threads: int, feeds: dict[str, np.ndarray]):
    import openvino

    core = openvino.Core()
    try:
        model = core.read_model(DIRECTORY / f"{name}.pb")
    except RuntimeError:
        model = core.read_model(DIRECTORY / f"{name}.onnx")
    shapes = {key: value.shape for key, value in feeds.items()}
    names = {key: next(each for each in port.names if each in shapes or each + ":0" in shapes) for key, port in enumerate(model.inputs)}
    values = [feeds[each if each in feeds else each + ":0"] for each in names.values()]
    model.reshape({key: list(value.shape) for key, value in enumerate(values)})
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(model, "CPU", options).create_infer_request()
    return lambda: request.infer(values, share_inputs=True)[0]


def network_caller(engine: str, name: str, threads: int, batch: int):
    """A callable that runs a network and returns its output."""
    about = description(name)
    feeds = feeds_of(about["inputs"], batch)
    if engine == "openvino":
        return openvino_caller(name, threads, feeds)
    if engine == "onnxruntime":
        session = onnx_session(str(DIRECTORY / f"{name}.onnx"), threads)
        return lambda: session.run(None, feeds)[0]
    make_session = {"flowmill": flowmill_session, "tensorflow": tensorflow_session}[engine]
    session = make_session((DIRECTORY / f"{name}.pb").read_bytes(), threads)
    return lambda: session.run(about["output"], feeds)


def training_caller(engine: str, name: str, threads: int, batch: int):
    """A callable that does a training step and returns the loss before it."""
    about = description(name)
    feeds = feeds_of(about["inputs"], batch)
    make_session = {"flowmill": flowmill_session, "tensorflow": tensorflow_session}[engine]
    session = make_session((DIRECTORY / f"{name}.pb").read_bytes(), threads)
    find = session.graph.get_operation_by_name
    session.run(find(about["initializer"]))
    step = find(about["step"])
    return lambda: session.run([about["loss"], step], feeds)[0]


def difference(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference, over the largest value."""
    return float(np.max(np.abs(mine - theirs)) / max(np.max(np.abs(theirs)), 1e-30))


class Result:
    """The least times of one row by engine, in seconds, and how far Flowmill's output is from TensorFlow's."""

    def __init__(self, name: str, threads: int, batch: int, times: dict[str, float], error: float | None):
        self.name, self.threads, self.batch, self.times, self.error = name, threads, batch, times, error

    def ratio(self, peer: str) -> float | None:
        return self.times[peer] / self.times["flowmill"] if peer in self.times else None

    def line(self) -> str:
        ratios = ("" if self.ratio(peer) is None else f"{self.ratio(peer):.2f}" for peer in PEERS)
        error = "" if self.error is None else f"{self.error:.0e}"
        return f"| {self.name} | {self.threads} | {self.batch} | {1e3 * self.times['flowmill']:.3g} | {' | '.join(ratios)} | {error} |"


HEADER = f"| network | threads | batch | Flowmill, ms | {' | '.join(f'{each} ÷ Flowmill' for each in PEERS.values())} | difference |\n" + "|---" * 8 + "|"


def measured(found: dict, caller, name: str, threads: int, batch: int, seconds: float) -> Result:
    present = {}
    for engine, process in found.items():
        try:
            process.make(caller, engine, name, threads, batch)
            process.call()
            present[engine] = process
        except RuntimeError as error:
            print(f"{name}: {engine}: {str(error):.200}", file=sys.stderr)
    error = None
    if caller is network_caller and {"flowmill", "tensorflow"} <= present.keys():
        error = difference(present["flowmill"].call(), present["tensorflow"].call())
    return Result(name, threads, batch, measure.minimum(present, seconds), error)


def means(results: list[Result]) -> str:
    """The geometric mean and the least of each peer's ratios over all rows."""
    lines = []
    for peer, title in PEERS.items():
        ratios = [(result.ratio(peer), result.name) for result in results if result.ratio(peer)]
        if ratios:
            mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
            lines.append(f"{title}: geometric mean {mean:.2f}, least {min(ratios)[0]:.2f} ({min(ratios)[1]}).")
    return "\n".join(lines)


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks and trainings; all where none is given")
    parser.add_argument("--engines", default="flowmill,tensorflow,onnxruntime,openvino")
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--batches", type=numbers, default=[1, 8])
    parser.add_argument("--training-batches", type=numbers, default=[8, 32])
    parser.add_argument("--seconds", type=float, default=1.0, help="time spent on each engine and row")
    parser.add_argument("--make", action="store_true", help="only make the networks")
    parser.add_argument("--write", action="store_true", help="put the tables into benches/NETWORKS.md")
    args = parser.parse_args()
    if args.make:
        return make(args.names)
    # TensorFlow is imported in another process, so that this one measures nothing beside itself.
    listing = "import networks; print(*networks.all_networks()); print(*networks.all_trainings())"
    answer = subprocess.run([sys.executable, "-c", listing], cwd=HERE, check=True, capture_output=True, text=True).stdout.splitlines()
    networks, trainings = (line.split() for line in answer[-2:])
    unknown = set(args.names) - {*networks, *trainings}
    if unknown:
        parser.error(f"there is no network {', '.join(sorted(unknown))}")
    names = args.names or [*networks, *trainings]
    missing = [name for name in names if not (DIRECTORY / f"{name}.json").exists()]
    # A process each, since a graph of Keras stays in memory.
    for name in missing:
        subprocess.run([sys.executable, os.path.abspath(__file__), "--make", name], check=True)
    engines = args.engines.split(",")
    parts = {
        "Inference": (network_caller, [name for name in names if name in networks], args.batches, engines),
        "Training steps": (training_caller, [name for name in names if name in trainings], args.training_batches,
                           [engine for engine in engines if engine in ("flowmill", "tensorflow")]),
    }
    text = ""
    for title, (caller, chosen, batches, wanted) in parts.items():
        if not chosen:
            continue
        results = []
        print(f"## {title}\n\n{HEADER}")
        for name in chosen:
            # Processes of their own for each network: engines keep memory.
            with measure.engines(*wanted) as found:
                for threads in args.threads:
                    for batch in batches:
                        results.append(measured(found, caller, name, threads, batch, args.seconds))
                        print(results[-1].line(), flush=True)
        print(f"\n{means(results)}\n")
        text += f"## {title}\n\n" + "\n".join([HEADER, *(result.line() for result in results)]) + f"\n\n{means(results)}\n\n"
    if args.write:
        write_tables(PAGE, text)


if __name__ == "__main__":
    main()
