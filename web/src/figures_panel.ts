// The figures of a live program: goroutines by state, rates, queue lengths and how long things took. They are drawn
// anew with each sample, and only while they are seen.
import { ApiError, pauseAfter, request, tellError, whole } from "./api.ts";
import { across, barsOf, heatFrom, heatOf, lineOf } from "./chart.ts";
import {
  counterNames, firstEdge_ns, gaugeOver, gauges, histogramNames, histogramOver, History, rateOver, readMetrics,
  sampleOf, spanNames, spans, type HistogramName, type Point, type SpanName,
} from "./figures.ts";
import { shortNumber, shortTime, wholeNumber } from "./format.ts";
import type { Language } from "./recording.ts";
import { byId, html, round, svg } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

const lineHigh = 30;
const bars = { wide: 300, high: 78, below: 18 };
const rowsMost = 65;   // the global queue and 64 Ps

type Row = { root: HTMLElement; key: WordKey; name: HTMLElement; value: HTMLElement; most: HTMLElement;
             line: SVGPathElement; area: SVGPathElement; points: () => Point[] };

export class FiguresPanel {
  private readonly root = byId("figures");
  private readonly title = html("h3", { id: "figures-title" });
  private readonly choices = html("div", { class: "choices", role: "group" });
  private readonly titles = new Map<WordKey, HTMLElement>();
  private readonly rows: Row[];
  private readonly queues = svg("svg", { role: "img", preserveAspectRatio: "none", class: "heat" });
  private readonly names = html("div", { class: "names", "aria-hidden": "true" });
  private readonly legend = html("ul", { class: "legend", "aria-hidden": "true" });
  private readonly kind = html("select", { class: "field", id: "histogram-kind" });
  private readonly histogram = svg("svg", { role: "img", class: "bars",
                                            viewBox: `0 0 ${bars.wide} ${bars.high + bars.below}` });
  private readonly summary = html("p", { id: "histogram-told" });
  private readonly told = html("p", { id: "figures-told", class: "problem", role: "status" });
  private readonly history = new History();
  private error: ApiError | null = null;
  private span: SpanName = "minutes";
  private language: Language;
  private timer = 0;
  private isOn = false;
  private isSeen = false;

  constructor(language: Language) {
    this.language = language;
    this.rows = [
      ...gauges.map((name) => this.row(`figure_${name}`, name, () => gaugeOver(this.history.of(this.span), name))),
      ...counterNames.map((name) => this.row(`figure_${name}`, "rate", () =>
        rateOver(this.history.of(this.span), name)))];
    const list = (from: number, to?: number): HTMLElement =>
      html("ul", { class: "lines" }, ...this.rows.slice(from, to).map((row) => row.root));
    this.kind.append(...histogramNames.map((value) => html("option", { value })));
    this.kind.addEventListener("change", () => this.draw());
    this.root.setAttribute("aria-labelledby", "figures-title");
    this.root.append(
      html("div", { class: "bar" }, this.title, this.choices), this.told,
      this.heading("figures_goroutines"), list(0, gauges.length), this.heading("figures_rates"), list(gauges.length),
      this.heading("figures_queues"), html("div", { class: "queues" }, this.names, this.queues), this.legend,
      this.heading("figures_latency"), this.kind, this.histogram, this.summary);
    new IntersectionObserver((seen) => {
      this.isSeen = seen.some((each) => each.isIntersecting);
      this.draw();
    }).observe(this.root);
    this.translate(language);
  }

  /** The program answers, or it does not. */
  turn(on: boolean): void {
    if (on === this.isOn) return;
    this.isOn = on;
    clearTimeout(this.timer);
    if (on) void this.look();
    else this.tell(null);   // the bar at the top tells of a program that is away
  }

  translate(language: Language): void {
    this.language = language;
    this.title.textContent = say(language, "figures");
    for (const [key, title] of this.titles) title.textContent = say(language, key);
    for (const row of this.rows) row.name.textContent = say(language, row.key);
    this.kind.setAttribute("aria-label", say(language, "figures_latency"));
    histogramNames.forEach((name, i) =>
      void (this.kind.options[i]!.textContent = say(language, `took_${name}`)));
    this.legend.replaceChildren(...heatFrom.map((from, i) =>
      html("li", {}, html("i", { class: `heat-${i}` }), `${from}${i === heatFrom.length - 1 ? "+" : ""}`)));
    this.choices.setAttribute("aria-label", say(language, "span"));
    this.choices.replaceChildren(...spanNames.map((name) => {
      const button = html("button", { type: "button", "data-span": name, "aria-pressed": String(name === this.span) },
                          say(language, `span_${name}`));
      button.addEventListener("click", () => {
        this.span = name;
        this.translate(this.language);
        this.choices.querySelector<HTMLElement>(`[data-span=${name}]`)!.focus();
      });
      return button;
    }));
    this.tell(this.error);
    this.draw();
  }

  private heading(key: WordKey): HTMLElement {
    const made = html("h4");
    this.titles.set(key, made);
    return made;
  }

