"""Schemathesis makes legal and illegal requests from the description of the REST APIs, and every answer is one that the description has."""

import os
import subprocess

import pytest

from flowmill import serving
from served_models import DIGITS
from server_process import LONG

#: The seed of the requests; a failure prints it, and the command that repeats it.
SEED = int(os.environ.get("FLOWMILL_SEED", "16"))
EXAMPLES = 200 if LONG else 4
#: What is checked of answers, with the exceptions.
CHECKS = """
# Inputs of models are described by their signatures, and not by the page: most random tensors are refused.
checks.positive_data_acceptance.enabled = false
checks.missing_required_header.enabled = false
checks.ignored_auth.enabled = false

# TensorFlow Serving answers other methods with 400.
[[operations]]
include-path-regex = "^/v1/"
checks.unsupported_method.enabled = false

# With the header Inference-Header-Content-Length: 0, any bytes are a tensor.
[[operations]]
include-path-regex = "/infer$"
checks.negative_data_rejection.enabled = false

[parameters]
"""

#: Random names reach no model: some of the requests have the names of those that are there.
KNOWN = '"path.model" = "linear"\n"path.version" = 1\n"path.label" = "stable"\n"path.repository" = "flowmill"\n'


@pytest.mark.parametrize("parameters, phases", [("", "fuzzing"), (KNOWN, "examples,coverage,fuzzing")], ids=["any names", "known names"])
def test_answers_are_as_described(clients_python, linear, tmp_path, parameters, phases):
    models = tmp_path / "models.config"
    models.write_text(f'model_config_list {{ config {{ name: "linear" base_path: "{linear}" version_labels {{ key: "stable" value: 1 }} }} }}')
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(CHECKS + parameters)
    with serving.Server({"digits": DIGITS}, model_config_file=models) as server:
        server.wait_until_ready(120)
        command = [clients_python, "-m", "schemathesis.cli", "--no-color", f"--config-file={settings}", "run", f"{server.rest_url}/openapi.json",
                   f"--seed={SEED}", f"--max-examples={EXAMPLES}", f"--phases={phases}", "--generation-database=none"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout[-20_000:]}{done.stderr[-2000:]}"
