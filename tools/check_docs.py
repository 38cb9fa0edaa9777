"""Looks at the site of `make docs` in a headless Chromium, from its files, with no network.

usage: tools/check_docs.py [--site build/docs/html] [--screenshots FOLDER] [--browser chromium]

Fails where a page does not render, logs an error or asks for something outside the site; where a link or an anchor is dead;
where a page scrolls sideways on a phone; where dark mode is not dark; where the search does not find one of TERMS early.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import urllib.parse

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
# What a reader looks for, and a page that must be among the first results.
FIRST = 20
TERMS = json.loads((ROOT / "docs/site/search_terms.json").read_text())
LOOKED_AT = ("index", "start", "why", "quick_reference", "c", "cpp", "python_api", "speed", "status", "engines")


def ids_of(page, known={}):
    """The anchors of a file."""
    if page not in known:
        known[page] = set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text(errors="replace")))
    return known[page]


def dead_links(page, site, hrefs):
    for href in hrefs:
        parts = urllib.parse.urlsplit(href)
        if parts.scheme in ("http", "https", "mailto", "javascript"):
            continue
        target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
        if not target.is_relative_to(site) or not target.is_file():
            yield f"{href} is not there"
        elif parts.fragment and target.suffix == ".html" and urllib.parse.unquote(parts.fragment) not in ids_of(target):
            yield f"{href} has no such anchor"


class Look:
    def __init__(self, browser, site):
        self.site, self.problems = site, []
        self.tab = browser.new_page(viewport=DESKTOP)
        self.said = []
        self.tab.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.tab.on("console", lambda line: line.type == "error" and self.said.append(f"console: {line.text}"))
        self.tab.on("request", lambda asked: self.outside(asked.url) and self.said.append(f"asks for {asked.url}"))

    @staticmethod
    def outside(url):
        return urllib.parse.urlsplit(url).scheme not in ("file", "data", "blob")

    def note(self, page, problem):
        self.problems.append(f"{page.relative_to(self.site)}: {problem}")

    def open(self, page, query=""):
        self.said.clear()
        self.tab.goto(page.as_uri() + query)

    def page(self, page):
        self.tab.set_viewport_size(DESKTOP)
        self.open(page)
        if page.name != "search.html" and not self.tab.locator("article").inner_text().strip():
            self.note(page, "it is empty")
        hrefs = self.tab.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))")
        for problem in [*dead_links(page, self.site, set(hrefs)), *self.said]:
            self.note(page, problem)
        self.tab.set_viewport_size(PHONE)
        width = self.tab.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            self.note(page, f"it is {width} pixels wide on a phone of {PHONE['width']}")
        return len(hrefs)

    def themes(self, page):
        self.tab.set_viewport_size(DESKTOP)
        colors = []
        for scheme in ("light", "dark"):
            self.tab.emulate_media(color_scheme=scheme)
            self.open(page)
            color = self.tab.evaluate("getComputedStyle(document.body).backgroundColor")
            colors.append(sum(map(int, re.findall(r"\d+", color)[:3])))
        self.tab.emulate_media(color_scheme="light")
        if not colors[0] > 600 > 200 > colors[1]:
            self.note(page, f"light and dark have the brightness {colors}")

    def search(self, term, expected):
        page = self.site / "search.html"
        self.open(page, "?q=" + urllib.parse.quote(term))
        try:
            self.tab.wait_for_selector("#search-results ul.search li a", timeout=10_000)
            self.tab.wait_for_function("document.querySelector('#search-results h2')?.innerText.match(/Results/)", timeout=10_000)
        except Exception:
            self.note(page, f"nothing is found for {term}")
            return
        found = self.tab.eval_on_selector_all("#search-results ul.search li a", "all => all.map(a => a.getAttribute('href'))")
        if not any(f"docs/{expected}.html" in href for href in found[:FIRST]):
            self.note(page, f"{term}: none of the first results is {expected}, but {found[:5]}")

    def screenshots(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in LOOKED_AT:
            for size, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
                for scheme in ("light", "dark"):
                    self.tab.set_viewport_size(viewport)
                    self.tab.emulate_media(color_scheme=scheme)
                    self.open(self.site / f"docs/{name}.html")
                    self.tab.screenshot(path=folder / f"{name}-{size}-{scheme}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=pathlib.Path, default=ROOT / "build/docs/html")
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--browser", default=shutil.which("chromium"))
    options = parser.parse_args()
    site = options.site.resolve()
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts and page != site / "index.html")
    links = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        look = Look(browser, site)
        for page in pages:
            links += look.page(page)
        look.themes(site / "docs/index.html")
        for term, expected in TERMS.items():
            look.search(term, expected)
        if options.screenshots:
            look.screenshots(options.screenshots)
        browser.close()
    for problem in look.problems:
        print(problem)
    print(f"{len(pages)} pages, {links} links, {len(TERMS)} searches: {len(look.problems)} problems")
    sys.exit(1 if look.problems else 0)


if __name__ == "__main__":
    main()