  private row(key: WordKey, kind: string, points: () => Point[]): Row {
    const line = svg("path", { class: "line" });
    const area = svg("path", { class: "area" });
    const name = html("span", { class: "name" });
    const value = html("b");
    const most = html("small");
    const chart = svg("svg", { viewBox: `0 0 ${across} ${lineHigh}`, preserveAspectRatio: "none",
                               "aria-hidden": "true" }, area, line);
    const root = html("li", { class: kind }, name, chart, html("span", { class: "value" }, value, most));
    return { root, key, name, value, most, line, area, points };
  }

  private async look(): Promise<void> {
    const begun = performance.now();
    try {
      const text = await whole((await request("metrics")).text());
      this.history.add(sampleOf(readMetrics(text), performance.now()));
      this.tell(null);
      this.draw();
      this.root.dataset["samples"] = String(this.history.of("minutes").length);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (this.isOn) this.tell(error);
    }
    if (!this.isOn) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), pauseAfter(performance.now() - begun, 1000, 5));
  }

  private tell(error: ApiError | null): void {
    this.error = error;
    const words = error ? tellError(error, this.language) : "";
    if (this.told.textContent !== words) this.told.textContent = words;
  }

  private draw(): void {
    const samples = this.history.of(this.span);
    const last = samples.at(-1);
    if (!last || !this.isSeen) return;
    const { every_ms, count } = spans[this.span];
    const whole_ms = every_ms * (count - 1);
    // A young history is as wide as an old one.
    const from_ms = last.t_ms - Math.min(whole_ms, Math.max(whole_ms / 8, last.t_ms - samples[0]!.t_ms));
    for (const row of this.rows) {
      const points = row.points();
      const { line, area, most } = lineOf(points, from_ms, last.t_ms, lineHigh);
      row.line.setAttribute("d", line);
      row.area.setAttribute("d", area);
      row.value.textContent = points.length === 0 ? "" : shortNumber(points.at(-1)!.value);
      row.most.textContent = points.length === 0 ? "" : say(this.language, "at_most", { n: shortNumber(most) });
    }
    this.drawQueues(from_ms, last.t_ms);
    this.drawHistogram(this.kind.value as HistogramName);
    this.root.dataset["drawn"] = String(samples.length);
  }

  private drawQueues(from_ms: number, to_ms: number): void {
    const samples = this.history.of(this.span);
    const { queues } = samples.at(-1)!;
    const rows = Math.min(rowsMost, queues.length);
    const rowHigh = rows <= 9 ? 18 : rows <= 17 ? 10 : 5;
    this.queues.setAttribute("viewBox", `0 0 ${across} ${rows * rowHigh}`);
    this.queues.style.height = this.names.style.height = `${rows * rowHigh}px`;
    if (this.queues.children.length === 0) {
      this.queues.append(...heatFrom.map((_, i) => svg("path", { class: `heat-${i}` })));
    }
    heatOf(samples, rows, from_ms, to_ms, rowHigh).forEach((d, i) => this.queues.children[i]!.setAttribute("d", d));
    // Names that would touch each other are left out.
    const each = Math.ceil(14 / rowHigh);
    const shown = queues.slice(0, rows).filter((_, i) => i % each === 0)
      .map(({ name, length }) => `${name || say(this.language, "global_short")} ${length}`);
    if (this.names.children.length !== shown.length) this.names.replaceChildren(...shown.map(() => html("span")));
    shown.forEach((text, i) => void (this.names.children[i]!.textContent = text));
    const longest = queues.reduce((found, queue) => (queue.length > found.length ? queue : found));
    this.queues.setAttribute("aria-label", say(this.language, "queues_now", {
      all: wholeNumber(queues.reduce((sum, { length }) => sum + length, 0)),
      name: longest.name || say(this.language, "global"), n: wholeNumber(longest.length) }));
  }

  private drawHistogram(name: HistogramName): void {
    const samples = this.history.of(this.span);
    const { counts, total, p50_ns, p99_ns } = histogramOver(samples, name);
    const step = bars.wide / Math.max(1, counts.length);
    const at = (ns: number): number => round((Math.log2(ns / firstEdge_ns) + 1) * step);
    const ticks = [1e3, 1e6, 1e9].flatMap((ns) => [
      svg("path", { class: "axis", d: `M${at(ns)} 0V${bars.high + 3}` }),
      svg("text", { x: at(ns), y: bars.high + 15, "text-anchor": "middle" }, shortTime(ns).replace(".0", ""))]);
    this.histogram.replaceChildren(...ticks, svg("path", { class: "axis", d: `M0 ${bars.high}H${bars.wide}` }),
                                   svg("path", { class: "bar", d: barsOf(counts, bars.wide, bars.high) }));
    const upTo = (ns: number): string => (ns === Infinity ? "∞" : shortTime(ns));
    const { longest_ns } = samples.at(-1)!.histograms[name];
    const told = total === 0 ? say(this.language, "took_none")
      : say(this.language, "took", { n: shortNumber(total), half: upTo(p50_ns), most: upTo(p99_ns),
                                     longest: shortTime(longest_ns) });
    this.summary.textContent = told;
    this.histogram.setAttribute("aria-label", `${say(this.language, `took_${name}`)}: ${told}`);
  }
}
