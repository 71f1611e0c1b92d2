"""Tests of the container file, the system service and the Kubernetes manifest of the documentation."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from served_models import ROOT, Http, free_ports

FILES = ROOT / "docs" / "serving"


@pytest.fixture(scope="module")
def program():
    """The newest build of the program `flowmill`, which is not in the wheel. Without one, it is built."""
    paths = [ROOT / "target" / profile / "flowmill" for profile in ("release", "debug")]
    if not any(path.exists() for path in paths):
        if shutil.which("cargo") is None:
            pytest.skip("the program is not built, and cargo is not installed")
        subprocess.run(["cargo", "build", "--workspace", "--bin=flowmill", "--locked", "--quiet"], cwd=ROOT, check=True)
    return max((path for path in paths if path.exists()), key=lambda path: path.stat().st_mtime)


def instructions():
    """Returns the container file's instructions for its last stage, with their arguments."""
    text = (FILES / "Containerfile").read_text().replace("\\\n", " ")
    found = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    last = max(i for i, (name, _) in enumerate(found) if name == "FROM")
    return found[:last], {name: argument for name, argument in found[last:]}


def arguments(text):
    return [part.strip(' "') for part in text.strip("[]").split(",")]


@pytest.fixture
def root(program, tmp_path):
    """The image's root file system, assembled as the container file says."""
    build, last = instructions()
    assert last["FROM"] == "scratch" and last["COPY"] == "--from=build /image/ /"
    script, source, image = re.search(r"&& (\S+) (\S+) (/image)$", dict(build)["RUN"]).groups()
    assert source == "target/release/flowmill" and image == "/image"
    root = tmp_path / "root"
    subprocess.run([ROOT / script, program, root], check=True)
    return root


def in_root(root, user):
    """Returns the beginning of a command that runs within `root` as `user`, and what paths of the image begin with there.

    Where the kernel allows no other root, the program runs as the user of the tests, with the image's own loader and libraries.
    """
    if os.geteuid() == 0:
        command = ["chroot", f"--userspec={user}", str(root)]
    else:
        command = ["unshare", "--user", "--map-root-user", "chroot", str(root)]
    tried = subprocess.run([*command, "/usr/bin/flowmill", "--version"], capture_output=True, text=True)
    if "not permitted" in tried.stderr.lower() or "denied" in tried.stderr.lower():
        loader = next(path for path in root.rglob("ld-*.so*"))
        folders = sorted({str(path.parent) for path in root.rglob("*.so*")})
        command, prefix = [str(loader), "--library-path", ":".join(folders)], str(root)
        tried = subprocess.run([*command, f"{prefix}/usr/bin/flowmill", "--version"], capture_output=True, text=True)
    else:
        prefix = ""
    assert tried.returncode == 0, tried.stderr
    return command, prefix


def test_the_image_serves_a_model(root, linear):
    _, last = instructions()
    shutil.copytree(linear, root / "models" / "linear")
    (root / "models").chmod(0o755)
    entry, defaults = arguments(last["ENTRYPOINT"]), arguments(last["CMD"])
    assert last["USER"] == "65532:65532" and last["STOPSIGNAL"] == "SIGTERM" and last["EXPOSE"].split() == ["8500", "8501"]
    assert f":{last['USER']}:" in (root / "etc" / "passwd").read_text()
    # Other ports than the image's own, which may be taken on this machine.
    ports = free_ports(2)
    command, prefix = in_root(root, last["USER"])
    entry, defaults = [prefix + entry[0], *entry[1:]], [text.replace("=/", f"={prefix}/") for text in defaults]
    command += [*entry, *defaults, f"--port={ports[0]}", f"--rest_api_port={ports[1]}"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert f":{ports[1]}" in server.stdout.readline()
        http = Http(f"http://127.0.0.1:{ports[1]}")
        wait_until_ready(http)
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        assert prefix or os.geteuid() != 0 or last["USER"].partition(":")[0] == re.search(r"^Uid:\s+(\d+)", status, flags=re.MULTILINE)[1]
        assert http.json("/v1/models/linear:predict", {"instances": [[1, 2, 3]]}) == (200, {"predictions": [[3.0, 6.0, 9.0]]})
        server.send_signal(getattr(signal, last["STOPSIGNAL"]))
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
        server.communicate()


def test_the_image_is_small(root, program):
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) < 20 and not any(path.name in ("sh", "bash", "python3") for path in files)
    if program.parent.name != "release":
        # The size of the program is that of a build for debugging.
        files.remove(root / "usr/bin/flowmill")
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files, {size / 1e6:.1f} MB")
    assert size < (60e6 if program.parent.name == "release" else 8e6)


def wait_until_ready(http):
    end = time.monotonic() + 60
    while http("/v2/health/ready")[0] != 200:
        assert time.monotonic() < end
        time.sleep(0.02)


def check_flags(program, flags):
    """Asserts that the program knows the flags."""
    known = subprocess.run([program, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    for flag in flags:
        assert flag.partition("=")[0] + " " in known or flag.partition("=")[0] + "\n" in known or flag.partition("=")[0] + "[" in known, flag


def test_the_unit_is_valid(program, tmp_path):
    text = (FILES / "flowmill.service").read_text()
    command = shlex.split(re.search(r"^ExecStart=(.*)$", text, flags=re.MULTILINE)[1])
    assert command[:2] == ["/usr/local/bin/flowmill", "serve"]
    check_flags(program, command[2:])
    # The unit waits for longer than the server drains.
    drain = int(re.search(r"--drain_seconds=(\d+)", text)[1])
    assert int(re.search(r"TimeoutStopSec=(\d+)", text)[1]) > drain
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "flowmill.service"
    unit.write_text(text.replace(command[0], "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_manifest_names_paths_and_flags_that_are_there(program, http, client_packages):
    import yaml

    deployment, service = yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    check_flags(program, container["args"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": 8500, "rest": 8501}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        get = container[probe]["httpGet"]
        assert get["port"] == "rest" and http(get["path"])[0] == 200, probe
    annotations = template["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["rest"]) and http(annotations["prometheus.io/path"])[0] == 200
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert {port["targetPort"] for port in service["spec"]["ports"]} == ports.keys()
    assert template["spec"]["securityContext"]["runAsNonRoot"] and container["securityContext"]["readOnlyRootFilesystem"]
