"""Paired timing: the peers take turns within one run, and the minimum of many turns counts.

These machines are noisy, so a time alone says little; the ratio of two minima measured in turns says more. Each engine has a process of its own, as it
has in use, which is stopped while another has its turn: threads that wait in loops for some time after a call (ONNX Runtime's do) take no core from
those that are measured.
"""
import contextlib
import multiprocessing
import os
import pathlib
import signal
import time


CPU_FACTS = pathlib.Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's name and the widest of its vectors that Flowmill has kernels for."""
    text = CPU_FACTS.read_text() if CPU_FACTS.exists() else ""
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    values = {key.strip(): value.strip() for key, value in lines.items()}
    flags = values.get("flags", "").split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "portable vectors"
    return f"{values.get('model name', 'a processor without a name')}, {vectors}"


def _serve(pipe):
    """What an engine's process does: makes callables, calls them, times them."""
    call = None
    while True:
        request, *rest = pipe.recv()
        try:
            if request == "make":
                call = None  # closes the session before
                make, arguments = rest
                call = make(*arguments)
                answer = None
            elif request == "call":
                answer = call()
            else:
                start = time.perf_counter()
                for _ in range(rest[0]):
                    call()
                answer = time.perf_counter() - start
            pipe.send((True, answer))
        except Exception as e:  # goes to the process that asked
            pipe.send((False, "%s: %s" % (type(e).__name__, e)))


class Engine:
    """A process that makes one callable at a time, calls it and times it."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()

    def _ask(self, *request):
        os.kill(self._process.pid, signal.SIGCONT)
        self._pipe.send(request)
        done, answer = self._pipe.recv()
        os.kill(self._process.pid, signal.SIGSTOP)
        if not done:
            raise RuntimeError(answer)
        return answer

    def make(self, function, *arguments):
        """Calls `function`, which must be one that can be imported, to make the callable."""
        self._ask("make", function, arguments)

    def call(self):
        return self._ask("call")

    def seconds(self, times):
        """How long so many calls take."""
        return self._ask("time", times)

    def close(self):
        self._process.kill()
        self._process.join()


@contextlib.contextmanager
def engines(*names):
    """A process for each."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    found = {name: Engine() for name in names}
    try:
        yield found
    finally:
        for engine in found.values():
            engine.close()


def minimum(found, seconds=2.0, turns=5):
    """The least time of one call, in seconds, for each of `{name: engine}`; they take turns.

    What takes less than a millisecond is called several times a turn. At least `turns` turns, then until `seconds` are spent on each.
    """
    repeats = {}
    for name, engine in found.items():
        engine.call()  # warm-up: plans, packed weights, page faults
        repeats[name] = max(1, int(1e-3 / max(engine.seconds(1), 1e-7)))
    best = {name: float("inf") for name in found}
    spent, turn = {name: 0.0 for name in found}, 0
    while turn < turns or min(spent.values()) < seconds:
        for name, engine in found.items():
            elapsed = engine.seconds(repeats[name])
            spent[name] += elapsed
            best[name] = min(best[name], elapsed / repeats[name])
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
