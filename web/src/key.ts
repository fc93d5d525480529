// The key under the stage. It is drawn with the shapes and the classes of the stage, so it cannot say anything else.
import {
  goroutineStates, threadStates, type GoroutineState, type Language, type Part, type ThreadState,
} from "./recording.ts";
import { badges, html, svg, triangle } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

function sample(...children: SVGElement[]): SVGElement {
  return svg("svg", { viewBox: "-13 -13 26 26", "aria-hidden": "true" }, ...children);
}

export function goroutine(state: string, fresh = false): SVGElement {
  const badge = badges[state];
  return sample(svg("g", { class: `g ${state}${fresh ? " fresh" : ""}` },
    svg("circle", { class: "halo", r: 12 }),
    svg("circle", { class: "shape round", r: 8.5 }),
    svg("rect", { class: "shape square", x: -8, y: -8, width: 16, height: 16, rx: 3 }),
    ...(badge ? [svg("g", { class: "badge", transform: "translate(7 -6.5)" }, svg("circle", { r: 5.5 }),
                     svg("path", { class: "mark", d: badge }))] : [])));
}

function thread(state: string): SVGElement {
  return sample(svg("g", { class: `m ${state}`, transform: "translate(0 3)" },
    svg("path", { class: "body", d: triangle(7) }), svg("circle", { class: "orbit", r: 4.4 }),
    svg("path", { class: "hand", d: "M0 -3.5V0L2.5 1.5" })));
}

/** The key has the states that occur in this part, or all if it is not known which will. */
export function fillKey(list: Element, part: Part | null, language: Language): void {
  const entry = (drawn: SVGElement, kind: string, key: WordKey): HTMLElement =>
    html("li", {}, drawn, `${kind}${kind ? " " : ""}${say(language, key)}`);
  const gs = new Set<GoroutineState>(part ? [] : goroutineStates);
  const ms = new Set<ThreadState>(part ? [] : threadStates);
  for (const { state } of part?.steps ?? []) {
    for (const g of state.gs) gs.add(g.state);
    for (const m of state.ms) ms.add(m.state);
  }
  gs.delete("dead");
  list.setAttribute("aria-label", say(language, "key"));
  list.replaceChildren(
    ...goroutineStates.filter((state) => gs.has(state)).map((state) => entry(goroutine(state), "G", `g_${state}`)),
    ...threadStates.filter((state) => ms.has(state)).map((state) => entry(thread(state), "M", `m_${state}`)),
    entry(goroutine("runnable", true), "", "key_fresh"));
}
