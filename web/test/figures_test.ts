// The figures of the live view and their charts, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf, heatOf, lineOf } from "../src/chart.ts";
import {
  gaugeOver, histogramOver, History, rateOver, readMetrics, sampleOf, spans, type Sample,
} from "../src/figures.ts";
import { forgotten } from "../src/reel.ts";

const text = (switches: number, fast: number, slow: number): string => `# HELP thrum_goroutines how many
thrum_goroutines{state="waiting"} 28
thrum_goroutines{state="running"} 2
thrum_global_queue_length 3
thrum_run_queue_length{proc="0"} 11
thrum_run_queue_length{proc="1"} 0
thrum_switches_total{kind="direct"} ${switches}
thrum_switches_total{kind="via_g0"} 1
thrum_ready_to_run_seconds_bucket{le="2.56e-07"} ${fast}
thrum_ready_to_run_seconds_bucket{le="5.12e-07"} ${fast + slow}
thrum_ready_to_run_seconds_bucket{le="+Inf"} ${fast + slow}
thrum_ready_to_run_seconds_longest 4e-07
`;
const at = (t_ms: number, switches: number, fast = 0, slow = 0): Sample =>
  sampleOf(readMetrics(text(switches, fast, slow)), t_ms);

test("a sample has the sums over labels, the queues and the buckets by themselves", () => {
  const sample = at(0, 100, 7, 2);
  assert.equal(sample.counters.switches, 101);
  assert.equal(sample.counters.steals, 0);
  assert.equal(sample.gauges.waiting, 28);
  assert.deepEqual(sample.queues, [{ name: "", length: 3 }, { name: "P0", length: 11 }, { name: "P1", length: 0 }]);
  assert.deepEqual(sample.histograms.ready_to_run.counts, [7, 2, 0]);
  assert.equal(Math.round(sample.histograms.ready_to_run.longest_ns), 400);
});

test("a rate is per second, whatever lies between the samples", () => {
  const samples = [at(0, 0), at(1000, 50), at(5000, 450)];
  assert.deepEqual(rateOver(samples, "switches"), [{ t_ms: 1000, value: 50 }, { t_ms: 5000, value: 100 }]);
  assert.deepEqual(gaugeOver(samples, "running").map(({ value }) => value), [2, 2, 2]);
});

test("a histogram has what was measured between its samples", () => {
  const measured = histogramOver([at(0, 0, 100, 100), at(1000, 0, 199, 101)], "ready_to_run");
  assert.deepEqual(measured, { counts: [99, 1, 0], total: 100, p50_ns: 256, p99_ns: 256 });
  assert.equal(histogramOver([at(0, 0, 5, 5), at(1000, 0, 5, 15)], "ready_to_run").p50_ns, 512);
  assert.equal(histogramOver([at(0, 0, 5), at(1000, 0, 5)], "ready_to_run").total, 0);
  assert.equal(histogramOver([], "poll").total, 0);
});

test("ten hours of samples are as many as one hour of them", () => {
  const history = new History();
  for (let second = 0; second < 36_000; ++second) history.add(at(second * 1000, second));
  for (const name of ["minutes", "hour"] as const) {
    const samples = history.of(name);
    const { every_ms, count } = spans[name];
    assert(samples.length <= count + 1, `${samples.length} samples`);
    assert(samples.length >= count - 1, `${samples.length} samples`);
    assert.equal(samples.at(-1)!.t_ms, 35_999_000);
    assert(samples[0]!.t_ms >= 35_999_000 - every_ms * count);
  }
});

test("an hour of pictures of the machine has a bounded number of goroutines", () => {
  for (const goroutines of [0, 10, 500, 2000]) {
    let steps = 1;
    let most = 0;
    for (let each = 0; each < 12_000; ++each) {
      steps += 1 - forgotten(steps, goroutines);
      most = Math.max(most, steps);
    }
    assert(steps >= 20 && most <= 2000 && most * goroutines <= 100_000, `${most} steps of ${goroutines}`);
  }
  assert.equal(forgotten(1, 2000), 0);
  assert(2000 - forgotten(2000, 2000) <= 50, "many goroutines have come");
});

test("another program begins another history", () => {
  const history = new History();
  history.add(at(0, 1000));
  history.add(at(1000, 2000));
  history.add(at(2000, 5));
  assert.equal(history.of("minutes").length, 1);
  assert.equal(history.of("hour").length, 1);
});

test("a line fits its chart, with the present at the right edge", () => {
  const points = [{ t_ms: 0, value: 0 }, { t_ms: 50, value: 10 }, { t_ms: 100, value: 5 }];
  assert.deepEqual(lineOf(points, 0, 100, 22), {
    line: "M0 21L120 1L240 11", area: "M0 21L120 1L240 11L240 22L0 22Z", most: 10 });
  assert.equal(lineOf([], 0, 100, 22).line, "");
  assert.equal(lineOf([{ t_ms: 100, value: 0 }], 0, 100, 22).line, "M240 21");
});

test("a longer queue is drawn stronger, and an empty one is not drawn", () => {
  const samples = [at(0, 0), at(100, 0)];
  samples[1]!.queues[0]!.length = 64;
  assert.deepEqual(heatOf(samples, 3, 0, 100, 10), ["", "M0 11h240v8h-240Z", "", "M0 1h240v8h-240Z"]);
});

test("each bucket with anything in it has a bar that can be seen", () => {
  assert.equal(barsOf([0, 1000, 1], 30, 100), "M10 100v-100h9v100ZM20 100v-1.5h9v1.5Z");
  assert.equal(barsOf([], 30, 100), "");
});
