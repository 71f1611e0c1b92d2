"""The front page of a model server in a real browser: what it shows, the form to try a signature, tokens, keyboard and narrow screens.

The fixtures `browser` and `open_window` of ``conftest.py`` say which browser, and what a page must not do.
"""

import json
import re
import shutil

import pytest

from served_models import DIGITS, Http
from server_process import ServerProcess

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed, or there was no browser: `make browser` installs both")
expect = playwright.expect

#: A name that would run a script if it were taken for markup.
HOSTILE = "<img src=x onerror=document.title=1>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A model with a label and a version that cannot be loaded, and one with a hostile name."""
    base = tmp_path_factory.mktemp("models")
    shutil.copytree(DIGITS / "1", base / "digits" / "1")
    (base / "digits" / "2").mkdir()
    (base / "digits" / "2" / "saved_model.pb").write_bytes(b"\xffno model")
    config = base / "models.config"
    config.write_text(
        f"""model_config_list {{
          config {{ name: "digits" base_path: "{base}/digits" model_version_policy {{ all {{}} }} version_labels {{ key: "stable" value: 1 }} }}
          config {{ name: "{HOSTILE}" base_path: "{DIGITS}" }}
        }}"""
    )
    with ServerProcess(f"--model_config_file={config}", "--max_num_load_retries=0", "--enable_batching") as served:
        yield served


@pytest.fixture
def open_page(open_window):
    """Opens a server's page; see `open_window`."""

    def open_it(server, **options):
        return open_window(f"{server.rest_url}/", **{"viewport": {"width": 1100, "height": 800}, **options})

    return open_it


def model(page, name):
    return page.locator(".model").filter(has=page.get_by_role("heading", name=name, exact=True))


def signature(page, name="digits"):
    """Opens the form of a model's default signature."""
    details = model(page, name).locator("details").first
    details.locator("summary").click()
    return details


def send(form):
    form.get_by_role("button", name="Send").click()


def test_models_have_versions_states_labels_and_signatures(server, open_page):
    page = open_page(server)
    expect(page.locator("#ready")).to_have_text("ready")
    versions = model(page, "digits").locator(".version")
    expect(versions.locator("h4")).to_contain_text(["Version 2 END", "Version 1 AVAILABLE stable"])
    expect(versions.nth(0).locator(".version-error")).to_contain_text("saved_model.pb")
    expect(versions.nth(1).locator(".facts")).to_contain_text("tensorflow_savedmodel, loaded in ")
    details = signature(page)
    expect(details.locator("summary")).to_contain_text("serving_default tensorflow/serving/predict, batches of up to")
    expect(details.locator(".tensors tr").first).to_have_text("imagesinputfloat32[?, 8, 8, 1]")
    expect(page.locator("#server")).to_contain_text("Process memory")


def test_names_are_text_and_no_markup(server, open_page):
    page = open_page(server)
    expect(model(page, HOSTILE).locator("h3")).to_have_text(HOSTILE)
    details = signature(page, HOSTILE)
    send(details)
    expect(details.locator(".result-line")).to_contain_text("200 OK")
    expect(page.locator("img")).to_have_count(0)
    expect(page).to_have_title("Flowmill")


def test_a_signature_is_tried_by_keyboard(server, open_page):
    page = open_page(server)
    summary = model(page, "digits").locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    details = model(page, "digits").locator("details")
    field = details.get_by_label("images float32 [?, 8, 8, 1]")
    assert json.loads(field.input_value()) == [[[[0.0]] * 8] * 8]
    page.keyboard.press("Tab")  # the table, which scrolls
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(details.locator(".result-line")).to_contain_text("200 OK after")
    expect(details.locator(".result-line")).to_contain_text("in the server, 1 row in the batch.")
    answer = json.loads(details.locator(".result").inner_text())
    assert [len(row) for row in answer["outputs"]["probabilities"]] == [10]
    bar = details.get_by_role("img")
    assert [part.split()[0] for part in bar.get_attribute("aria-label").split(", ")] == ["decode", "queue", "compute", "encode", "other"]
    widths = bar.locator(".part").evaluate_all("parts => parts.map((part) => parseFloat(part.style.width))")
    assert sum(widths) == pytest.approx(100, abs=0.1)
    caption = details.locator(".parts").inner_text()
    assert re.fullmatch(r"(?:(?:decode|queue|compute|encode|other) \d+(?:\.\d+)? [nµm]?s(?: · )?)+", caption), caption
    expect(page.locator("#slow")).to_contain_text("digits / 1 / serving_default")


def test_refreshes_keep_what_was_written(server, open_page):
    page = open_page(server)
    details = signature(page)
    field = details.locator("textarea")
    field.fill("my own text")
    for _ in range(2):
        with page.expect_response("**/flowmill/status") as answer:
            pass
        answer.value.finished()
    expect(field).to_have_value("my own text")
    expect(field).to_be_focused()
    details.get_by_role("button", name="Reset").click()
    expect(field).to_have_value("\n".join(["[[[[0.0], " + "[0.0], " * 6 + "[0.0]],", *["  [" + "[0.0], " * 7 + "[0.0]],"] * 6, "  [" + "[0.0], " * 7 + "[0.0]]]]"]))


