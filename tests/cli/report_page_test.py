"""The page of --report in a headless Chromium, which `make docs` installs."""

import importlib.util
import re
import shutil
import unittest

import numpy as np

from support import CliTest, load_folder, random, save_folder

CHROMIUM = shutil.which("chromium")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@unittest.skipUnless(CHROMIUM and importlib.util.find_spec("playwright"), "not run: no Chromium, or no playwright; `make docs` installs them")
class ReportPage(CliTest):
    @classmethod
    def setUpClass(cls):
        from playwright.sync_api import sync_playwright

        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        model, small = self.dir / "model", self.dir / "small"
        layers = {f"model.layers.{i}.{name}.weight": random((64, 32 + i), i) * 10.0**-i
                  for i in range(12) for name in ("self_attn.q_proj", "mlp.up_proj")}  # fmt: skip
        save_folder(model, [layers | {"model.embed_tokens.weight": random((9, 64)), "model.norm.weight": random((64,))}])
        self.page = self.dir / "report.html"
        self.succeed("quantize", model, "-o", small, "--dtype", "i4", "--exclude", "*.3.*", "--report", self.page)
        self.model, self.small = model, small
        self.tab = self.browser.new_page(viewport=DESKTOP)
        self.addCleanup(self.tab.close)
        self.said = []
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("console", lambda line: self.said.append(line.text))
        self.tab.on("request", lambda asked: asked.url == self.page.as_uri() or self.said.append(asked.url))
        self.tab.goto(self.page.as_uri())

    def column(self, number):
        """What the cells of a column show, and the numbers that they are sorted by."""
        return self.tab.eval_on_selector_all(f"#tensors tbody td:nth-child({number})",
                                             "all => all.map(cell => [cell.innerText, cell.dataset.key])")

    def sorted_by(self, number):
        return [text if key is None else float(key) for text, key in self.column(number)]

    def test_asks_for_nothing_and_logs_nothing(self):
        self.assertEqual(self.said, [])

    def test_fits_on_a_phone(self):
        self.tab.set_viewport_size(PHONE)
        self.assertLessEqual(self.tab.evaluate("document.documentElement.scrollWidth"), PHONE["width"])

    def test_sorts_by_each_column_and_back(self):
        heads = self.tab.locator("#tensors th button")
        self.assertEqual(heads.count(), 9)
        for i in range(heads.count()):
            with self.subTest(heads.nth(i).inner_text()):
                heads.nth(i).click()
                self.assertEqual(self.sorted_by(i + 1), sorted(self.sorted_by(i + 1)))
                self.assertEqual(self.tab.locator("#tensors th[aria-sort]").get_attribute("aria-sort"), "ascending")
                heads.nth(i).click()
                self.assertEqual(self.sorted_by(i + 1), sorted(self.sorted_by(i + 1), reverse=True))
                self.assertEqual(self.tab.locator("#tensors th[aria-sort]").get_attribute("aria-sort"), "descending")

    def test_sorts_numbers_as_numbers(self):
        self.tab.get_by_role("button", name="before").click()
        sizes = [text for text, _ in self.column(4)]
        self.assertEqual((sizes[0], sizes[-1]), ("256 B", "11.0 kB"))

    def test_sorts_by_the_keyboard(self):
        self.tab.get_by_role("button", name="max error").focus()
        self.tab.keyboard.press("Enter")
        self.assertEqual(self.sorted_by(7), sorted(self.sorted_by(7)))

    def test_has_readable_text_on_every_color(self):
        """Contrasts as WCAG counts them."""
        shades = self.tab.eval_on_selector_all("#grid td[style]", """all => all.map(cell => {
            const style = getComputedStyle(cell);
            return [style.color, style.backgroundColor];
        })""")
        self.assertGreater(len(shades), 20)

        def luminance(color):
            rgb = np.array(re.findall(r"\d+", color)[:3], float) / 255
            return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

        for pair in shades:
            dark, light = sorted(map(luminance, pair))
            self.assertGreater((light + 0.05) / (dark + 0.05), 4.5, pair)

    def test_has_the_recipe_that_made_the_model(self):
        recipe = self.dir / "recipe.json"
        recipe.write_text(self.tab.locator("#recipe").inner_text())
        again = self.dir / "again"
        self.succeed("quantize", self.model, "-o", again, "--recipe", recipe)
        first, second = load_folder(self.small), load_folder(again)
        self.assertEqual(first.keys(), second.keys())
        for name, values in first.items():
            np.testing.assert_array_equal(values, second[name])
        self.assertIn("--exclude '*.3.*'", self.tab.locator("#command").inner_text())


if __name__ == "__main__":
    unittest.main()
