"""Measures the convolutions of ten networks one by one beside TensorFlow, and prints the tables of benches/LAYERS.md.

    python benches/peers/network_layers.py [NETWORK ...] [--threads 1,2] [--seconds S] [--write]

A layer is measured as layers.py does it, once for all networks that have it. Networks are made into benches/peers/models/networks, like those of networks.py.
"""
import argparse
import math
import subprocess
import sys
from collections import Counter

from layers import Layer, measured, output_size
from measure import engines, processor
from networks import DIRECTORY, HERE, description, numbers, write_tables

PAGE = HERE.parent / "LAYERS.md"
# The networks of benches/LAYERS.md: plain, residual, branched, dense, separable, inverted, grouped and large windows.
NETWORKS = ("VGG16", "Darknet", "ResNet50", "ResNeXt", "InceptionV3", "DenseNet121", "Xception", "MobileNetV2", "EfficientNetB0", "ConvNeXtTiny")
KINDS = {"Conv2D": "conv", "DepthwiseConv2dNative": "depthwise"}


def layer_of(node, size: tuple, weights: tuple) -> Layer | None:
    """The layer of a convolution's `NodeDef` and the shapes of its inputs; `None` if it is one that layers.py has no function for."""
    _, stride, across, _ = node.attr["strides"].list.i
    _, dilation, columns, _ = node.attr["dilations"].list.i or (1, 1, 1, 1)
    padding, layout = (node.attr[name].s.decode() for name in ("padding", "data_format"))
    if None in size or layout not in ("", "NHWC") or padding == "EXPLICIT" or (stride, dilation) != (across, columns):
        return None
    return Layer(KINDS[node.op], size, weights, stride, dilation, padding)


def convolutions(graph):
    """The convolutions of a graph as `NodeDef`, shape of the images and shape of the filter. Keras calls functions that are one convolution of their
    two arguments, for convolutions in groups among others."""
    bodies = {}
    for function in graph.as_graph_def().library.function:
        found = [node for node in function.node_def if node.op in KINDS]
        names = [argument.name for argument in function.signature.input_arg]
        if len(found) == 1 and len(names) == 2 and found[0].input[0] in names:
            bodies[function.signature.name] = found[0], names.index(found[0].input[0])
    for operation in graph.get_operations():
        shapes = [tuple(each.shape.as_list()) if each.shape.rank else () for each in operation.inputs]
        if operation.type in KINDS:
            yield operation.node_def, *shapes
        elif operation.type.endswith("PartitionedCall"):
            node, images = bodies.get(operation.node_def.attr["f"].func.name, (None, 0))
            if node is not None:
                yield node, shapes[images], shapes[1 - images]


def counted(name: str) -> tuple[Counter[Layer], int]:
    """The convolutions of a network for one image with the number of times that each is in it, in the network's order, and the number of those that
    are not among them."""
    import flowmill as tf

    with tf.Graph().as_default() as graph:
        about = description(name)
        images = {key: tf.placeholder(tf.int32 if tokens else tf.float32, [1, *size]) for key, (size, tokens) in about["inputs"].items()}
        tf.import_graph_def((DIRECTORY / f"{name}.pb").read_bytes(), images, name="")
        found = [layer_of(*each) for each in convolutions(graph)]
    return Counter(each for each in found if each), found.count(None)


def lister(names: list[str]):
    """A callable that returns the layers of networks by their names, for a process of an engine."""
    found = {name: counted(name) for name in names}
    return lambda: found


def operations(layer: Layer) -> int:
    """The floating-point operations of a convolution: two for each weight at each position, also where the window is in the padding."""
    batch, height, width, _ = output_size(layer)
    return 2 * batch * height * width * math.prod(layer.weights)


class Result:
    """The times of one layer, or of all layers of a network, in seconds, and their operations."""

    def __init__(self, name: str, operations: int, mine: float, theirs: float):
        self.name, self.operations, self.mine, self.theirs = name, operations, mine, theirs

    @property
    def ratio(self) -> float:
        return self.theirs / self.mine

    def cells(self) -> str:
        micros = 1e6 * self.mine
        rates = (f"{1e-9 * self.operations / time:.1f}" for time in (self.mine, self.theirs))
        return f"{micros:.{0 if micros >= 1000 else 1}f} | {' | '.join(rates)} | {self.ratio:.2f} |"


COLUMNS = "Flowmill, µs | Flowmill, GFLOP/s | TensorFlow, GFLOP/s | TensorFlow ÷ Flowmill |"


def table(title: str, lines: list[str]) -> str:
    return "\n".join([f"| {title} | {COLUMNS}", "|---" * (title.count("|") + 5) + "|", *lines])


def summary(results: list[Result]) -> str:
    """The geometric mean and the extremes of the ratios of layers, each of which counts once."""
    mean = math.exp(sum(math.log(each.ratio) for each in results) / len(results))
    least, most = (pick(results, key=lambda each: each.ratio) for pick in (min, max))
    slower = sum(each.ratio < 1 for each in results)
    return (f"{len(results)} layers: geometric mean {mean:.2f}, least {least.ratio:.2f} ({least.name}), most {most.ratio:.2f} ({most.name}), "
            f"{slower} below 1.")


def tables(layers: dict[str, Counter[Layer]], times: dict[Layer, Result]) -> str:
    """A table of networks, whose times are the sums of those of their convolutions, and one of layers for each network."""
    sums, parts = [], []
    for name, counts in layers.items():
        total = Result(name, *(sum(count * getattr(times[each], field) for each, count in counts.items()) for field in ("operations", "mine", "theirs")))
        sums.append(f"| {name} | {sum(counts.values())} | {total.cells()}")
        parts.append(f"## {name}\n\n" + table("layer | times", [f"| {each.name} | {count} | {times[each].cells()}" for each, count in counts.items()]))
    return "\n\n".join(["## Networks", table("network | convolutions", sums), summary(list(times.values())), *parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="networks of networks.py; those of benches/LAYERS.md where none is given")
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--seconds", type=float, default=0.1, help="time spent on each engine and layer")
    parser.add_argument("--write", action="store_true", help="put the tables into benches/LAYERS.md")
    args = parser.parse_args()
    names = args.names or list(NETWORKS)
    for name in names:
        if not (DIRECTORY / f"{name}.json").exists():
            subprocess.run([sys.executable, str(HERE / "networks.py"), "--make", name], check=True)
    text = ""
    for threads in args.threads:
        with engines("flowmill", "tensorflow") as found:
            found["flowmill"].make(lister, names)
            listed = found["flowmill"].call()
            for name, (_, skipped) in listed.items():
                if skipped:
                    print(f"{name}: {skipped} convolutions are not measured", file=sys.stderr)
            layers = {name: counts for name, (counts, _) in listed.items()}
            results: dict[Layer, Result] = {}
            for layer in {each: None for counts in layers.values() for each in counts}:
                times = measured(found, layer, threads, args.seconds)
                results[layer] = Result(layer.name, operations(layer), times["flowmill"], times["tensorflow"])
                print(f"| {layer.name} | {results[layer].cells()}", file=sys.stderr, flush=True)
        text += f"{processor()}; one image, {threads} thread{'s' if threads > 1 else ''}.\n\n{tables(layers, results)}\n\n"
    print(text)
    if args.write:
        write_tables(PAGE, text)


if __name__ == "__main__":
    main()
