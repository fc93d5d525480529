// Makes the pictures of the page in docs/images. Its first argument is the file of a recording; if it is empty, the
// pictures show the sample. The second is example_live_echo, for the pictures of the live view.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "puppeteer-core";
import { chromium, TestBrowser, web } from "./browser.ts";
import { readRecording } from "../src/validate.ts";
import { sample } from "./sample.ts";

if (!chromium()) throw new Error("there is no Chromium that runs (Debian: chromium)");
const file = process.argv[2];
const text = file ? readFileSync(resolve(file), "utf8") : JSON.stringify(sample());
const recording = readRecording(text);
const browser = await TestBrowser.start();

type Shot = { name: string; width: number; height: number; dark?: boolean; zh?: boolean; wanted: RegExp; step: number };

/** The scenes are found by their ids. A recording without such a scene shows its first one. */
const shots: Shot[] = [
  { name: "page", width: 1440, height: 900, wanted: /S37_05|spill/, step: 2 },
  { name: "page-dark", width: 1440, height: 900, dark: true, zh: true, wanted: /S37_10|call/, step: 3 },
  { name: "page-phone", width: 390, height: 844, wanted: /steal|S37_0?8|spill/, step: 5 },
];

async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const path = resolve(web, `../docs/images/${name}.png`) as `${string}.png`;
  await page.screenshot({ path });
  console.log(path);
  await page.browserContext().close();
}

for (const { name, width, height, dark, zh, wanted, step } of shots) {
  const part = recording.parts.find((each) => wanted.test(each.id)) ?? recording.parts[0]!;
  const address = `#${encodeURIComponent(part.id)}/${Math.min(step, part.steps.length)}`;
  const page = await browser.open(text, width, height, { dark: dark ?? false, address });
  if (zh) await page.click("#language");
  if (width < 600) await page.$eval("#stage", (stage) => stage.scrollIntoView({ block: "start" }));
  await take(page, name);
}

/** The live view of this program, after it has been watched for a while. */
async function takeLive(program: string): Promise<void> {
  const server = spawn(program, ["100"], { stdio: ["ignore", "pipe", "inherit"] });
  const [address] = await once(createInterface(server.stdout), "line") as [string];
  const visit = async (width: number, height: number, dark: boolean): Promise<Page> => {
    const page = await browser.visit(address, width, height, { dark, origin: new URL(address).origin });
    await page.waitForFunction(() => Number(document.getElementById("figures")!.dataset["samples"]) >= 3);
    return page;
  };
  const [wide, table, phone] = await Promise.all([visit(1440, 1080, false), visit(1440, 900, true),
                                                  visit(390, 844, false)]);
  await wide.waitForFunction(() => Number(document.getElementById("figures")!.dataset["samples"]) >= 60);
  await wide.bringToFront();
  await take(wide, "live");
  await table.bringToFront();
  await table.$eval("#goroutines", (goroutines) => goroutines.scrollIntoView());
  await table.waitForSelector("#goroutines tbody tr:nth-child(5) button");
  await table.$eval("#goroutines tbody tr:nth-child(5) button", (button) => (button as HTMLElement).click());
  await table.waitForSelector("#detail .frames");
  await take(table, "live-goroutines");
  await phone.bringToFront();
  await phone.$eval("#figures", (figures) => figures.scrollIntoView());
  await phone.waitForFunction(() => document.querySelector("#histogram-told")!.textContent !== "");
  await take(phone, "live-phone");
  server.kill();
  await once(server, "exit");
}

const program = process.argv[3];
if (program) await takeLive(resolve(program));
await browser.stop();
