// Builds the page and its tests:
//   node build.mjs page         writes dist/page.html, which is one file without links to others
//   node build.mjs tests        bundles test/*_test.ts into build/
//   node build.mjs test NAME    bundles test/NAME_test.ts alone
//   node build.mjs screenshots  bundles test/screenshots.ts
import { build } from "esbuild";
import { readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const here = fileURLToPath(new URL(".", import.meta.url));

async function bundled(entry) {
  const result = await build({
    absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, charset: "utf8",
    target: ["chrome109", "firefox115", "safari16"], format: "iife", legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

/** The whole page as text. */
export async function pageText() {
  const [html, style, script] = await Promise.all([
    readFile(join(here, "src/page.html"), "utf8"), bundled("src/style.css"), bundled("src/main.ts")]);
  if (script.includes("</script")) throw new Error("the script contains </script");
  return html.replace("/*STYLE*/", () => style).replace("/*SCRIPT*/", () => script);
}

async function bundle(names) {
  await build({
    absWorkingDir: here, entryPoints: names.map((name) => `test/${name}.ts`), bundle: true, outdir: "build",
    outExtension: { ".js": ".mjs" }, platform: "node", format: "esm", packages: "external", target: "node18",
    sourcemap: "inline", external: ["../build.mjs"],
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const what = process.argv[2];
  if (what === "page") {
    await mkdir(join(here, "dist"), { recursive: true });
    await writeFile(join(here, "dist/page.html"), await pageText());
  } else if (what === "tests") {
    await bundle(readdirSync(join(here, "test")).filter((name) => name.endsWith("_test.ts"))
      .map((name) => name.slice(0, -3)));
  } else if (what === "test" && process.argv[3]) {
    await bundle([`${process.argv[3]}_test`]);
  } else if (what === "screenshots") {
    await bundle(["screenshots"]);
  } else {
    console.error("usage: node build.mjs page|tests|test NAME|screenshots");
    process.exitCode = 2;
  }
}
