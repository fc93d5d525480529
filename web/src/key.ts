// The key under the stage. It is drawn with the shapes and the classes of the stage, so it cannot say anything else.
import type { Language } from "./recording.ts";
import { badges, html, svg, triangle } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

function sample(...children: SVGElement[]): SVGElement {
  return svg("svg", { viewBox: "-13 -13 26 26", "aria-hidden": "true" }, ...children);
}

function goroutine(state: string, fresh = false): SVGElement {
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

export function fillKey(list: Element, language: Language): void {
  const entry = (drawn: SVGElement, kind: string, key: WordKey): HTMLElement =>
    html("li", {}, drawn, `${kind}${kind ? " " : ""}${say(language, key)}`);
  list.setAttribute("aria-label", say(language, "key"));
  list.replaceChildren(
    entry(goroutine("running"), "G", "g_running"), entry(goroutine("runnable"), "G", "g_runnable"),
    entry(goroutine("waiting"), "G", "g_waiting"), entry(goroutine("in_call"), "G", "g_in_call"),
    entry(goroutine("preempted"), "G", "g_preempted"), entry(goroutine("runnable", true), "", "key_fresh"),
    entry(thread("running"), "M", "m_running"), entry(thread("spinning"), "M", "m_spinning"),
    entry(thread("in_call"), "M", "m_in_call"), entry(thread("resting"), "M", "m_resting"),
    entry(thread("timekeeper"), "M", "m_timekeeper"));
}
