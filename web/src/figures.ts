// The figures of a live program over time: samples of /metrics (docs/stats.md), and the rates, queue lengths and
// histograms that follow from them. Their number has a bound, however long the page is open.

/** The metrics by name and labels: `thrum_goroutines{state="waiting"}`. */
export type Metrics = ReadonlyMap<string, number>;

export function readMetrics(text: string): Metrics {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const blank = line.lastIndexOf(" ");
    if (line.startsWith("#") || blank < 0) continue;
    values.set(line.slice(0, blank), Number(line.slice(blank + 1)));
  }
  return values;
}

export const gauges = ["waiting", "runnable", "running", "in_call"] as const;
export type Gauge = (typeof gauges)[number];

/** What is counted, and the metrics whose sum it is. */
export const counters = {
  switches: ["thrum_switches_total"], created: ["thrum_goroutines_created_total"], steals: ["thrum_steals_total"],
  wakes: ["thrum_proc_wakes_total"], timers: ["thrum_timers_run_total"], polls: ["thrum_polls_total"],
  calls: ["thrum_calls_total"], preemptions: ["thrum_preemptions_total"],
} as const;
export type Counter = keyof typeof counters;
export const counterNames = Object.keys(counters) as Counter[];

export const histogramNames = ["ready_to_run", "call", "long_call", "poll", "world_stopping", "world_stopped"] as const;
export type HistogramName = (typeof histogramNames)[number];

/** Buckets of powers of two: the first ends at 256 ns, and each other one ends at twice the edge before it. */
export const firstEdge_ns = 256;

export type Sample = {
  t_ms: number;
  gauges: Record<Gauge, number>;
  counters: Record<Counter, number>;
  /** The global queue, and then those of the Ps in use, by their numbers. */
  queues: { name: string; length: number }[];
  histograms: Record<HistogramName, { counts: number[]; longest_ns: number }>;
};

function fromNames<Name extends string, Value>(names: readonly Name[], value: (name: Name) => Value):
    Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;
}

export function sampleOf(metrics: Metrics, t_ms: number): Sample {
  const sums: Record<string, number> = {};
  const buckets: Record<string, number[]> = {};
  const queues = [{ name: "", length: metrics.get("thrum_global_queue_length") ?? 0 }];
  for (const [key, value] of metrics) {
    const brace = key.indexOf("{");
    const name = brace < 0 ? key : key.slice(0, brace);
    sums[name] = (sums[name] ?? 0) + value;
    if (name.endsWith("_seconds_bucket")) (buckets[name] ??= []).push(value);
    if (name !== "thrum_run_queue_length") continue;
    queues.push({ name: `P${/\d+/.exec(key.slice(brace))?.[0]}`, length: value });
  }
  return {
    t_ms, queues,
    gauges: fromNames(gauges, (name) => metrics.get(`thrum_goroutines{state="${name}"}`) ?? 0),
    counters: fromNames(counterNames, (name) =>
      counters[name].reduce((sum, metric) => sum + (sums[metric] ?? 0), 0)),
    histograms: fromNames(histogramNames, (name) => {
      const upTo = buckets[`thrum_${name}_seconds_bucket`] ?? [];   // Prometheus adds each bucket to the next
      return { counts: upTo.map((count, i) => count - (upTo[i - 1] ?? 0)),
               longest_ns: (sums[`thrum_${name}_seconds_longest`] ?? 0) * 1e9 };
    }),
  };
}

/** One sample a second for the last minutes, and every fifteenth of them for the last hour. */
export const spans = { minutes: { every_ms: 1000, count: 241 }, hour: { every_ms: 15_000, count: 241 } } as const;
export type SpanName = keyof typeof spans;
export const spanNames = Object.keys(spans) as SpanName[];

export class History {
  private readonly kept: Record<SpanName, Sample[]> = { minutes: [], hour: [] };

  add(sample: Sample): void {
    const last = this.kept.minutes.at(-1);
    if (last && counterNames.some((name) => sample.counters[name] < last.counters[name])) {
      for (const name of spanNames) this.kept[name] = [];   // another program answers now
    }
    for (const name of spanNames) {
      const samples = this.kept[name];
      const { every_ms, count } = spans[name];
      if (samples.length > 0 && sample.t_ms < samples.at(-1)!.t_ms + every_ms * 0.9) continue;
      samples.push(sample);
      if (samples.length > count) samples.shift();
    }
  }

  /** The samples of a span, and the newest of all. */
  of(span: SpanName): readonly Sample[] {
    const samples = this.kept[span];
    const newest = this.kept.minutes.at(-1);
    return newest && samples.at(-1) !== newest ? [...samples, newest] : samples;
  }
}

export type Point = { t_ms: number; value: number };

export function gaugeOver(samples: readonly Sample[], name: Gauge): Point[] {
  return samples.map(({ t_ms, gauges }) => ({ t_ms, value: gauges[name] }));
}

/** Per second, between each sample and the one before it. */
export function rateOver(samples: readonly Sample[], name: Counter): Point[] {
  return samples.slice(1).map(({ t_ms, counters }, i) => {
    const before = samples[i]!;
    const seconds = Math.max(1, t_ms - before.t_ms) / 1000;
    return { t_ms, value: (counters[name] - before.counters[name]) / seconds };
  });
}

export type Histogram = { counts: number[]; total: number; p50_ns: number; p99_ns: number };

/** What has been measured between the first and the last of the samples. */
export function histogramOver(samples: readonly Sample[], name: HistogramName): Histogram {
  const before = samples[0]?.histograms[name].counts ?? [];
  const counts = (samples.at(-1)?.histograms[name].counts ?? []).map((count, i) => count - (before[i] ?? 0));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return { counts, total, p50_ns: percentile(counts, total, 0.5), p99_ns: percentile(counts, total, 0.99) };
}

/** The upper edge of the bucket. Times beyond the last edge are infinite. */
function percentile(counts: number[], total: number, share: number): number {
  let sum = 0;
  for (let i = 0; i < counts.length; ++i) {
    sum += counts[i]!;
    if (total > 0 && sum >= total * share) return i === counts.length - 1 ? Infinity : firstEdge_ns * 2 ** i;
  }
  return 0;
}
