// The page in a real browser. THRUM_RECORDING names a file with a recording to be played in place of the sample.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import { titleOf } from "../src/story.ts";
import { readRecording } from "../src/validate.ts";
import { chromium, faultsOf, TestBrowser } from "./browser.ts";
import { sample } from "./sample.ts";

const named = process.env["THRUM_RECORDING"];
const documentText = named && existsSync(named) ? readFileSync(named, "utf8") : JSON.stringify(sample());
const recording = readRecording(documentText);

/** Everything that the reader sees of the machine and of the texts. */
function seen(page: Page): Promise<string> {
  return page.evaluate(() => {
    const shown = [...document.querySelectorAll("#machine .g, #machine .m, #machine .p, #machine .trail")];
    const drawn = shown.map((each) => `${each.getAttribute("class")} ${each.getAttribute("transform")} ` +
      `${(each as SVGElement).style.display} ${each.textContent}`).sort();
    const words = ["now", "clock", "words-list", "source"].map((id) => document.getElementById(id)?.textContent);
    return [...drawn, ...words].join("\n");
  });
}

const place = (page: Page): Promise<{ part: string; step: number }> => page.evaluate(() => {
  const { part, step } = document.getElementById("stage")!.dataset;
  return { part: part!, step: Number(step) };
});

async function settled(page: Page, step: number): Promise<void> {
  await page.waitForFunction((wanted) => {
    const { settled, step } = document.getElementById("stage")!.dataset;
    return settled === "true" && step === String(wanted);
  }, {}, step);
}

