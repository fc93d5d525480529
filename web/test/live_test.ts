// The page as the live view: a server that speaks as `thrum::debug::serve` does. THRUM_LIVE_VIEW is the address of a
// real one, for example "http://127.0.0.1:6070".
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import { chromium, faultsOf, TestBrowser } from "./browser.ts";
import { LiveServer, part } from "./live_server.ts";

/** A test that waits for what does not come ends before the whole file does, and so it is named. */
const limit = { timeout: 180_000 };
const longer = { timeout: 480_000 };

describe("in a browser", { skip: chromium() ? false : "there is no Chromium that runs (Debian: chromium)" }, () => {
  let browser: TestBrowser;
  let server: LiveServer;
  before(async () => {
    browser = await TestBrowser.start();
    server = await LiveServer.start();
  });
  beforeEach(() => server.forget());
  after(async () => {
    await browser.stop();
    server.stop();
    const other = browser.complaints.filter((each) => !/net::ERR_|status of (40[139]|503)/.test(each));
    assert.deepEqual(other, [], "the console tells of nothing but the answers that were refused or lost");
  });

  const visit = (width = 1440, height = 900, options: { dark?: boolean; query?: string } = {}): Promise<Page> =>
    browser.visit(`${server.origin}/${options.query ?? ""}`, width, height, { ...options, origin: server.origin });
  const state = (page: Page, wanted: string): Promise<unknown> =>
    page.waitForFunction((each) => document.getElementById("live")!.dataset["state"] === each, {}, wanted);
  const step = (page: Page, wanted: number): Promise<unknown> =>
    page.waitForFunction((each) => document.getElementById("stage")!.dataset["step"] === String(each), {}, wanted);
  /** The text of the element is, or becomes, one that matches. */
  const tells = (page: Page, selector: string, wanted: RegExp): Promise<unknown> =>
    page.waitForFunction((selector, wanted) => new RegExp(wanted).test(document.querySelector(selector)?.textContent ??
      ""), {}, selector, wanted.source);
  /** A page that shows the program. The table is asked for when it is seen. */
  const connected = async (...args: Parameters<typeof visit>): Promise<Page> => {
    const page = await visit(...args);
    await server.viewer();
    await state(page, "connected");
    return page;
  };
  const withFigures = (page: Page): Promise<unknown> =>
    page.waitForFunction(() => Number(document.getElementById("figures")!.dataset["drawn"]) >= 3);
  const withTable = async (...args: Parameters<typeof visit>): Promise<Page> => {
    const page = await connected(...args);
    await page.$eval("#goroutines", (table) => table.scrollIntoView());
    await page.waitForSelector("#goroutines tbody tr");
    return page;
  };
  const rows = (page: Page): Promise<string[]> =>
    page.$$eval("#goroutines tbody tr", (all) => all.map((row) => [...row.cells].map((cell) =>
      cell.querySelector("button, .text")!.textContent).join("|")));
  const press = (page: Page, selector: string): Promise<void> =>
    page.$eval(selector, (button) => (button as HTMLElement).click());

  const focused = (page: Page): Promise<string | null> =>
    page.evaluate(() => document.activeElement!.closest("button")?.textContent ?? null);

  test("it shows what the program sends, and begins anew when it has been away", limit, async () => {
    const page = await visit();
    const first = await server.viewer();
    await state(page, "connected");
    assert.equal(await page.$eval("#main", (main) => (main as HTMLElement).hidden), false);
    assert.equal(await page.$eval("#connection", (bar) => (bar as HTMLElement).hidden), true);
    for (const each of part.steps.slice(1, 4)) first.write(`data: ${JSON.stringify(each)}\n\n`);
    await step(page, 3);
    first.end();
    await server.viewer();
    await state(page, "connected");
    await step(page, 0);
    assert.equal((await page.$$("#speed option")).length, 6, "there is one set of controls");
    await page.click("#theme");
    assert.equal(await page.$eval("html", (root) => root.dataset["theme"]), "dark", "and a click counts once");
    await page.browserContext().close();
  });

  test("a step that cannot be read makes it begin anew", limit, async () => {
    const page = await visit();
    const first = await server.viewer();
    await state(page, "connected");
    first.write(`data: ${JSON.stringify(part.steps[1])}\n\n`);
    await step(page, 1);
    first.write("data: {}\n\n");
    await server.viewer();
    await state(page, "connected");
    await step(page, 0);
    await page.browserContext().close();
  });

  test("a program that takes long to answer is told of", limit, async () => {
    const page = await visit();
    await page.waitForSelector("#connection:not([hidden])");
    await tells(page, "#connection p", /^Connecting/);
    await server.viewer();
    await page.waitForSelector("#connection[hidden]");
    await page.browserContext().close();
  });

  test("a picture of a live program is spoken if the reader asks for it", limit, async () => {
    const page = await visit();
    const viewer = await server.viewer();
    await state(page, "connected");
    for (const each of part.steps.slice(1, 4)) viewer.write(`data: ${JSON.stringify(each)}\n\n`);
    await step(page, 3);
    assert.equal(await page.$eval("#spoken", (e) => e.textContent), "");
    await press(page, "#back");
    await tells(page, "#spoken", /^Step 3 of 4/);
    await page.browserContext().close();
  });

  test("while the program cannot serve the page, the page says so and tries again", limit, async () => {
    server.refused.set("/api/v1/events", { status: 503, why: "too many viewers" });
    const page = await visit();
    await state(page, "lost");
    await tells(page, "#connection p", /as many clients as it can serve.*\(too many viewers\).*tries again within/);
    server.refused.clear();
    await press(page, "#connection button");
    await server.viewer();
    await state(page, "connected");
    await page.browserContext().close();
  });

  test("a page without the token says so", limit, async () => {
    server.refused.set("/api/v1/events", { status: 401, why: "a token is needed" });
    const page = await visit();
    await state(page, "refused");
    await tells(page, "#connection p", /wants its token/);
    assert.deepEqual(await faultsOf(page), []);
    await page.browserContext().close();
  });

  test("the token of the page's address goes with its requests", limit, async () => {
    server.tokens.clear();
    const page = await withTable(1440, 900, { query: "?token=a%26b" });
    assert.deepEqual([...server.tokens], ["Bearer a&b"]);
    await page.browserContext().close();
  });

  test("a search finds a goroutine among a hundred thousand, and its stack is shown", limit, async () => {
    const page = await withTable();
    await tells(page, "#goroutines-told", /^1–100 of 100,000 · 100,000 alive$/);
    await page.keyboard.press("/");
    await page.type("#goroutine-query", "chan");
    await tells(page, "#goroutines-told", /^1–1 of 1 /);
    assert.deepEqual(await rows(page), ["G1|waiting|chan receive|41 s||main"]);
    await page.focus("#goroutines tbody button");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail:not([hidden])");
    assert.equal(await page.$eval("#detail h3", (e) => e.textContent), "Goroutine G1");
    assert.equal(await page.$eval("#detail .frames", (e) => e.textContent), "session::read_loop()src/server.cpp:88");
    assert.equal(await page.$eval("#goroutines tbody button", (e) => e.getAttribute("aria-pressed")), "true");
    await page.waitForFunction(() => document.getElementById("goroutines-held")!.style.visibility === "visible");
    await page.focus("#detail .shut");
    await page.keyboard.press("Enter");
    assert.equal(await page.$eval("#detail", (e) => (e as HTMLElement).hidden), true);
    assert.equal(await focused(page), "G1");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail:not([hidden])");
    await page.keyboard.press("Escape");
    assert.equal(await page.$eval("#detail", (e) => (e as HTMLElement).hidden), true);
    await page.browserContext().close();
  });

  test("goroutines are grouped by place and by state, and a group leads to its goroutines", limit, async () => {
    const page = await withTable();
    await press(page, "[data-view=state]");
    await page.waitForSelector("#goroutines[data-shown='state ']");
    assert.deepEqual(await rows(page), ["66,599|waiting|IO wait|2 min", "33,300|waiting|sleep|2 min", "100|running||",
                                        "1|waiting|chan receive|41 s"]);
    await press(page, "[data-view=place]");
    await page.waitForSelector("#goroutines[data-shown='place ']");
    const places = await rows(page);
    assert(places.every((row) => row.split("|").length === 5), places[0]);
    await page.focus("#goroutines tbody tr:last-child button");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#goroutines[data-shown='each main']");
    assert.equal(await focused(page), "G1");
    assert.deepEqual(await rows(page), ["G1|waiting|chan receive|41 s||main"]);
    await page.browserContext().close();
  });

  test("the pages of the table follow each other", limit, async () => {
    const page = await withTable();
    await press(page, "[data-way=after]");
    await tells(page, "#goroutines-told", /^101–200 of 100,000 /);
    assert.match((await rows(page))[0]!, /^G101\|/);
    await press(page, "[data-way=before]");
    await tells(page, "#goroutines-told", /^1–100 of 100,000 /);
    await press(page, "#longest-first");
    await page.waitForFunction(() => document.querySelector("#goroutines tbody button")!.textContent === "G99999");
    assert((await page.$$("#goroutines tbody tr")).length === 100);
    await page.browserContext().close();
  });

  test("rates, queue lengths and histograms are drawn, and tell their figures in words", limit, async () => {
    const page = await connected();
    await withFigures(page);
    const figures = await page.$$eval("#figures .lines li", (all) =>
      Object.fromEntries(all.map((row) => [row.querySelector(".name")!.textContent, {
        value: row.querySelector("b")!.textContent, line: row.querySelector(".line")!.getAttribute("d") }])));
    assert.equal(figures["waiting"]!.value, "100 k");
    assert.match(figures["switches"]!.value!, /^[\d.]+( k)?$/);
    assert.match(figures["switches"]!.line!, /^M.*L/);
    assert.equal(await page.$eval("#figures .heat", (e) => e.getAttribute("aria-label")),
                 "77 goroutines are queued. The longest queue is global queue, with 70.");
    assert.deepEqual(await page.$$eval("#figures .names span", (all) => all.map((each) => each.textContent)),
                     ["global 70", "P0 2", "P1 5"]);
    assert.match(await page.$eval("#histogram-told", (e) => e.textContent!),
                 /^\d+ measured: half within 512 ns, 99 % within 512 ns. Longest of the run: 400 ns.$/);
    await page.select("#histogram-kind", "poll");
    await tells(page, "#histogram-told", /^None was measured/);
    server.refused.set("/metrics", { status: 503, why: "too many connections" });
    await tells(page, "#figures-told", /as many clients as it can serve.*\(too many connections\)$/);
    server.refused.clear();
    await tells(page, "#figures-told", /^$/);
    await press(page, "[data-span=hour]");
    assert.equal(await page.$eval("[data-span=hour]", (e) => e.getAttribute("aria-pressed")), "true");
    await page.browserContext().close();
  });

  const told = (page: Page, wanted: RegExp): Promise<unknown> => tells(page, "#record-told", wanted);

  test("a trace and a profile are recorded and downloaded", limit, async () => {
    const page = await connected();
    const downloads = await browser.downloadsOf(page);
    for (const [kind, path, name] of [["trace", "trace?seconds=1", "trace-1.trace"],
                                      ["mutexes", "profile?kind=mutexes&seconds=1", "mutexes-2.pprof"]] as const) {
      await page.select("#record-kind", kind);
      await page.select("#record-seconds", "1");
      await press(page, "#record-start");
      const answer = await server.recordings.next();
      assert.equal(server.asked.filter((each) => each.startsWith("POST")).at(-1), `POST /api/v1/${path}`);
      assert.equal(await page.$eval("#record-start", (button) => button.textContent), "Stop");
      answer.end(`what is in ${kind}`);
      await told(page, new RegExp(`^${name} is complete: `));
      assert.equal(await downloads.next(name), `what is in ${kind}`);
    }
    assert.equal((await page.$$("#recorded li")).length, 2);
    assert.deepEqual(await faultsOf(page), []);
    await page.browserContext().close();
  });

  test("a recording is stopped", limit, async () => {
    const page = await connected();
    await press(page, "#record-start");
    const answer = await server.recordings.next();
    const gone = once(answer, "close");
    await press(page, "#record-start");
    await gone;
    await told(page, /^Stopped/);
    assert.equal((await page.$$("#recorded li")).length, 0);
    await page.browserContext().close();
  });

  test("a recording that is refused is told with the reason", limit, async () => {
    const page = await connected();
    for (const [status, why, words] of [[409, "another trace is being written", /^Another client is recording this/],
                                        [403, "from another site", /^The program refuses this page/],
                                        [503, "too many connections", /^The program has as many clients/]] as const) {
      server.refused.set("/api/v1/trace", { status, why });
      await press(page, "#record-start");
      await told(page, new RegExp(`${words.source}.*\\(${why}\\)$`));
    }
    await page.browserContext().close();
  });

  test("axe finds no fault and nothing is wider than the page, light and dark, wide and narrow", longer, async () => {
    for (const [width, dark] of [[1440, false], [1440, true], [390, false], [390, true]] as const) {
      const page = await withTable(width, 900, { dark });
      for (const open of [null, "#goroutines tbody button", "[data-view=place]", "#language"]) {
        if (open) await press(page, open);
        if (open === "#goroutines tbody button") await page.waitForSelector("#detail:not([hidden])");
        if (open === "[data-view=place]") await page.waitForSelector("#goroutines[data-shown='place ']");
        assert.deepEqual(await faultsOf(page), [], `${width} pixels, ${dark ? "dark" : "light"}, after ${open}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert(wide <= width, `${wide} pixels after ${open}`);
      }
      await page.browserContext().close();
    }
  });

  const real = process.env["THRUM_LIVE_VIEW"];
  test("it shows a real program", { ...limit, skip: real ? false : "THRUM_LIVE_VIEW names none" }, async () => {
    const page = await browser.visit(`${real}/`, 1440, 900, { origin: real! });
    await state(page, "connected");
    await page.waitForFunction(() => Number(document.getElementById("stage")!.dataset["step"]) >= 5);
    assert.notEqual(await page.$eval("#machine", (machine) => machine.querySelectorAll(".p").length), 0);
    await page.$eval("#goroutines", (table) => table.scrollIntoView());
    await page.waitForSelector("#goroutines tbody tr");
    await press(page, "#goroutines tbody button");
    await page.waitForSelector("#detail .frames");
    await page.$eval("#figures", (figures) => figures.scrollIntoView());
    await withFigures(page);
    const downloads = await browser.downloadsOf(page);
    await page.select("#record-kind", "goroutines");
    await press(page, "#record-start");
    assert((await downloads.next("goroutines-1.pprof")).length > 100);
    await page.browserContext().close();
  });
});
