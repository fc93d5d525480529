// Small charts, as paths: pure functions of what they show. A chart is `across` wide and `high` high, and is stretched
// to the room that it has. The present is at its right edge.
import type { Point, Sample } from "./figures.ts";
import { round } from "./svg.ts";

export const across = 240;

const placeOf = (from_ms: number, to_ms: number) => (t_ms: number): number =>
  round(across * Math.max(0, (t_ms - from_ms) / (to_ms - from_ms)));

export type Line = { line: string; area: string; most: number };

export function lineOf(points: readonly Point[], from_ms: number, to_ms: number, high: number): Line {
  const most = points.reduce((found, { value }) => Math.max(found, value), 0);
  const x = placeOf(from_ms, to_ms);
  const y = (value: number): number => round(high - 1 - (most === 0 ? 0 : (value / most) * (high - 2)));
  const line = points.map(({ t_ms, value }, i) => `${i === 0 ? "M" : "L"}${x(t_ms)} ${y(value)}`).join("");
  if (points.length === 0) return { line: "", area: "", most };
  return { line, most, area: `${line}L${x(points.at(-1)!.t_ms)} ${high}L${x(points[0]!.t_ms)} ${high}Z` };
}

/** From these lengths on, a queue is drawn with the next stronger colour. */
export const heatFrom = [1, 4, 16, 64] as const;

/** One row for each queue, one path for each strength. */
export function heatOf(samples: readonly Sample[], rows: number, from_ms: number, to_ms: number, rowHigh: number):
    string[] {
  const paths = heatFrom.map(() => "");
  const x = placeOf(from_ms, to_ms);
  samples.forEach(({ t_ms, queues }, i) => {
    const left = x(samples[i - 1]?.t_ms ?? t_ms);
    const wide = round(x(t_ms) - left);
    if (wide <= 0) return;
    queues.slice(0, rows).forEach(({ length }, row) => {
      const strength = heatFrom.filter((from) => length >= from).length - 1;
      if (strength >= 0) paths[strength] += `M${left} ${row * rowHigh + 1}h${wide}v${rowHigh - 2}h${-wide}Z`;
    });
  });
  return paths;
}

/** The bars of a histogram. A bucket that has anything in it can be seen. */
export function barsOf(counts: readonly number[], wide: number, high: number): string {
  const most = Math.max(...counts, 1);
  const step = wide / Math.max(1, counts.length);
  return counts.map((count, i) => {
    if (count === 0) return "";
    const up = Math.max(1.5, (count / most) * high);
    return `M${round(i * step)} ${high}v${round(-up)}h${round(step - 1)}v${round(up)}Z`;
  }).join("");
}