def test_errors_of_requests_are_shown(server, open_page):
    page = open_page(server)
    details = signature(page)
    for text, message in [("[[1.0]]", "400 error after"), ("{", "400 error after"), ("", "images is empty.")]:
        details.locator("textarea").fill(text)
        send(details)
        expect(details.locator(".result-line.bad")).to_contain_text(message)
    expect(details.locator("textarea")).to_have_attribute("aria-invalid", "true")
    details.locator("textarea").fill("[<i>]")
    send(details)
    expect(details.locator("pre.result")).to_contain_text("JSON: expected a value")


def test_rates_and_latencies_are_live(server, open_page):
    page = open_page(server)
    row = page.locator("#traffic tr").filter(has_text="digits / 1 / serving_default").first
    expect(row).to_be_visible()  # texts of headers are read at once
    columns = page.locator("table").filter(has=page.locator("#traffic")).get_by_role("columnheader").all_inner_texts()
    column = lambda name: row.locator("th, td").nth(columns.index(name))  # noqa: E731
    expect(column("Requests/s")).to_have_text("0")
    http = Http(server.rest_url)
    assert http("/v1/models/digits:predict", {"inputs": [[[[1.0]] * 8] * 8]})[0] == 200
    assert http("/v1/models/digits:predict", {"inputs": [[1.0]]})[0] == 400
    for name in ["Requests/s", "Failures/s", "p50", "p90", "p99", "Rows per batch"]:
        expect(column(name)).not_to_have_text("0" if name.endswith("/s") else "–")
    expect(column("Queue (rows)")).to_have_text("0")


def test_refreshing_can_be_paused(server, open_page):
    page = open_page(server)
    expect(page.locator("#traffic tr")).not_to_have_count(0)
    page.clock.install()
    page.reload()
    expect(page.locator("#traffic tr")).not_to_have_count(0)
    page.get_by_label("Refresh each second").uncheck()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(10_000)
    assert asked == []
    page.get_by_label("Refresh each second").check()
    with page.expect_response("**/flowmill/status"):
        page.clock.run_for(2_000)


def test_tokens_are_asked_for_and_kept_for_the_tab(tmp_path, open_page):
    tokens = tmp_path / "tokens"
    tokens.write_text("look observation\ncall inference\n")
    with ServerProcess(DIGITS, f"--tokens_file={tokens}") as served:
        page = open_page(served)
        field, form = page.locator("#token"), page.locator("#token-form")
        expect(field).to_be_focused()
        expect(form).to_contain_text("asks for a token to show its status")
        field.fill("wrong")
        page.keyboard.press("Enter")
        expect(form).to_contain_text("does not take this token to show its status")
        field.fill("look")
        page.keyboard.press("Enter")
        expect(model(page, "digits")).to_be_visible()
        expect(form).to_be_hidden()
        details = signature(page)
        send(details)
        expect(details.locator(".result-line.bad")).to_contain_text("401")
        expect(form).to_contain_text("for requests to models (group inference)")
        field.fill("call")
        form.get_by_role("button").click()
        send(details)
        expect(details.locator(".result-line")).to_contain_text("200 OK")
        page.reload()
        expect(model(page, "digits")).to_be_visible()
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        other = open_page(served)
        expect(other.locator("#token-form")).to_be_visible()
        expect(other.locator(".model")).to_have_count(0)


def test_a_server_that_ends_is_noticed(open_page):
    with ServerProcess(DIGITS) as served:
        page = open_page(served)
        expect(page.locator("#ready")).to_have_text("ready")
        served.kill()
        expect(page.get_by_role("alert")).to_contain_text("The status cannot be read")
        expect(page.locator("#ready")).to_have_text("no answer")


def test_the_page_is_light_or_dark(server, open_page):
    def lightness(scheme):
        page = open_page(server, color_scheme=scheme)
        expect(page.locator("#traffic tr")).not_to_have_count(0)
        back, text = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ["backgroundColor", "color"])
        return [sum(map(int, color[4:-1].split(","))) for color in (back, text)]

    (light_back, light_text), (dark_back, dark_text) = lightness("light"), lightness("dark")
    assert light_back > 600 > 150 > light_text
    assert dark_back < 150 < 600 < dark_text


def test_narrow_screens_scroll_only_down(server, open_page):
    page = open_page(server, viewport={"width": 320, "height": 600})
    expect(page.locator("#traffic tr")).not_to_have_count(0)
    details = signature(page)
    send(details)
    expect(details.locator(".result-line")).to_contain_text("200 OK")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_page_has_landmarks_headings_and_names(server, open_page):
    page = open_page(server)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Flowmill")
    expect(page.get_by_role("heading", level=2)).to_have_text(["Server", "Models", "Traffic", "Slowest requests of the last ten minutes"])
    for role in ["banner", "main", "navigation"]:
        expect(page.get_by_role(role)).to_have_count(1)
    for name, path in [("Metrics", "metrics"), ("KServe metadata", "v2"), ("OpenAPI", "openapi.json")]:
        expect(page.get_by_role("link", name=name)).to_have_attribute("href", path)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the models")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(model(page, "digits")).to_be_visible()
    unnamed = "fields => fields.filter((field) => field.labels.length === 0 || !field.labels[0].textContent.trim()).map((field) => field.outerHTML)"
    assert page.locator("input, textarea").evaluate_all(unnamed) == []
    signature(page)
    regions = page.get_by_role("region")
    names = regions.evaluate_all("all => all.map((one) => one.getAttribute('aria-label') ?? document.getElementById(one.getAttribute('aria-labelledby'))?.textContent)")
    assert {"Traffic", "Table of rates and latencies", "Inputs and outputs of serving_default"} <= set(names)
