"""Paired timing: the peers take turns within one run, and the minimum of many turns counts.

These machines are noisy, so a time alone says little; the ratio of two minima measured in turns says more.
"""
import time


def minimum(callables, seconds=2.0, turns=5):
    """The least time of one call, in seconds, for each of `{name: callable}`; the callables take turns.

    A callable that takes less than a millisecond is called several times a turn. At least `turns` turns, then until `seconds` are
    spent on each.
    """
    repeats = {}
    for name, call in callables.items():
        call()  # warm-up: plans, packed weights, page faults
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7)))
    best = {name: float("inf") for name in callables}
    spent, turn = {name: 0.0 for name in callables}, 0
    while turn < turns or min(spent.values()) < seconds:
        for name, call in callables.items():
            n = repeats[name]
            start = time.perf_counter()
            for _ in range(n):
                call()
            elapsed = time.perf_counter() - start
            spent[name] += elapsed
            best[name] = min(best[name], elapsed / n)
        turn += 1
        if turn > 10_000:
            break
    return best


class Row:
    """One line of the table: what was measured, the least times by engine in seconds, and the goals as ratios peer / Flowmill."""

    def __init__(self, work, times, at_least=None, aim=None, unit="ms", divide=1.0):
        self.work, self.times, self.at_least, self.aim, self.unit, self.divide = work, times, at_least, aim, unit, divide

    def ratio(self, peer):
        mine, theirs = self.times.get("flowmill"), self.times.get(peer)
        return theirs / mine if mine and theirs else None

    def cells(self):
        scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1e-6}[self.unit] / self.divide

        def time_cell(engine):
            t = self.times.get(engine)
            return "" if t is None else "%.3g %s" % (t * scale, self.unit.replace("us", "µs"))

        def ratio_cell(peer):
            r = self.ratio(peer)
            return "" if r is None else "%.1f×" % r if r >= 3 else "%.2f×" % r
        goal = "" if self.at_least is None else "%g×" % self.at_least
        aim = "" if self.aim is None else "%g×" % self.aim
        return [self.work, time_cell("flowmill"), time_cell("tensorflow"), time_cell("onnxruntime"),
                ratio_cell("tensorflow"), ratio_cell("onnxruntime"), goal, aim]


HEADER = ["work", "Flowmill", "TensorFlow", "ONNX Runtime", "TensorFlow ÷ Flowmill", "ONNX Runtime ÷ Flowmill", "at least", "aim"]


def table(rows):
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return "\n".join(lines)
