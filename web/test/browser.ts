// Opens the built page, with a recording in it, in a headless Chromium.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer, { type Browser, type CDPSession, type Page } from "puppeteer-core";

export const web = process.cwd();
const require = createRequire(import.meta.url);

const pageFile = join(web, "dist/page.html");
const placeholder = '<script type="application/json" id="recording"></script>';

/** CHROMIUM names the browser, or it is Debian's or another one in a usual place. Ubuntu puts a program there that only
 * says how to install the browser, so it must tell its version. */
export function chromium(): string | null {
  const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const runs = (path: string): boolean => path !== "" && spawnSync(path, ["--version"]).status === 0;
  return [process.env["CHROMIUM"] ?? "", ...usual].find(runs) ?? null;
}

/** The page with this document in it, embedded as programs embed it. */
export function embed(document: string): string {
  const page = readFileSync(pageFile, "utf8");
  if (page.split(placeholder).length !== 2) throw new Error("the page has no place for a recording");
  return page.replace(placeholder, () => placeholder.replace("></", () => `>${document.replaceAll("<", "\\u003c")}</`));
}

export class Downloads {
  private readonly folder: string;
  private readonly names = new Map<string, string>();    // by the browser's own
  private readonly complete = new Map<string, string>();
  private look: () => void = () => undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  async listen(session: CDPSession, context: string): Promise<void> {
    session.on("Browser.downloadWillBegin", (event) => void this.names.set(event.guid, event.suggestedFilename));
    session.on("Browser.downloadProgress", (event) => {
      const name = this.names.get(event.guid);
      if (event.state !== "completed" || name === undefined) return;
      this.complete.set(name, readFileSync(join(this.folder, event.guid), "utf8"));
      this.look();
    });
    await session.send("Browser.setDownloadBehavior", { behavior: "allowAndName", browserContextId: context,
                                                        downloadPath: this.folder, eventsEnabled: true });
  }

  /** What is in the file with this name, when it is complete. */
  async next(name: string): Promise<string> {
    while (!this.complete.has(name)) await new Promise<void>((resolve) => void (this.look = resolve));
    return this.complete.get(name)!;
  }
}

export class TestBrowser {
  private readonly folder = mkdtempSync(join(tmpdir(), "thrum-page-"));
  private files = 0;
  private readonly browser: Browser;
  /** What the pages have complained about on their consoles. */
  readonly complaints: string[] = [];

  private constructor(browser: Browser) {
    this.browser = browser;
  }

  static async start(): Promise<TestBrowser> {
    const browser = await puppeteer.launch({
      executablePath: chromium()!, headless: true, protocolTimeout: 240_000, timeout: 120_000,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
    });
    return new TestBrowser(browser);
  }

  async open(document: string, width: number, height: number, options: { dark?: boolean; address?: string } = {}):
      Promise<Page> {
    const file = join(this.folder, `page${++this.files}.html`);
    writeFileSync(file, embed(document));
    return this.visit(pathToFileURL(file).href + (options.address ?? ""), width, height, options);
  }

  /** The page at this address may ask the server of `origin`, and no other. */
  async visit(address: string, width: number, height: number, options: { dark?: boolean; origin?: string } = {}):
      Promise<Page> {
    const { origin } = options;
    const context = await this.browser.createBrowserContext();   // with settings of its own
    const page = await context.newPage();
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warn") this.complaints.push(message.text());
    });
    page.on("request", (request) => {
      const isOwn = origin !== undefined && request.url().startsWith(`${origin}/`);
      const isInside = isOwn || /^(file|data|blob):/.test(request.url());
      if (!isInside) this.complaints.push(`the page asked for ${request.url()}`);
    });
    page.setDefaultTimeout(120_000);
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: options.dark ? "dark" : "light" }]);
    await page.goto(address);
    return page;
  }

  /** The files that the page has the browser download. */
  async downloadsOf(page: Page): Promise<Downloads> {
    const downloads = new Downloads(mkdtempSync(join(this.folder, "downloads-")));
    await downloads.listen(await this.browser.target().createCDPSession(), page.browserContext().id!);
    return downloads;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What axe finds wrong with the page as it is now. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(): Promise<{ violations: Fault[] }> } }).axe;
    type Fault = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };
    const { violations } = await axe.run();
    return violations.map((fault) => `${fault.impact} ${fault.id}: ${fault.nodes[0]?.html} ` +
      `${fault.nodes[0]?.failureSummary}`);
  });
}