describe("in a browser", { skip: chromium() ? false : "there is no Chromium that runs (Debian: chromium)" }, () => {
  let browser: TestBrowser;
  before(async () => {
    browser = await TestBrowser.start();
  });
  after(async () => {
    await browser.stop();
    assert.deepEqual(browser.complaints, [], "the console is empty, and nothing was loaded from elsewhere");
  });

  const open = (width = 1440, height = 900, options: { dark?: boolean; address?: string } = {}): Promise<Page> =>
    browser.open(documentText, width, height, options);

  test("every scene is stepped to its end and back, and each state is the one seen before", async () => {
    const page = await open();
    await page.select("#speed", "8");
    for (const [index, part] of recording.parts.entries()) {
      assert.deepEqual(await place(page), { part: part.id, step: 0 });
      const states = [await seen(page)];
      for (let step = 1; step < part.steps.length; ++step) {
        await page.keyboard.press("ArrowRight");
        await settled(page, step);
        states.push(await seen(page));
      }
      for (let step = part.steps.length - 2; step >= 0; --step) {
        await page.keyboard.press("ArrowLeft");
        await settled(page, step);
        assert.equal(await seen(page), states[step], `${part.id}, step ${step + 1} after stepping back`);
      }
      if (index + 1 < recording.parts.length) await page.keyboard.press("]");
    }
    await page.browserContext().close();
  });

  test("every scene is played to its end", async () => {
    const page = await open();
    await page.select("#speed", "8");
    for (const part of recording.parts) {
      await page.focus("body");
      await page.click("#play");
      await settled(page, part.steps.length - 1);
      await page.waitForSelector("#play[data-icon=replay]");
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await page.keyboard.press("]");
    }
    await page.browserContext().close();
  });

  test("the stage shows the queues that the recording has", async () => {
    const page = await open();
    const part = recording.parts[0]!;
    for (const [i, step] of part.steps.entries()) {
      const alive = step.state.gs.filter((g) => g.state !== "dead").map((g) => g.label).sort();
      const drawn = await page.$$eval("#machine .dots .g", (dots) =>
        dots.filter((dot) => (dot as SVGElement).style.display !== "none")
          .map((dot) => dot.querySelector("text")!.textContent!).sort());
      assert.deepEqual(drawn, alive, `step ${i + 1}`);
      if (i + 1 < part.steps.length) await page.keyboard.press("ArrowRight");
      await settled(page, Math.min(i + 1, part.steps.length - 1));
    }
    await page.browserContext().close();
  });

  test("the language is switched and switched back", async () => {
    const page = await open();
    const before = await seen(page);
    const part = recording.parts[0]!;
    assert.equal(await page.$eval("#name", (e) => e.textContent), titleOf(part, "en"));
    await page.click("#language");
    assert.equal(await page.$eval("#name", (e) => e.textContent), titleOf(part, "zh"));
    assert.equal(await page.$eval("html", (e) => e.lang), "zh-Hans");
    await page.click("#language");
    assert.equal(await seen(page), before);
    await page.browserContext().close();
  });

  test("a goroutine is searched and chosen, and its history leads to its steps", async () => {
    const page = await open();
    const last = recording.parts[0]!.steps.length - 1;
    const wanted = recording.parts[0]!.steps[last]!.state.gs.find((g) => g.state !== "dead")!;
    await page.keyboard.press("/");
    await page.type("#query", wanted.label);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail:not([hidden])");
    assert.match(await page.$eval("#detail h3", (e) => e.textContent!), new RegExp(`${wanted.label}$`));
    assert.equal((await page.$$(`#machine .g.chosen[data-g="${wanted.id}"]`)).length, 1);
    const moments = await page.$$("#detail .moments button");
    assert(moments.length > 0);
    await moments[moments.length - 1]!.click();
    const named = await page.$eval("#detail .moments [aria-current] b", (e) => Number(e.textContent));
    assert.equal((await place(page)).step + 1, named);
    await page.keyboard.press("Escape");
    assert.equal(await page.$eval("#detail", (e) => (e as HTMLElement).hidden), true);
    await page.browserContext().close();
  });

  test("a click on a goroutine chooses it, and the pointer brings its tip", async () => {
    const page = await open();
    await page.hover("#machine .g.running .shape");
    await page.waitForSelector("#tip:not([hidden])");
    await page.click("#machine .g.running .shape");
    await page.waitForSelector("#detail:not([hidden])");
    await page.browserContext().close();
  });

  test("the keyboard reaches the goroutines, and Enter chooses one", async () => {
    const page = await open();
    await page.focus("#help");
    const focused = (): Promise<boolean> => page.evaluate(() => document.activeElement!.matches("#machine .g"));
    for (let tabs = 0; tabs < 60 && !await focused(); ++tabs) await page.keyboard.press("Tab");
    assert(await focused());
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail:not([hidden])");
    await page.browserContext().close();
  });

  test("the scrub bar shows any moment, and the address leads to a step", async () => {
    const page = await open();
    await page.$eval("#scrub", (bar) => {
      (bar as HTMLInputElement).value = "140";
      bar.dispatchEvent(new Event("input"));
      bar.dispatchEvent(new Event("change"));
    });
    await settled(page, 1);
    assert.match(page.url(), /\/2$/);
    await page.browserContext().close();
    const part = recording.parts[recording.parts.length - 1]!;
    const linked = await open(1440, 900, { address: `#${encodeURIComponent(part.id)}/2` });
    assert.deepEqual(await place(linked), { part: part.id, step: 1 });
    await linked.browserContext().close();
  });

  test("the camera zooms and fits again", async () => {
    const page = await open();
    const transform = (): Promise<string | null> => page.$eval(".world", (e) => e.getAttribute("transform"));
    const before = await transform();
    await page.keyboard.press("+");
    assert.notEqual(await transform(), before);
    await page.keyboard.press("0");
    assert.equal(await transform(), before);
    await page.browserContext().close();
  });

  test("the page is as wide as a phone, for every scene and both languages", async () => {
    const page = await open(390, 844);
    for (const part of recording.parts) {
      for (let twice = 0; twice < 2; ++twice) {
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert(width <= 390, `${part.id}: ${width} pixels`);
        await page.click("#language");
      }
      await page.keyboard.press("]");
    }
    await page.browserContext().close();
  });

  test("the theme follows the system and the button", async () => {
    const page = await open(1440, 900, { dark: true });
    const theme = (): Promise<string | undefined> => page.$eval("html", (e) => e.dataset["theme"]);
    assert.equal(await theme(), "dark");
    await page.click("#theme");
    assert.equal(await theme(), "light");
    await page.browserContext().close();
  });

  test("with reduced motion a step is there at once", async () => {
    const page = await open();
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    await page.keyboard.press("ArrowRight");
    await settled(page, 1);
    const moving = await page.$$eval(".comet", (tails) => tails.length);
    assert.equal(moving, 0);
    await page.browserContext().close();
  });

  test("axe finds no fault, light and dark, wide and narrow, in both languages", async () => {
    for (const [width, dark] of [[1440, false], [1440, true], [390, false], [390, true]] as const) {
      const page = await open(width, 900, { dark });
      await page.keyboard.press("ArrowRight");
      await settled(page, 1);
      for (const open of [null, "#language", "#machine .g .shape", "#help"]) {
        if (open) await page.$eval(open, (e) => e.dispatchEvent(new MouseEvent("click", { bubbles: true })));
        assert.deepEqual(await faultsOf(page), [], `${width} pixels, ${dark ? "dark" : "light"}, after ${open}`);
      }
      await page.browserContext().close();
    }
  });

  test("a printed scene has a picture for every step", async () => {
    const page = await open();
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal((await page.$$("#storyboard figure svg")).length, recording.parts[0]!.steps.length);
    assert((await page.pdf()).length > 10_000);
    await page.browserContext().close();
  });

  test("a recording that is wrong is refused with a message that names the place", async () => {
    const bad: [string, RegExp][] = [
      ["{", /not JSON/], ["[]", /an object is expected/], ['{"format": "film"}', /"thrum-recording" is expected/],
      [documentText.replace(/"version":\s*1/, '"version": 2'), /plays version 1.*has version 2/],
      [JSON.stringify({ ...sample(), parts: [{ ...sample().parts[0], queue_size: 1 }] }), /queue_size is 1/],
      ["</script><b>", /not JSON/],
    ];
    for (const [text, message] of bad) {
      const page = await browser.open(text, 1000, 700);
      assert.match(await page.$eval("#problem", (e) => e.textContent!), message);
      assert.equal(await page.$eval("#main", (e) => (e as HTMLElement).hidden), true);
      await page.browserContext().close();
    }
  });

  test("the page without a recording takes a file", async () => {
    const page = await browser.open("", 1000, 700);
    assert.equal(await page.$("#problem"), null);
    await page.evaluate((text) => window.thrumPage!.open(text), documentText);
    assert.deepEqual(await place(page), { part: recording.parts[0]!.id, step: 0 });
    await page.browserContext().close();
  });

  test("the text of a scenario stands beside the machine, with each goroutine at its line", async () => {
    const part = structuredClone(sample().parts[0]!);
    part.program = { file: "a.play", lines: ["go a {", "  send c", "}"] };
    part.steps = part.steps.slice(0, 2);
    for (const step of part.steps) step.source = [];
    const [first, second] = part.steps[1]!.state.gs;
    first!.line = 2;
    second!.line = 2;
    const page = await browser.open(JSON.stringify({ ...sample(), kind: "play", parts: [part] }), 1440, 900);
    const lines = (): Promise<(string | null)[]> =>
      page.$$eval("#source .line", (all) => all.map((each) => each.textContent));
    assert.equal(await page.$eval("#number", (e) => e.textContent), "Playground");
    assert.equal(await page.$eval("#source figcaption", (e) => e.textContent), "a.play");
    assert.deepEqual(await lines(), ["1go a {", "2  send c", "3}"]);
    await page.keyboard.press("ArrowRight");
    await settled(page, 1);
    assert.deepEqual(await lines(), ["1go a {", `2  send c${first!.label} ${second!.label}`, "3}"]);
    assert.deepEqual(await faultsOf(page), []);
    await page.browserContext().close();
  });

  test("a live view gets steps while it is open, and follows them", async () => {
    const part = sample().parts[0]!;
    const live = { ...sample(), kind: "live", parts: [{ ...part, steps: part.steps.slice(0, 1) }] };
    const page = await browser.open(JSON.stringify(live), 1440, 900);
    for (const step of part.steps.slice(1)) {
      await page.evaluate((text) => window.thrumPage!.append(text), JSON.stringify(step));
    }
    await settled(page, part.steps.length - 1);
    await page.browserContext().close();
  });
});
