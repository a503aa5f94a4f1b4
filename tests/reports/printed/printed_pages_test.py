"""Pages of headroom-report in a real browser: on paper what stands before the appendix has four pages at most, and nothing is cut off;
on a screen nothing is wider than the window, and every text can be read on its ground. Skipped where there is no Chromium."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOUR, HISTORIES = ROOT / "docs/tour", ROOT / "tests/data/memory_histories"
MOST_PAGES = 4
PAPERS = {"A4": (210, 297), "Letter": (215.9, 279.4)}

# Files and flags of each report.
REPORTS = {
    "plan": [TOUR / "plan.json", "--quick"],
    "tour": sorted(TOUR.glob("*.json")),
    "frontier": [TOUR / "frontier.json"],
    "profile": [TOUR / "profile.json"],
    "snapshot": [HISTORIES / "torch-newest.pickle", "--model", "sdxl", "--size", "512x512", "--device", "cuda"],
    "six plans": [TOUR / "plan.json", TOUR / "plan-tighter.json"] * 3 + [TOUR / "trace.json", "--quick"],
}

# Elements whose right edge lies beyond the paper: tables, drawings, texts.
CUT_OFF = """[...document.querySelectorAll('main *')].filter(e => !e.closest('svg') || e.tagName === 'svg').filter(e => {
  const box = e.getBoundingClientRect(); return box.width > 1 && box.right > innerWidth + 1;
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 60))"""

# Pairs of labels of one drawing that lie on each other.
OVERLAPPING = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]).filter(([t, b]) => b.width > 0);
  const found = [];
  texts.forEach(([a, x], i) => texts.slice(i + 1).forEach(([b, y]) => {
    const wide = Math.min(x.right, y.right) - Math.max(x.left, y.left), high = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
    if (wide > 2 && high > 4) found.push(a + ' | ' + b);
  }));
  return found;
})"""


def pages_of(pdf):
    """How many pages a PDF has: the count of its page tree's root, which is the largest."""
    return max(int(count) for count in re.findall(rb"/Count (\d+)", pdf))


class PrintedPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser(find_chromium())
        cls.pages = {}
        for name, words in REPORTS.items():
            cls.pages[name] = pathlib.Path(cls.folder.name) / f"{name}.html"
            subprocess.run([cls.program, *map(str, words), "-o", cls.pages[name], "--progress", "none"], check=True,
                           stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def on_each(self, check, **how):
        """Calls `check` with each report's name, which is shown then."""
        for name, file in self.pages.items():
            with self.subTest(report=name, **how):
                self.browser.show(file, **how)
                check(name)

    def open_all(self):
        self.browser.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")

    def test_at_most_four_pages_before_the_appendix(self):
        def check(_):
            self.assertGreater(self.browser.evaluate("document.querySelectorAll('section.folded').length"), 0)
            whole = pages_of(self.browser.printed(PAPERS["A4"]))
            self.browser.evaluate("document.querySelectorAll('section.folded').forEach(section => section.remove())")
            before = {name: pages_of(self.browser.printed(paper)) for name, paper in PAPERS.items()}
            self.assertLessEqual(max(before.values()), MOST_PAGES, before)
            self.assertGreater(whole, before["A4"], "what is folded on a screen is printed nevertheless")

        self.on_each(check, width=1280)

    def test_the_first_picture_is_on_the_first_page(self):
        def check(_):
            self.browser.evaluate("""(() => { let at = document.querySelector('figure'); while (at.tagName !== 'MAIN') {
                while (at.nextSibling) at.nextSibling.remove(); at = at.parentNode; } })()""")
            self.assertEqual(pages_of(self.browser.printed(PAPERS["A4"])), 1)

        self.on_each(check, width=1280)

    def test_nothing_is_cut_off_on_paper(self):
        def check(name):
            # Sections of wide tables are printed on lying pages.
            self.browser.lay_out_for_print(tuple(reversed(PAPERS["A4"])))
            self.assertEqual(self.browser.evaluate(CUT_OFF), [])
            self.browser.evaluate("document.querySelectorAll('section.wide').forEach(section => section.remove())")
            self.browser.lay_out_for_print(PAPERS["A4"])
            self.assertEqual(self.browser.evaluate(CUT_OFF), [])

        self.on_each(check, width=1280)

    def test_no_page_is_wider_than_its_window(self):
        for width in (390, 1280):
            def check(_, width=width):
                self.open_all()
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)

            self.on_each(check, width=width)

    def test_what_is_wider_than_its_place_has_a_visible_scrollbar(self):
        def check(name):
            self.open_all()
            wider, hidden = self.browser.evaluate("""(() => {
                const wider = [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth);
                return [wider.length, wider.filter(e => e.offsetHeight - e.clientHeight < 6).map(e => e.getAttribute('aria-label'))];
            })()""")
            self.assertEqual(hidden, [])
            if name == "tour":
                self.assertGreater(wider, 0)

        self.on_each(check, width=390, phone=True)

    def test_tables_wrap_on_a_wide_screen(self):
        """Tables of more than twelve columns scroll, so they are left out."""
        def check(_):
            self.open_all()
            self.assertEqual(self.browser.evaluate("""[...document.querySelectorAll('section:not(.wide) .table .scroll')].filter(
                e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute('aria-label'))"""), [])

        self.on_each(check, width=1280)

    def test_no_label_lies_on_another(self):
        def check(_):
            self.open_all()
            self.assertEqual(self.browser.evaluate(OVERLAPPING), [])

        self.on_each(check, width=1280)

    def test_no_script_runs_but_the_page_s_own(self):
        page = self.pages["tour"].read_text()
        injected = self.pages["tour"].with_name("injected.html")
        injected.write_text(page.replace("<main>", "<main><script>window.injected = 1;</script><p id='p' onclick='window.injected = 2'>p</p>"))
        self.assertNotEqual(injected.read_text(), page)
        self.browser.show(injected, width=1280)
        self.browser.evaluate("document.getElementById('p').click()")
        self.assertEqual(self.browser.evaluate("typeof window.injected"), "undefined")
        head = "document.querySelector('.table thead tr:last-child > *')"
        self.browser.evaluate(f"{head}.click()")
        self.assertEqual(self.browser.evaluate(f"{head}.getAttribute('aria-sort')"), "ascending")

    def test_dark_pages_are_dark(self):
        def check(_):
            paper, ink = self.browser.evaluate(
                "['backgroundColor', 'color'].map(key => Number(getComputedStyle(document.body)[key].match(/\\d+/g)[1]))")
            self.assertLess(paper, 60)
            self.assertGreater(ink, 200)

        self.on_each(check, width=1280, dark=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the programs")
    arguments, rest = parser.parse_known_args()
    if find_chromium() is None:
        print("skipped: no chromium (packages-tests.txt)")
        sys.exit(0)
    try:  # in some containers it is there and may not start
        with Browser(find_chromium()):
            pass
    except (RuntimeError, OSError) as error:
        print(f"skipped: chromium does not start: {error}")
        sys.exit(0)
    PrintedPages.program = str(pathlib.Path(arguments.bin).resolve() / "headroom-report")
    unittest.main(argv=[sys.argv[0], *rest])
