"""Triton's clients, synchronous and asynchronous, over REST and gRPC."""

from flowmill import serving
from served_models import DIGITS


def test_every_call(run_clients, linear, classified):
    models = {"classified": classified, "digits": DIGITS, "linear": linear}
    with serving.Server(models, control="explicit", load=[*models]) as server:
        run_clients("triton.py", server.wait_until_ready(120))
