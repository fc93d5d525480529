// Makes the pictures of the page in docs/images. Its argument is the file of a recording; without one the pictures show
// the sample.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
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

for (const { name, width, height, dark, zh, wanted, step } of shots) {
  const part = recording.parts.find((each) => wanted.test(each.id)) ?? recording.parts[0]!;
  const address = `#${encodeURIComponent(part.id)}/${Math.min(step, part.steps.length)}`;
  const page = await browser.open(text, width, height, { dark: dark ?? false, address });
  if (zh) await page.click("#language");
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  if (width < 600) await page.$eval("#stage", (stage) => stage.scrollIntoView({ block: "start" }));
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const path = resolve(web, `../docs/images/${name}.png`) as `${string}.png`;
  await page.screenshot({ path });
  console.log(path);
  await page.browserContext().close();
}
await browser.stop();
