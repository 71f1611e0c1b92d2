"""Tests of the spans that arrive at a collector, which decodes them by OpenTelemetry's own messages."""

import http.server
import queue
import threading

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def posts(addresses):
    """Returns the queue of the posts that arrive at the collector: path, headers and message."""
    received = queue.Queue()

    class Collector(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            received.put((self.path, dict(self.headers), ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", addresses["collector"]), Collector) as collector:
        collector.daemon_threads = True
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        yield received
        collector.shutdown()
        thread.join()


def values(attributes):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


def test_a_request_becomes_spans(posts, addresses):
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}
    answer = httpx.post(f"http://{addresses['http']}/v1/models/linear:predict", json={"instances": [[1, 2, 3]]}, headers=headers)
    assert answer.status_code == 200
    path, headers, message = posts.get(timeout=30)
    assert (path, headers["content-type"]) == ("/v1/traces", "application/x-protobuf")
    resource, = message.resource_spans
    assert values(resource.resource.attributes)["service.name"] == "tests"
    scope, = resource.scope_spans
    spans = {span.name: span for span in scope.spans}
    assert sorted(spans) == ["POST /v1/models/{model}:predict", "batch", "compute", "encode", "queue", "receive"]
    root = spans.pop("POST /v1/models/{model}:predict")
    assert (root.trace_id.hex(), root.parent_span_id.hex(), root.trace_state, root.kind) == (TRACE, PARENT, "vendor=1", root.SPAN_KIND_SERVER)
    assert answer.headers["traceparent"] == f"00-{TRACE}-{root.span_id.hex()}-01"
    found = values(root.attributes)
    assert {"flowmill.model": "linear", "flowmill.model.version": 1, "flowmill.rows": 1, "http.response.status_code": 200}.items() <= found.items()
    for name, span in spans.items():
        parent = spans["batch"] if name == "compute" else root
        assert (span.trace_id, span.parent_span_id) == (root.trace_id, parent.span_id)
        assert parent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= parent.end_time_unix_nano
    assert len({span.span_id for span in scope.spans}) == len(scope.spans)
    assert values(spans["batch"].attributes) == {"flowmill.batch.rows": 1}
