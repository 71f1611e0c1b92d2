"""KServe's own client, over REST and gRPC."""


def test_every_call(run_clients, server):
    run_clients("kserve_sdk.py", server)
