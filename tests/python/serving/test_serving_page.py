"""The commands and programs of docs/serving.md do what the page says."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from served_models import ROOT

PAGE = ROOT / "docs" / "serving.md"

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)

# A command with curl and the answer that follows it.
CALLS = [(block, BLOCKS[i + 1][1]) for i, (kind, block) in enumerate(BLOCKS[:-1]) if kind == "sh" and block.startswith("curl") and BLOCKS[i + 1][0] == "json"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("command, answer", CALLS, ids=[str(i) for i in range(len(CALLS))])
def test_commands_have_the_answers_of_the_page(server, command, answer):
    done = subprocess.run(["bash", "-c", command.replace("http://localhost:8501", server.rest_url)], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == json.loads(answer)


def test_there_are_commands_of_both_protocols():
    assert len([c for c, _ in CALLS if "/v1/" in c]) >= 3 and len([c for c, _ in CALLS if "/v2/" in c]) >= 2


@pytest.mark.parametrize("program", [block for kind, block in BLOCKS if kind == "python"])
def test_programs_run(linear, program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=linear.parent)
    assert done.returncode == 0, done.stderr


def test_flags_of_the_page_are_those_of_the_command():
    page = PAGE.read_text().split("## From Triton")[0]
    done = subprocess.run([sys.executable, "-m", "flowmill", "serve", "--help"], capture_output=True, text=True, timeout=60, check=True)
    named, known = set(re.findall(r"`--(\w+)", page)), set(re.findall(r"--(\w+)", done.stdout))
    missing = set(re.findall(r"`--(\w+)`", "".join(line for line in page.splitlines() if re.match(r"\| `--\w+` \| no", line))))
    assert missing and not missing & known
    # Some flags are accepted for the sake of old commands, and not listed.
    accepted = [f"--{flag}=1" for flag in sorted(named - known - missing)]
    refused = subprocess.run([sys.executable, "-m", "flowmill", "serve", *accepted], capture_output=True, text=True, timeout=60)
    assert "no model" in refused.stderr, refused.stderr


def test_metrics_of_the_page_are_served(http):
    text = http("/metrics")[1].decode()
    for name in re.findall(r"`((?:flowmill_|:tensorflow:)[\w:]+)`", PAGE.read_text().split("Metrics that are missing")[0]):
        # A server counts traces if it has a collector, and the command alone has a log.
        assert name in text or name.startswith(("flowmill_traces_", "flowmill_lost_log_lines_")), name
