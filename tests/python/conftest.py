"""What the tests share: paths of test data, and TensorFlow as the oracle."""

import os
import pathlib
import shutil
import sys

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Kernels that depend on the processor take what others refuse, such as images for volumes.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
# The layers and cells of version 1 are in the package tf-keras alone.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
# Sessions choose by estimates: tests compare bits between processes, and leave the user's caches alone.
os.environ.setdefault("FLOWMILL_TUNING", "0")
sys.path.insert(0, str(pathlib.Path(__file__).parent / "oracle"))


@pytest.fixture(scope="session")
def data() -> pathlib.Path:
    """The directory of test data."""
    return pathlib.Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def tf1():
    """TensorFlow with its version 1 API, imported once for all tests: that takes seconds."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    return tf


@pytest.fixture(scope="session")
def chromium():
    """The program of a browser that ``FLOWMILL_CHROMIUM`` names, or of the system's (Debian's package ``chromium``); None if there is none."""
    names = ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"]
    return next((path for path in [os.environ.get("FLOWMILL_CHROMIUM"), *map(shutil.which, names)] if path), None)


# Playwright's event loop counts as running in this thread until Playwright stops: tests of other modules could not call `asyncio.run`.
@pytest.fixture(scope="module")
def browser(chromium):
    """A browser: that of `chromium`, or Playwright's own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        try:
            launched = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"there is no browser, which `make browser` installs: {error.message.splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture
def open_window(browser, request):
    """Opens an address in a window of its own; fails if the page has an error or, as a file, requests anything else.

    The options are those of Playwright's `new_context`. Answers of servers with an error status are no errors of the page. With ``FLOWMILL_SCREENSHOTS``,
    each window leaves a picture in that directory.
    """
    problems, pages = [], []

    def open_it(url, **options):
        page = browser.new_context(**options).new_page()
        pages.append(page)
        is_file = url.startswith("file:")
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if is_file or "Failed to load" not in message.text else None)
        page.on("request", lambda asked: problems.append(asked.url) if is_file and asked.url.split("#")[0] != url.split("#")[0] else None)
        page.goto(url)
        return page

    yield open_it
    pictures = os.environ.get("FLOWMILL_SCREENSHOTS")
    for number, page in enumerate(pages):
        if pictures:
            page.screenshot(path=f"{pictures}/{request.node.name}-{number}.png", full_page=True)
        page.context.close()
    assert problems == []


@pytest.fixture(params=["frames", "functions"])
def control_flow(request, tf1):
    """Runs a test twice: loops and conditionals are frames and switches in both modules, then they are functions."""
    import flowmill

    modules = (tf1, flowmill)
    for tf in modules:
        (tf.enable_control_flow_v2 if request.param == "functions" else tf.disable_control_flow_v2)()
    yield request.param
    for tf in modules:
        tf.disable_control_flow_v2()
