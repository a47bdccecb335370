"""The benchmark report in a browser: sort, sift, hover, legend, phone, print; no error, no request.

Needs Chromium and its driver (Debian: chromium, chromium-driver) and selenium; skipped where one is absent.
"""

from __future__ import annotations

import base64
import json
import shutil
from functools import partial

import pytest

from pgsr.report.bench import bench_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium or no chromedriver: apt install chromium chromium-driver"
)
PATIENCE_S = 60
DRAWN = """
const all = document.querySelectorAll(".chart"), live = document.querySelectorAll(".chart[data-live]");
return all.length > 0 && all.length === live.length;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(made_up, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    bench_report(made_up).page.write(path)
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    return partial(open_at, browser, address)


def open_at(browser, address, width=1280, height=900):
    """Open the page in a window of that size, wait until all charts are live, and forget earlier logs."""
    browser.get("about:blank")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)
    WebDriverWait(browser, PATIENCE_S).until(lambda driver: driver.execute_script(DRAWN))
    return browser


def column(browser, table, at):
    return browser.execute_script(
        "return [...arguments[0].tBodies[0].rows].map((row) => row.cells[arguments[1]].textContent)",
        table,
        at,
    )


def heading(table, name):
    heads = table.find_elements(By.CSS_SELECTOR, "thead th")
    at = [head.text for head in heads].index(name)
    return heads[at], at


def test_no_error_and_no_request_leaves_the_page(opened, address):
    browser = opened()
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    outside = [url for url in asked if not url.startswith(("data:", "blob:", "about:")) and url != address]
    assert outside == []
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_the_policy_of_the_page_blocks_requests_and_eval(opened):
    browser = opened()
    blocked = browser.execute_async_script(
        "const done = arguments[0];"
        "fetch('https://example.org/').then(() => done('sent'), () => done('blocked'));"
    )
    assert blocked == "blocked"
    added = (
        "const s = document.createElement('script'); s.textContent = 'window.broken = eval(\"1\")';"
        "document.body.append(s); return window.broken ?? null;"
    )
    assert browser.execute_script(added) is None


def test_a_click_on_a_heading_sorts_by_the_raw_numbers(opened):
    browser = opened()
    table = browser.find_elements(By.CSS_SELECTOR, "table.sortable")[-1]
    head, at = heading(table, "entries")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", head)
    head.click()
    values = [int(text.replace(",", "")) for text in column(browser, table, at) if text]
    assert {50, 100, 1000} <= set(values)  # sorted as text, "1,000" would come before "50"
    assert values == sorted(values)
    assert head.get_attribute("aria-sort") == "ascending"
    head.send_keys(Keys.ENTER)
    assert [int(text.replace(",", "")) for text in column(browser, table, at) if text] == values[::-1]
    assert head.get_attribute("aria-sort") == "descending"


def test_the_box_sifts_rows(opened, made_up):
    browser = opened()
    runs = browser.find_elements(By.CSS_SELECTOR, ".tall table")[-1]
    box = browser.find_elements(By.CSS_SELECTOR, "input.sift")[-1]
    box.send_keys("piqp:rounded us:scale=2")
    shown = browser.execute_script(
        "return [...arguments[0].tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.textContent)",
        runs,
    )
    assert len(shown) == 6
    assert all("piqp:rounded" in text and "us:scale=2" in text for text in shown)
    count = browser.find_elements(By.CSS_SELECTOR, ".sifted")[-1]
    assert count.text == f"6 of {len(made_up)} rows"


@pytest.mark.parametrize(
    ("chart", "mark", "words"),
    [
        ("broken_sums", "rounded", ["piqp:rounded", "70.0%"]),
        ("profile_time", "highs", ["highs", "66.7%", "5"]),
        ("inequality", "ladder", ["ladder", "0.014"]),
    ],
)
def test_a_mark_tells_its_numbers_when_one_points_at_it(opened, chart, mark, words):
    browser = opened()
    place = browser.find_element(By.CSS_SELECTOR, f'.chart[data-chart="{chart}"] .live')
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    marks = place.find_elements(By.CSS_SELECTOR, f"g.mark-symbol path[aria-label*='{mark}']")
    assert marks
    ActionChains(browser).move_to_element(marks[-1]).perform()
    tip = WebDriverWait(browser, PATIENCE_S).until(
        lambda driver: driver.find_element(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    )
    assert not [word for word in words if word not in tip.text], tip.text
    assert "undefined" not in tip.text


def test_a_click_in_the_legend_fades_the_other_lines(opened):
    browser = opened()
    place = browser.find_element(By.CSS_SELECTOR, '.chart[data-chart="profile_time"] .live')
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    lines = "g.mark-line path"

    def opacities():
        return sorted(
            line.get_attribute("opacity") or "1" for line in place.find_elements(By.CSS_SELECTOR, lines)
        )

    assert set(opacities()) == {"1"}
    place.find_element(By.CSS_SELECTOR, ".role-legend-label text").click()
    WebDriverWait(browser, PATIENCE_S).until(lambda _: set(opacities()) == {"0.12", "1"})


def test_a_chart_can_be_saved(opened, tmp_path):
    browser = opened()
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    place = browser.find_element(By.CSS_SELECTOR, '.chart[data-chart="profile_time"] .live')
    menu = place.find_element(By.CSS_SELECTOR, "summary")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", menu)
    menu.click()
    for link in place.find_elements(By.CSS_SELECTOR, "details[open] a"):
        link.click()
    names = {"profile_time.svg", "profile_time.png"}
    WebDriverWait(browser, PATIENCE_S).until(lambda _: {path.name for path in tmp_path.iterdir()} == names)
    assert (tmp_path / "profile_time.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(opened, width):
    browser = opened(width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.chart .live svg')]"
        ".filter((svg) => svg.getBoundingClientRect().right > innerWidth).length"
    )
    assert wide == 0


def test_names_of_methods_stay_in_sight_on_a_phone(opened):
    browser = opened(400)
    left = browser.execute_script(
        "const table = [...document.querySelectorAll('.sortable')].find((t) => t.querySelector('.held'));"
        "table.parentElement.scrollLeft = table.parentElement.scrollWidth;"
        "const box = table.parentElement.getBoundingClientRect();"
        "return table.querySelector('td.held').getBoundingClientRect().left - box.left"
    )
    assert abs(left) < 2


def test_what_is_printed_is_the_still_chart(opened):
    browser = opened()
    seen = (
        "return ['.still', '.live'].map((part) => getComputedStyle("
        "document.querySelector('.chart ' + part)).display)"
    )
    assert browser.execute_script(seen) == ["none", "inline-block"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(seen) == ["block", "none"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_without_scripts_the_still_charts_and_all_tables_are_there(browser, address):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address)
        assert browser.find_elements(By.CSS_SELECTOR, ".chart .still svg")
        assert browser.find_element(By.CSS_SELECTOR, ".chart .still").is_displayed()
        assert browser.find_elements(By.CSS_SELECTOR, "table.sortable tbody tr")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
