// Has the program record a trace or a profile for some seconds, and gives it to the reader as a file. The program ends
// a recording at once when its client goes away, and keeps nothing of it.
import { ApiError, request, tellError, whole } from "./api.ts";
import { shortBytes } from "./format.ts";
import type { Language } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

type Kind = "trace" | "cpu" | "blocks" | "mutexes" | "goroutines";
type Result = { name: string; address: string; bytes: number; kind: Kind };
type Told = { is: "nothing" | "stopped" | "running" } | { is: "ready"; name: string; bytes: number }
  | { is: "failed"; why: ApiError };

const kinds: [Kind, WordKey][] = [["trace", "record_trace"], ["cpu", "record_cpu"], ["blocks", "record_blocks"],
                                  ["mutexes", "record_mutexes"], ["goroutines", "record_goroutines"]];
const lengths = [1, 2, 5, 10, 30, 60];
const resultsMost = 4;   // each is in the browser's memory

export class RecordPanel {
  private readonly root = byId("record");
  private readonly title = html("h3", { id: "record-title" });
  private readonly kind = html("select", { id: "record-kind", class: "field" });
  private readonly seconds = html("select", { id: "record-seconds", class: "field" });
  private readonly button = html("button", { type: "submit", id: "record-start" });
  private readonly progress = html("progress", { max: 1, value: 0, hidden: "" });
  private readonly told = html("p", { id: "record-told", role: "status" });
  private readonly list = html("ul", { id: "recorded" });
  private readonly results: Result[] = [];
  private recording: AbortController | null = null;
  private now: Told = { is: "nothing" };
  private count = 0;
  private language: Language;

  constructor(language: Language) {
    this.language = language;
    this.kind.append(...kinds.map(([value]) => html("option", { value })));
    this.seconds.append(...lengths.map((value) => html("option", { value })));
    this.seconds.value = "5";
    const form = html("form", {}, this.kind, this.seconds, this.button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.recording) this.recording.abort();
      else void this.record(this.kind.value as Kind, Number(this.seconds.value));
    });
    this.kind.addEventListener("change", () => this.show());
    this.root.setAttribute("aria-labelledby", "record-title");
    this.root.append(this.title, form, this.progress, this.told, this.list);
    this.translate(language);
  }

  translate(language: Language): void {
    this.language = language;
    this.title.textContent = say(language, "record");
    this.kind.setAttribute("aria-label", say(language, "record_what"));
    this.seconds.setAttribute("aria-label", say(language, "record_for"));
    this.progress.setAttribute("aria-label", say(language, "recording"));
    kinds.forEach(([, key], i) => void (this.kind.options[i]!.textContent = say(language, key)));
    lengths.forEach((n, i) => void (this.seconds.options[i]!.textContent = say(language, "seconds", { n })));
    this.show();
    this.showResults();
  }

  private async record(kind: Kind, seconds: number): Promise<void> {
    const what = kind === "trace" ? "trace?" : `profile?kind=${kind}&`;
    const recording = this.recording = new AbortController();
    const begun = performance.now();
    const timer = setInterval(() => void (this.progress.value = (performance.now() - begun) / (seconds * 1000)), 100);
    this.progress.value = 0;
    const name = `${kind}-${++this.count}.${kind === "trace" ? "trace" : "pprof"}`;
    this.tell({ is: "running" });
    try {
      const response = await request(`api/v1/${what}seconds=${seconds}`, { method: "POST", signal: recording.signal });
      const file = await whole(response.blob(), recording.signal);
      this.recording = null;
      this.add({ name, address: URL.createObjectURL(file), bytes: file.size, kind });
      this.tell({ is: "ready", name, bytes: file.size });
    } catch (error) {
      this.recording = null;
      if (recording.signal.aborted) this.tell({ is: "stopped" });
      else if (error instanceof ApiError) this.tell({ is: "failed", why: error });
      else throw error;
    } finally {
      clearInterval(timer);
    }
  }

  /** The reader asked for it, so it is downloaded at once, and may be again. */
  private add(result: Result): void {
    this.results.unshift(result);
    for (const old of this.results.splice(resultsMost)) URL.revokeObjectURL(old.address);
    this.showResults();
    this.list.querySelector("a")!.click();
  }

  private tell(now: Told): void {
    this.now = now;
    this.show();
  }

  private show(): void {
    const { language, now } = this;
    const running = this.recording !== null;
    this.button.textContent = say(language, running ? "record_stop" : "record_start");
    this.button.classList.toggle("running", running);
    this.kind.disabled = this.seconds.disabled = running;
    this.seconds.hidden = this.kind.value === "goroutines";   // that one shows a moment
    this.progress.hidden = !running;
    this.root.dataset["state"] = now.is;
    this.told.classList.toggle("problem", now.is === "failed");
    this.told.textContent = tell(now, language);
  }

  private showResults(): void {
    this.list.replaceChildren(...this.results.map(({ name, address, bytes, kind }) => {
      const command = kind === "trace" ? `thrum trace ${name}` : `go tool pprof -top ${name}`;
      return html("li", {}, html("a", { href: address, download: name }, name), html("span", {}, shortBytes(bytes)),
                  html("code", {}, command));
    }));
  }
}

function tell(now: Told, language: Language): string {
  switch (now.is) {
    case "nothing": return say(language, "record_hint");
    case "running": return say(language, "recording");
    case "stopped": return say(language, "record_stopped");
    case "failed": return tellError(now.why, language);
    case "ready": return say(language, "record_ready", { name: now.name, size: shortBytes(now.bytes) });
  }
}
