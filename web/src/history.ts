// What the page can say about one goroutine: where it is, its way through the steps, and whether a search finds it.
import { drawnAt } from "./frame.ts";
import { placeKey, type Spot } from "./layout.ts";
import { tellEvent } from "./event_words.ts";
import type { Goroutine, Language, Part, State } from "./recording.ts";
import { say } from "./words.ts";

/** Where the goroutine is in this state, or null if the state does not hold it anywhere. */
export function spotOf(state: State, g: number): Spot | null {
  const inGlobal = state.global.indexOf(g);
  if (inGlobal >= 0) return { kind: "global", index: inGlobal };
  for (const p of state.procs) {
    if (p.next === g) return { kind: "next", p: p.id };
    if (p.ring.includes(g)) return { kind: "ring", p: p.id, index: p.ring.indexOf(g) };
    if (p.running === g) return { kind: "running", p: p.id };
  }
  for (const w of state.waiting) {
    if (drawnAt(state, w).includes(g)) return { kind: "waiting", id: w.id, index: w.gs.indexOf(g) };
  }
  const m = state.ms.find((each) => each.g === g);
  if (!m) return null;
  const seat = state.procs.find((p) => p.m === m.id);
  return seat ? { kind: "running", p: seat.id } : { kind: "thread", m: m.id };
}

export function tellSpot(spot: Spot | null, state: State, language: Language): string {
  if (!spot) return say(language, "nowhere");
  switch (spot.kind) {
    case "global": return say(language, "in_global", { n: spot.index + 1 });
    case "ring": return say(language, "in_ring", { p: spot.p, n: spot.index + 1 });
    case "next": return say(language, "in_next", { p: spot.p });
    case "running": return say(language, "on_p", { p: spot.p });
    case "thread": return say(language, "on_m", { m: spot.m });
    case "waiting": {
      const label = state.waiting.find((w) => w.id === spot.id)?.label;
      return say(language, "in_waiting", { id: label ?? spot.id });
    }
    default: return say(language, "nowhere");
  }
}

export type Moment = { step: number; text: string };

/** The steps in which something happened to the goroutine. */
export function historyOf(part: Part, g: number, language: Language): Moment[] {
  const moments: Moment[] = [];
  let before: { alive: boolean; place: string; state: string } = { alive: false, place: "", state: "" };
  part.steps.forEach((step, index) => {
    const found = step.state.gs.find((each) => each.id === g);
    const alive = !!found && found.state !== "dead";
    const spot = spotOf(step.state, g);
    const now = { alive, place: alive && spot ? placeKey(spot) : "", state: found?.state ?? "" };
    const told = step.events
      .filter((event) => event.g === g || event.by === g || event.gs?.includes(g))
      .map((event) => tellEvent(event, step.state, language));
    const changed = now.place !== before.place || now.state !== before.state;
    if (told.length === 0 && changed && (alive || before.alive)) {
      told.push(alive ? tellSpot(spot, step.state, language) : say(language, "g_dead"));
    }
    if (told.length > 0) moments.push({ step: index, text: told.join(language === "zh" ? "；" : "; ") });
    before = now;
  });
  return moments;
}

export type Found = { goroutine: Goroutine; step: number };

const foundMost = 50;

/**
 * The goroutines of the part whose label, function, state or reason contains the words. Those of the present step come
 * first. For the others the step is the one closest to the present step in which they exist.
 */
export function search(part: Part, query: string, present: number): Found[] {
  const words = query.trim().toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  const byId = new Map<number, Found>();
  const order = part.steps.map((_, i) => i).sort((a, b) => Math.abs(a - present) - Math.abs(b - present));
  for (const step of order) {
    for (const g of part.steps[step]?.state.gs ?? []) {
      if (byId.has(g.id) || g.state === "dead") continue;
      const text = `${g.label} ${g.entry ?? ""} ${g.state} ${g.reason ?? ""}`.toLowerCase();
      if (words.every((word) => text.includes(word))) byId.set(g.id, { goroutine: g, step });
    }
    if (byId.size >= foundMost) break;
  }
  const exact = (found: Found): number => (found.goroutine.label.toLowerCase() === query.trim().toLowerCase() ? 0 : 1);
  return [...byId.values()].sort((a, b) => exact(a) - exact(b) || a.goroutine.id - b.goroutine.id);
}

/** The whole state in sentences, for readers who do not see the picture. */
export function tellState(state: State, language: Language): string[] {
  const label = (g: number): string => state.gs.find((each) => each.id === g)?.label ?? `G${g}`;
  const labels = (gs: number[]): string => (gs.length === 0 ? say(language, "empty") : gs.map(label).join(", "));
  const colon = language === "zh" ? "：" : ": ";
  const comma = language === "zh" ? "，" : ", ";
  const lines = [say(language, "global") + colon + labels(state.global)];
  for (const p of state.procs) {
    const said = [say(language, `p_${p.status}`)];
    said.push(p.m === null ? say(language, "empty_seat") : `M${p.m}`);
    if (p.running !== null) said.push(`${say(language, "g_running")} ${label(p.running)}`);
    said.push(`runnext ${p.next === null ? say(language, "empty") : label(p.next)}`);
    said.push(`${say(language, "ring")} ${labels(p.ring)}`);
    lines.push(`P${p.id}${colon}${said.join(comma)}`);
  }
  for (const m of state.ms) {
    const g = m.g === null ? "" : `${comma}${label(m.g)}`;
    lines.push(`M${m.id}${colon}${say(language, `m_${m.state}`)}${g}`);
  }
  for (const w of state.waiting) lines.push(w.label + colon + labels(w.gs));
  return lines;
}
