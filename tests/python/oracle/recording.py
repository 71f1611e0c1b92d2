"""The writer of recorded runs: `replay.py` describes the format."""

import hashlib
import io
import json
import zipfile

import numpy as np


class Recording:
    """Runs with their graphs and arrays, each of which is stored once."""

    def __init__(self):
        self.arrays, self.graphs, self.runs = {}, {}, []

    def graph(self, message: bytes) -> str:
        """Stores a serialized GraphDef and returns its key."""
        key = hashlib.sha1(message).hexdigest()[:16]
        self.graphs[key] = message
        return key

    def value(self, value) -> dict:
        """Stores the value of a tensor and returns what refers to it."""
        value = np.asarray(value)
        if value.dtype.kind in "OSU":
            strings = [x if isinstance(x, bytes) else str(x).encode() for x in value.ravel()]
            return {"shape": value.shape, "strings": [x.hex() for x in strings]}
        key = hashlib.sha1(value.tobytes() + str((value.dtype, value.shape)).encode()).hexdigest()[:16]
        self.arrays[key] = value
        return {"array": key}

    def keep(self, runs: list):
        """Keeps these runs alone, and the graphs and arrays that they use."""
        values = [v for run in runs for v in [*run["feeds"].values(), *run.get("results", ())]]
        arrays, graphs = {v.get("array") for v in values}, {run["graph"] for run in runs}
        self.arrays = {key: array for key, array in self.arrays.items() if key in arrays}
        self.graphs = {key: message for key, message in self.graphs.items() if key in graphs}
        self.runs = runs

    def write(self, file):
        """Writes the recording to a path or file."""
        packed = io.BytesIO()
        np.savez(packed, **self.arrays)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, message in self.graphs.items():
                archive.writestr(f"graphs/{key}.pb", message)
            archive.writestr("arrays.npz", packed.getvalue())
            archive.writestr("runs.jsonl", "".join(json.dumps(run) + "\n" for run in self.runs))
