"""Measures an empty node on Flowmill's executor beside an empty task of Taskflow, in turns, and prints a table.

    python benches/peers/taskflow.py [--include DIRECTORY] [--turns N]

Taskflow is headers alone: Debian's libtaskflow-cpp-dev, or a copy of its repository; DIRECTORY is the one that holds `taskflow/taskflow.hpp`.
Without them this says so and ends. Needs a C++20 compiler and cargo.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TASKS = 10_000
ROWS = [(shape, threads) for shape in ("chain", "wide") for threads in (1, 2)]


def build(include, directory):
    program = os.path.join(directory, "taskflow")
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-march=native", "-pthread", "-I" + include,
               os.path.join(HERE, "taskflow.cpp"), "-o", program]
    subprocess.run(command, check=True)
    return program


def theirs(program):
    text = subprocess.run([program, str(TASKS)], check=True, capture_output=True, text=True).stdout
    return {(shape, int(threads)): float(ns) for shape, threads, ns in (line.split() for line in text.splitlines())}


def ours():
    command = ["cargo", "bench", "--quiet", "-p", "flowmill-runtime", "--bench", "executor", "--", "empty nodes, 10,000"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(\w+) of empty nodes, 10,000, (\d) threads?, a node\s+([\d.]+) ns", text, re.MULTILINE)
    return {(shape, int(threads)): float(ns) for shape, threads, ns in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", default="/usr/include")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.include, "taskflow", "taskflow.hpp")):
        sys.exit("no taskflow/taskflow.hpp in %s: install libtaskflow-cpp-dev or give --include" % args.include)
    with tempfile.TemporaryDirectory() as directory:
        program = build(args.include, directory)
        turns = [(ours(), theirs(program)) for _ in range(args.turns)]
    print("| an empty node of 10,000 | Flowmill | Taskflow | Taskflow ÷ Flowmill |\n|---|---|---|---|")
    for row in ROWS:
        mine, other = (min(turn[side][row] for turn in turns) for side in (0, 1))
        print("| %s, %d thread%s | %.1f ns | %.1f ns | %.1f× |" % (row[0], row[1], "s" if row[1] > 1 else "", mine, other, other / mine))


if __name__ == "__main__":
    main()
