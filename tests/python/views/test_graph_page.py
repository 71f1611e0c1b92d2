"""The page of a graph in a real browser: opening scopes, search, paths, filters, colours, links, keyboard, large graphs.

The fixtures `browser` and `open_window` of ``conftest.py`` say which browser, and what a page must not do.
"""

import itertools
import os
import time

import numpy as np
import pytest

import flowmill as tf
from view_graphs import generated, loop_graph

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

#: A text that would run a script if it were taken for markup.
HOSTILE = "</script><img src=x onerror=document.title=1>\"'&"

RECTANGLE = """address => {
  const pane = flowmillView.active;
  return pane.graph.find(address).then((at) => {
    const { x, y, w, h } = pane.rectangle(at);
    const { x: cx, y: cy, k } = pane.camera;
    const { left, top } = pane.canvas.getBoundingClientRect();
    return [left + (x + w / 2) * k + cx, top + (y + Math.min(h / 2, 13)) * k + cy];
  });
}"""
SETTLED = "() => flowmillView.panes.every((pane) => !pane.motion && !pane.isDirty)"
HASH_HAS_THE_CAMERA = """() => {
  const { x, y, k } = flowmillView.active.camera;
  return new URLSearchParams(location.hash.slice(1)).get('camera') === [x.toFixed(1), y.toFixed(1), k.toPrecision(4)].join(',');
}"""


@pytest.fixture
def open_page(open_window, tmp_path):
    """Opens the page of a graph and waits until it is drawn; see `open_window`."""
    paths = (tmp_path / f"page-{number}.html" for number in itertools.count())

    def open_it(page_of_graph, fragment="", **options):
        path = next(paths)
        page_of_graph.save(path)
        page = open_window(path.as_uri() + fragment, **{"viewport": {"width": 1300, "height": 850}, **options})
        page.wait_for_selector("html[data-ready]", state="attached")
        page.wait_for_function(SETTLED)
        return page

    return open_it


