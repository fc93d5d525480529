// The house's limits for the sources of the page, and what must not be in a file of the repository.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pageText } from "../build.mjs";

const sources = ["src", "test"].flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));

test("files have at most 500 lines of at most 120 columns", () => {
  for (const file of [...sources, "build.mjs"]) {
    const lines = readFileSync(file, "utf8").split("\n");
    assert(lines.length <= 501, `${file} has ${lines.length} lines`);
    lines.forEach((line, i) => assert([...line].length <= 120, `${file}:${i + 1} has ${[...line].length} columns`));
  }
});

test("no type is any", () => {
  const any = /[:<|,(]\s*any\b|\bas any\b/;
  for (const file of sources.filter((name) => name.endsWith(".ts"))) {
    readFileSync(file, "utf8").split("\n").forEach((line, i) => assert(!any.test(line), `${file}:${i + 1}: ${line}`));
  }
});

test("the lock file names no place from where packages come", () => {
  assert(!/"resolved"|registry/.test(readFileSync("package-lock.json", "utf8")));
});

test("the page loads nothing, and has one place for a recording", () => {
  const page = readFileSync("dist/page.html", "utf8");
  assert.equal(page.split('<script type="application/json" id="recording"></script>').length, 2);
  assert(!/\b(src|href)="(?!data:)/.test(page), "a link to another file");
  assert(!/https?:\/\/(?!www\.w3\.org\/)/.test(page), "an address");
});

test("the committed page is what the sources give", async () => {
  const same = readFileSync("dist/page.html", "utf8") === await pageText();
  assert(same, "web/dist/page.html is old: ./dev build web makes it anew");
});
