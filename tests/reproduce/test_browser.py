"""HTML report in a real browser: pictures, links, no network, any screen."""

import io
import json
import shutil

import pytest
from support import small_reproduction
from support.example_report import REPORT
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.measured.measurements import Detours, Measured
from jitterfly_papers.report.html_page import page

DRIVER = shutil.which("chromedriver")
BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
BROWSER = next(filter(None, BROWSERS), None)
pytestmark = [
    pytest.mark.full_scale,
    pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver in PATH"),
]
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
SCREENS = {  # width, height, a phone
    "desktop": (1366, 900, False),
    "phone": (390, 844, True),
    "small phone": (320, 640, True),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def visit(browser, file):
    """Open a file: what it asked for, and what it said on the console."""
    browser.get("about:blank")  # the first page of the browser makes requests of its own
    for log in ("performance", "browser"):
        browser.get_log(log)
    browser.get(file.as_uri())
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    return requests, browser.get_log("browser")


@pytest.fixture(scope="module", params=["made up", "of a run", "of one's own"])
def opened(request, browser, tmp_path_factory):
    """The browser on the page, the page's file, what it asked for, and the console."""
    folder = tmp_path_factory.mktemp("report")
    if request.param == "made up":
        file = folder / "report.html"
        file.write_text(page(REPORT), encoding="utf-8")
    elif request.param == "of one's own":
        file = own_report(folder)
    else:
        file = run_small(folder)
    return browser, file, *visit(browser, file)


def run_small(path):
    """The report of a small reproduction, with pictures as they really are."""
    pytest.importorskip("matplotlib")
    from jitterfly_papers.report import reproduce as module

    small_reproduction.write(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "shipped_folder", lambda: path)
        return module.reproduce(path / "out", quick=True, stream=io.StringIO()).page


def own_report(path):
    """The page of three runs, a noise and an advice, with names as nobody would wish."""
    pytest.importorskip("matplotlib")
    noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
    network = jf.LogGOPS(L="1us", o="0.2us", G="0.1ns")
    advice = jf.advise([16, 64, 256, 1024], message_bytes=[8, 1024], network=network,
                       noise=[noise], realizations=60)  # fmt: skip
    part = Detours([10**9 * k for k in range(1, 400)], [10**6 + k for k in range(399)], 4 * 10**11)
    measured = Measured((part,), "jitterfly", {"machine": f"<script>{'long_name_' * 12}</script>"})
    runs = []
    for name in ("one", "two", "<b>three</b> of a long title that has to be broken " * 3):
        text = STUDY.replace('claims = ["M4"]\n', "").replace("A small study", name)
        (path / f"run{len(runs)}.toml").write_text(text)
        runs.append(jf.load_study(path / f"run{len(runs)}.toml").run(path / f"run{len(runs)}"))
    return jf.report([*runs, measured, advice], path / "own.html")


def test_a_page_that_loads_something_is_noticed(browser, tmp_path):
    """The checks below can fail: nothing listens on port 9 of this machine."""
    file = tmp_path / "loads.html"
    file.write_text('<!doctype html><img src="http://127.0.0.1:9/x.png">')
    requests, console = visit(browser, file)
    assert "http://127.0.0.1:9/x.png" in requests
    assert console


def test_pictures_load(opened):
    browser = opened[0]
    script = "return [...document.images].map(i => i.complete ? i.naturalWidth : 0)"
    widths = browser.execute_script(script)
    assert len(widths) >= 3
    assert min(widths) > 0


def test_console_is_silent(opened):
    assert opened[3] == []


def test_nothing_is_requested(opened):
    _, file, requests, _ = opened
    assert file.as_uri() in requests
    assert [url for url in requests if url != file.as_uri() and not url.startswith("data:")] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_page_fits_the_screen(opened, screen, dark):
    """Only pictures and tables may scroll sideways, each in its own frame; details opened too."""
    browser = opened[0]
    width, height, mobile = SCREENS[screen]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    script = """
        document.querySelectorAll('details').forEach(d => d.open = arguments[0]);
        const page = document.documentElement;
        return [page.scrollWidth, page.clientWidth, getComputedStyle(document.body).backgroundColor]
    """
    for opens in (False, True):
        wanted, there, colour = browser.execute_script(script, opens)
        assert wanted <= there <= width
    red = int(colour.partition("(")[2].partition(",")[0])
    assert (red < 64) == dark


def test_prints(opened):
    browser = opened[0]
    for name in ("setEmulatedMedia", "clearDeviceMetricsOverride"):
        browser.execute_cdp_cmd(f"Emulation.{name}", {})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
    assert printed.startswith("JVBERi0")  # %PDF-, in base 64
    assert len(printed) > 20_000


@pytest.mark.parametrize(("width", "height"), [(688, 1000), (710, 935)], ids=["A4", "Letter"])
def test_nothing_is_cut_on_paper(opened, width, height):
    """Within a page's margins, nothing is wider than what holds it, and no picture fills it."""
    browser = opened[0]
    paper = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """
        const held = [...document.querySelectorAll('.scroll, .plate, p, pre, h1, h2, dd, li')];
        const wide = held.filter(e => e.scrollWidth > e.clientWidth + 1 && e.offsetParent);
        return [wide.map(e => [e.className || e.tagName, e.scrollWidth, e.clientWidth]),
                held.filter(e => e.offsetParent).length,
                Math.max(0, ...[...document.images].map(e => e.clientHeight)),
                [...document.querySelectorAll('summary')].every(e => e.offsetParent)]
    """
    wide, held, tallest, said = browser.execute_script(script)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert held > 10
    assert wide == []
    assert tallest <= 0.44 * height  # what is said of a picture fits below it
    assert said  # which tables are closed, and so not printed


def test_links_reach_their_figures(opened):
    browser = opened[0]
    for link in browser.find_elements("css selector", "a[href^='#']"):
        target = link.get_attribute("href").rpartition("#")[2]
        assert browser.find_element("id", target).is_displayed()