@pytest.fixture(scope="module")
def net():
    """Two scopes of layers between an input and a result."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        for i in range(2):
            with tf.name_scope(f"layer_{i}"), tf.device(f"/CPU:{i}"):
                w = tf.constant(np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8), name="w")
                x = tf.nn.relu(tf.matmul(x, w, name="product"), name="relu")
        tf.identity(x, name="y")
    return graph


def item(page, name):
    return page.get_by_role("treeitem").filter(has=page.locator(".name", has_text=name))


def panel(page):
    return page.get_by_role("complementary", name="Details")


def click(page, address, **options):
    page.wait_for_function(SETTLED)
    x, y = page.evaluate(RECTANGLE, address)
    page.mouse.move(x, y)
    (page.mouse.dblclick if options.pop("double", False) else page.mouse.click)(x, y)


def test_scopes_open_and_close_by_mouse(net, open_page):
    page = open_page(tf.view(net))
    expect(page.get_by_role("treeitem")).to_have_count(4)
    click(page, "layer_0", double=True)
    expect(item(page, "product")).to_have_count(1)
    expect(item(page, "layer_0")).to_have_attribute("aria-expanded", "true")
    click(page, "layer_0/product")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("layer_0/product")
    expect(item(page, "product")).to_have_attribute("aria-selected", "true")
    click(page, "layer_0", double=True)
    expect(item(page, "product")).to_have_count(0)


def test_the_tree_is_used_by_keyboard(net, open_page):
    page = open_page(tf.view(net))
    tree = page.get_by_role("tree")
    first = page.get_by_role("treeitem").first
    first.focus()
    page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(tree.locator(":focus")).to_have_attribute("aria-level", "2")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("layer_0/w")
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(first).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("End")
    expect(tree.locator(":focus")).to_contain_text("y")
    page.keyboard.press("Escape")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("graph")


def test_search_finds_names_and_ops(net, open_page):
    page = open_page(tf.view(net))
    page.get_by_role("treeitem").first.focus()
    page.keyboard.press("/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    box.fill("LAYER_1/PROD")
    results = page.locator("#results")
    expect(results).to_contain_text("1 result")
    page.keyboard.press("Enter")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("layer_1/product")
    expect(item(page, "product")).to_be_focused()
    box.fill("op:relu")
    expect(results.get_by_role("button")).to_have_text(["layer_0/relu Relu", "layer_1/relu Relu"])
    box.fill("no such name")
    expect(results).to_contain_text("0 results")


def test_details_have_shapes_attributes_and_constants(net, open_page):
    page = open_page(tf.view(net))
    page.evaluate("flowmillView.active.goTo('layer_0/product')")
    details = panel(page)
    expect(details).to_contain_text("float32[?,8]")
    expect(details).to_contain_text("transpose_a")
    details.get_by_role("button", name="layer_0/w:0").click()
    expect(details).to_contain_text("float32[8,8], 64 elements, 256 bytes")
    expect(details).to_contain_text("min -1, max 1")
    labels = page.evaluate("flowmillView.active.graph.root.data.labels")
    assert "float32[?,8]" in labels


def test_a_path_leads_from_node_to_node(net, open_page):
    page = open_page(tf.view(net))
    page.evaluate("flowmillView.active.goTo('x')")
    panel(page).get_by_role("button", name="Path from here").click()
    page.evaluate("flowmillView.active.goTo('y')")
    panel(page).get_by_role("button", name="Path from x").click()
    names = panel(page).locator(".links button")
    expect(names).to_have_text(["x", "layer_0/product", "layer_0/relu", "layer_1/product", "layer_1/relu", "y"])
    names.nth(3).click()
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("layer_1/product")


def test_filters_dim_what_does_not_match(net, open_page):
    page = open_page(tf.view(net))
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("checkbox", name="/device:CPU:0").check()
    matches = "flowmillView.active.graph.find('{}').then(({{scope, place}}) => flowmillView.active.filter.matches(scope, place))"
    assert [page.evaluate(matches.format(name)) for name in ("layer_0", "layer_1", "x")] == [True, False, False]
    page.get_by_role("button", name="Clear the filter").first.click()
    assert page.evaluate("flowmillView.active.filter.isActive") is False
    page.keyboard.press("Escape")
    page.evaluate("flowmillView.active.goTo('layer_0/relu')")
    panel(page).get_by_role("button", name="What it needs").click()
    expect(panel(page).get_by_role("button", name="Clear the filter")).to_be_visible()
    assert [page.evaluate(matches.format(name)) for name in ("x", "layer_0/product", "layer_1", "y")] == [True, True, False, False]


def test_colours_are_of_devices_types_times_and_memory(net, open_page):
    metadata = tf.RunMetadata()
    with tf.Session(graph=net, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run("y:0", {"x:0": np.ones([4, 8])}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    page = open_page(tf.view(net, run_metadata=metadata))
    colours = page.get_by_label("Colours", exact=True)
    expect(colours.locator("option")).to_have_text(["kind", "op", "device", "data type", "time", "memory"])
    legend = page.locator("#legend")
    colours.select_option("device")
    expect(legend).to_contain_text("device:CPU:1")
    colours.select_option("time")
    expect(legend).to_contain_text("not measured")
    colours.select_option("dtype")
    expect(legend).to_have_text("float32")


def test_links_restore_the_view(net, open_page):
    page = open_page(tf.view(net))
    page.evaluate("flowmillView.active.goTo('layer_1/product')")
    page.get_by_label("Colours", exact=True).select_option("op")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("checkbox", name="MatMul").check()
    page.wait_for_function("() => location.hash.includes('op=MatMul') && location.hash.includes('camera=')")
    page.wait_for_function(SETTLED)
    page.wait_for_function(HASH_HAS_THE_CAMERA)
    fragment = page.evaluate("location.hash")
    other = open_page(tf.view(net), fragment)
    expect(panel(other).get_by_role("heading", level=2)).to_have_text("layer_1/product")
    expect(item(other, "layer_1")).to_have_attribute("aria-expanded", "true")
    expect(other.get_by_label("Colours", exact=True)).to_have_value("op")
    camera = "(({x, y, k}) => [x, y, k])(flowmillView.active.camera)"
    assert other.evaluate(camera) == pytest.approx(page.evaluate(camera), rel=0.01, abs=1)
    assert other.evaluate("flowmillView.active.filter.isActive") is True


def test_a_step_before_and_after_passes_is_side_by_side(open_page):
    with tf.Graph().as_default(), tf.name_scope("layer_0"), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        product = tf.matmul(x, tf.constant(np.ones([8, 8], np.float32)), name="product")
        y = tf.nn.relu(tf.nn.bias_add(product, tf.constant(np.ones(8, np.float32))), name="relu")
        page = open_page(tf.view(session, fetches=y, feeds=[x]))
    page.get_by_label("View", exact=True).select_option(label="step before passes")
    page.get_by_label("beside").select_option(label="step after passes")
    expect(page.locator(".pane")).to_have_count(2)
    expect(page.get_by_role("tree")).to_have_count(2)
    page.evaluate("flowmillView.panes[0].goTo('layer_0/relu')")
    expect(panel(page)).to_contain_text("fuse_epilogues")
    page.get_by_label("Colours", exact=True).select_option("pass")
    expect(page.locator("#legend")).to_contain_text("fuse_epilogues")
    page.evaluate("flowmillView.panes[0].select(null)")
    expect(panel(page)).to_contain_text("Passes")


def test_views_side_by_side_are_whole_and_have_one_legend(open_page):
    with tf.Graph().as_default(), tf.Session() as session:
        x = y = tf.placeholder(tf.float32, [None, 8], name="x")
        for i in range(3):
            with tf.name_scope(f"layer_{i}"):
                product = tf.matmul(tf.identity(y), tf.constant(np.ones([8, 8], np.float32)), name="product")
                y = tf.nn.relu(tf.nn.bias_add(product, tf.constant(np.ones(8, np.float32))), name="relu")
        page = open_page(tf.view(session, fetches=y, feeds=[x]))
    page.evaluate("flowmillView.active.goTo('layer_1')")
    page.get_by_label("View", exact=True).select_option(label="step before passes")
    page.get_by_label("beside").select_option(label="step after passes")
    page.wait_for_function("() => flowmillView.panes.length === 2 && flowmillView.panes.every((pane) => pane.selection)")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("layer_1")
    page.evaluate("flowmillView.panes.forEach((pane) => pane.fit())")
    page.wait_for_function(SETTLED)
    page.get_by_label("View", exact=True).select_option(label="graph")
    page.get_by_label("View", exact=True).select_option(label="step before passes")
    page.wait_for_function("() => flowmillView.panes.length === 2 && flowmillView.panes[1].colours")
    page.wait_for_function(SETTLED)
    outside = page.evaluate("""() => flowmillView.panes.flatMap((pane) => {
      const { root } = pane.graph;
      const { x: cx, y: cy, k } = pane.camera;
      return Array.from({ length: root.numChildren }, (_, place) => pane.rectangle({ scope: root, place }))
        .filter(({ x, y, w, h }) => x * k + cx < 0 || y * k + cy < 0 || (x + w) * k + cx > pane.canvas.clientWidth || (y + h) * k + cy > pane.canvas.clientHeight);
    })""")
    assert outside == []
    page.get_by_label("Colours", exact=True).select_option("pass")
    legend = dict(page.evaluate("[...document.querySelectorAll('#legend li')].map((entry) => [entry.textContent, entry.firstChild.style.background])"))
    assert len(legend) >= 2
    # Every node that a pass changed has the colour of that pass, in both graphs.
    shown = page.evaluate("""async () => {
      const found = [];
      for (const pane of flowmillView.panes) {
        const visit = async (scope) => {
          for (let place = 0; place < scope.numChildren; place += 1) {
            if (scope.isScope(place)) await visit(await pane.graph.open(scope, place));
            else if (scope.data.passes[place]) found.push([pane.graph.summary.passes[scope.data.passes[place] - 1], pane.colours.node(scope, place), pane.graph.number]);
          }
        };
        await visit(pane.graph.root);
      }
      return found;
    }""")
    as_rgb = page.evaluate("(colours) => colours.map((colour) => Object.assign(document.createElement('i').style, { background: colour }).background)", [colour for _, colour, _ in shown])
    assert {number for *_, number in shown} == {1, 2}
    assert {(name, colour) for (name, *_), colour in zip(shown, as_rgb)} == set(legend.items())
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("group", name="Pass").get_by_role("checkbox", name="fuse_epilogues").check()
    assert page.evaluate("flowmillView.panes.map((pane) => pane.filter.isActive)") == [True, True]
    page.get_by_label("View", exact=True).select_option(label="graph")
    page.wait_for_function("() => flowmillView.panes[0].graph?.number === 0 && flowmillView.panes[0].filter.isActive")


def test_an_open_scope_is_not_crossed_and_not_empty(open_page):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        left = tf.tanh(x, name="left")
        with tf.name_scope("net"):
            y = x
            for i in range(60):
                y = tf.nn.relu(y, name=f"chain_{i}")
            for i in range(12):
                tf.nn.softmax(y, name=f"a_rather_long_name_of_a_result_{'abcdefghijkl'[i]}")
        tf.add(left, y, name="sum")
    page = open_page(tf.view(graph))
    click(page, "net", double=True)
    page.wait_for_function("() => flowmillView.active.graph.root.open.size === 1")
    page.wait_for_function(SETTLED)
    first_box = page.evaluate("""() => {
      const pane = flowmillView.active;
      const [net] = pane.graph.root.open.values();
      const { x, y, w } = pane.rectangle({ scope: net, place: net.data.names.indexOf('chain_0') });
      const { x: cx, y: cy, k } = pane.camera;
      return [(x + w / 2) * k + cx, y * k + cy, pane.canvas.clientWidth, pane.canvas.clientHeight];
    }""")
    assert 0 < first_box[0] < first_box[2] and 0 < first_box[1] < first_box[3]
    # Beside the open scope, lines are vertical.
    slanted = page.evaluate("""() => {
      const { root } = flowmillView.active.graph;
      const [[place]] = root.open;
      const { layout } = root;
      const [top, bottom] = [layout.y[place], layout.y[place] + layout.h[place]];
      const routes = layout.routes(root).filter((route) => route.src !== place && route.dst !== place);
      return [routes.length, routes.flatMap(({ points }) => points.slice(1).map((b, i) => [points[i], b]))
        .filter(([a, b]) => Math.min(a.y, b.y) < bottom - 1 && Math.max(a.y, b.y) > top + 1 && Math.abs(a.x - b.x) > 0.5)];
    }""")
    assert slanted[0] >= 2 and slanted[1] == []


def test_loops_branches_and_functions_are_drawn_as_such(open_page):
    page = open_page(tf.view(loop_graph()))
    expect(item(page, "frames")).to_contain_text("loop frames/while_context")
    expect(item(page, "choice")).to_contain_text("conditional")
    page.evaluate("flowmillView.active.goTo('frames/NextIteration')")
    is_up = "flowmillView.active.graph.find('frames/Merge').then(({scope}) => scope.layout.routes(scope).filter((route) => route.up).length)"
    assert page.evaluate(is_up) > 0
    page.evaluate("flowmillView.active.goTo('functional', true)")
    functions = panel(page).locator("section").filter(has=page.get_by_role("heading", name="Functions", exact=True))
    expect(functions.get_by_role("button")).to_have_count(2)
    functions.get_by_role("button").first.click()
    expect(panel(page)).to_contain_text("Function")


def test_hostile_texts_are_text(open_page):
    with tf.Graph().as_default() as graph:
        op = tf.constant(1.0, name="x").op
        op._set_attr("_note", tf.AttrValue(s=HOSTILE.encode()))
    page = open_page(tf.view(graph, title=HOSTILE))
    expect(page).to_have_title(HOSTILE)
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.locator("img")).to_have_count(0)
    page.evaluate("flowmillView.active.goTo('x')")
    expect(panel(page)).to_contain_text("<img src=x onerror=document.title=1>")


def test_an_empty_graph_is_a_page(open_page):
    page = open_page(tf.view(tf.Graph()))
    expect(panel(page)).to_contain_text("Nodes")
    page.get_by_role("searchbox").fill("x")
    expect(page.locator("#results")).to_contain_text("0 results")


def test_the_page_is_light_or_dark(net, open_page):
    def lightness(page):
        back, text = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ["backgroundColor", "color"])
        return [sum(map(int, color[4:-1].split(","))) for color in (back, text)]

    light, dark = (open_page(tf.view(net), color_scheme=scheme) for scheme in ("light", "dark"))
    assert lightness(light)[0] > 600 > 150 > lightness(light)[1]
    assert lightness(dark)[0] < 150 < 600 < lightness(dark)[1]
    dark.get_by_role("button", name="Dark or light").click()
    assert lightness(dark) == lightness(light)


def test_the_page_works_in_a_notebook(net, browser):
    page = browser.new_page()
    page.set_content(tf.view(net)._repr_html_())
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("treeitem")).to_have_count(4)
    frame.get_by_role("treeitem").first.focus()
    page.keyboard.press("Enter")
    expect(frame.get_by_role("treeitem").filter(has_text="product")).to_have_count(1)
    page.close()


def frames_per_second(page, frames=30):
    """Moves the picture and returns the rate of frames; the time to paint a frame is at most its inverse."""
    return page.evaluate(
        """async (frames) => {
          const pane = flowmillView.active;
          const start = performance.now();
          for (let i = 0; i < frames; i += 1) {
            pane.camera.x += i % 2 ? 9 : -7;
            pane.redraw();
            await new Promise((resolve) => pane.addEventListener('drawn', resolve, { once: true }));
          }
          return (frames * 1000) / (performance.now() - start);
        }""",
        frames,
    )


@pytest.mark.parametrize("leaves", [100, 100_000], ids=["nested", "flat"])
def test_a_hundred_thousand_nodes_open_and_move(open_page, leaves):
    shown = tf.view(generated(100_000, leaves=leaves))
    start = time.monotonic()
    page = open_page(shown)
    seconds = time.monotonic() - start
    # The page is for 2 s and 30 frames on a machine that does nothing else.
    assert seconds < 8
    page.evaluate("flowmillView.active.goToNode(50_000)")
    page.wait_for_function("() => flowmillView.active.selection !== null")
    page.wait_for_function(SETTLED)
    assert frames_per_second(page) > 10
    page.get_by_role("searchbox").fill("op_99")
    expect(page.locator("#results")).to_contain_text("result")


@pytest.mark.skipif(os.environ.get("FLOWMILL_LONG") != "1", reason="takes minutes: FLOWMILL_LONG=1")
def test_a_million_nodes_open_collapsed(open_page):
    page = open_page(tf.view(generated(1_000_000)))
    expect(page.get_by_role("treeitem").first).to_be_visible()
    page.evaluate("flowmillView.active.goToNode(700_000)")
    page.wait_for_function("() => flowmillView.active.selection !== null", timeout=60_000)
    assert frames_per_second(page) > 10
