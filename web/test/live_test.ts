// The page as the live view: a server that speaks as `thrum::debug::serve` does. THRUM_LIVE_VIEW is the address of a
// real one, for example "http://127.0.0.1:6070".
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import { eventsAddress } from "../src/live.ts";
import { chromium, TestBrowser, web } from "./browser.ts";
import { sample } from "./sample.ts";

test("the token of the page's address goes with its requests", () => {
  assert.equal(eventsAddress(""), "api/v1/events");
  assert.equal(eventsAddress("?a=b"), "api/v1/events");
  assert.equal(eventsAddress("?token=a%26b"), "api/v1/events?token=a%26b");
});

const part = sample().parts[0]!;
const recording = JSON.stringify({ ...sample(), kind: "live", parts: [{ ...part, steps: part.steps.slice(0, 1) }] });

describe("in a browser", { skip: chromium() ? false : "there is no Chromium that runs (Debian: chromium)" }, () => {
  let browser: TestBrowser;
  let server: Server;
  let origin = "";
  let viewer: ServerResponse | null = null;   // the stream of events
  before(async () => {
    browser = await TestBrowser.start();
    server = createServer((request, response) => {
      if (request.url === "/api/v1/events") {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write("retry: 10\n\n");
        viewer = response;
      } else {
        response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
        response.end(readFileSync(join(web, "dist/page.html")));
      }
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    await browser.stop();
    server.closeAllConnections();
    server.close();
  });

  const state = (page: Page, wanted: string): Promise<unknown> =>
    page.waitForFunction((each) => document.getElementById("live")!.dataset["state"] === each, {}, wanted);
  const step = (page: Page, wanted: number): Promise<unknown> =>
    page.waitForFunction((each) => document.getElementById("stage")!.dataset["step"] === String(each), {}, wanted);
  const connected = async (): Promise<ServerResponse> => {
    while (!viewer) await new Promise((again) => setImmediate(again));
    const found = viewer;
    viewer = null;
    return found;
  };

  test("it shows what the program sends, and begins anew when it has been away", async () => {
    const page = await browser.visit(`${origin}/`, 1440, 900, { origin });
    const first = await connected();
    first.write(`event: recording\ndata: ${recording}\n\n`);
    await state(page, "connected");
    assert.equal(await page.$eval("#main", (main) => (main as HTMLElement).hidden), false);
    for (const each of part.steps.slice(1, 4)) first.write(`data: ${JSON.stringify(each)}\n\n`);
    await step(page, 3);
    first.end();
    await state(page, "lost");
    const second = await connected();
    second.write(`event: recording\ndata: ${recording}\n\n`);
    await state(page, "connected");
    await step(page, 0);
    second.end();
    await page.browserContext().close();
    const other = browser.complaints.filter((each) => !each.includes("net::ERR_"));
    assert.deepEqual(other, [], "the console tells of nothing but the connection that was lost");
  });

  const real = process.env["THRUM_LIVE_VIEW"];
  test("it shows a real program", { skip: real ? false : "THRUM_LIVE_VIEW names none" }, async () => {
    const page = await browser.visit(`${real}/`, 1440, 900, { origin: real! });
    await state(page, "connected");
    await page.waitForFunction(() => Number(document.getElementById("stage")!.dataset["step"]) >= 5);
    assert.notEqual(await page.$eval("#machine", (machine) => machine.querySelectorAll(".p").length), 0);
    await page.browserContext().close();
  });
});
