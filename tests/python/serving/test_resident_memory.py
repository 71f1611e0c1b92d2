"""The memory of a server that serves small models is little more than the code that serves them."""

import re
import time

from server_process import ServerProcess

MB = 1 << 20


def test_code_that_only_loads_models_does_not_stay_resident(linear):
    """The peak is that of the load, which runs the passes and the makers of kernels."""
    with ServerProcess(linear) as server:
        end = time.monotonic() + 20
        while True:
            status = open(f"/proc/{server.process.pid}/status").read()
            peak, now = (int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) << 10 for name in ("VmHWM", "VmRSS"))
            if peak - now > 4 * MB:
                break
            assert time.monotonic() < end, (peak, now)
            time.sleep(0.05)
        with server.connect() as connection:
            assert connection("/v1/models/linear:predict", b'{"instances": [[1, 2, 3]]}')[0] == 200
