"""Measures Flowmill beside TensorFlow and ONNX Runtime and prints the table of benches/README.md.

    python benches/peers/run.py [--only overhead,building,models,start] [--models mlp,lstm,…] [--seconds S] [--write]

Models are made once into benches/peers/models (make_models.py; some minutes). `--write` puts the table into benches/README.md.
"""
import argparse
import os
import platform
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import building  # noqa: E402
import measure  # noqa: E402
import models  # noqa: E402
import overhead  # noqa: E402
import start  # noqa: E402

MODELS = os.path.join(HERE, "models")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def machine():
    return "%s, %d cores, Python %s" % (measure.processor(), os.cpu_count(), platform.python_version())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="overhead,building,models,start")
    parser.add_argument("--models", default="mlp,lstm,bert,mobilenetv2,resnet50")
    parser.add_argument("--seconds", type=float, default=2.0, help="time spent on each engine and row")
    parser.add_argument("--write", action="store_true", help="put the table into benches/README.md")
    args = parser.parse_args()
    rows = []
    parts = args.only.split(",")

    def add(generated):
        for row in generated:
            rows.append(row)
            print(" | ".join(row.cells()), flush=True)
    names = args.models.split(",") if "models" in parts else []
    missing = [n for n in names if not os.path.exists(os.path.join(MODELS, n + ".npz"))]
    if missing:
        subprocess.run([sys.executable, os.path.join(HERE, "make_models.py"), MODELS, *missing], check=True)
    with measure.engines("flowmill", "tensorflow", "onnxruntime") as found:
        if "overhead" in parts:
            add(overhead.rows(found, args.seconds))
        if "building" in parts:
            add(building.rows(found, args.seconds))
        add(models.rows(found, MODELS, names, args.seconds))
    if "start" in parts:
        add(start.rows())
    text = machine() + "\n\n" + measure.table(rows)
    print("\n" + text)
    if args.write:
        path = os.path.join(HERE, "..", "README.md")
        with open(path) as f:
            page = f.read()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        with open(path, "w") as f:
            f.write(before + BEGIN + "\n" + text + "\n" + END + after)


if __name__ == "__main__":
    main()
