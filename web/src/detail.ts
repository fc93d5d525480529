// What the page tells about a single thing: the tip under the pointer, and the panel about the chosen goroutine.
import { historyOf, spotOf, tellSpot } from "./history.ts";
import type { Language, Part, State } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

/** Lines about the thing that this element of the stage shows. The first one is its name. */
export function aboutElement(element: Element, state: State, language: Language): string[] | null {
  const shown = element.closest<SVGElement>("[data-g], [data-m], [data-w], [data-p]");
  if (!shown) return null;
  const { g, m, p, w } = shown.dataset;
  if (g !== undefined) return aboutGoroutine(Number(g), state, language);
  if (m !== undefined) {
    const thread = state.ms.find((each) => each.id === Number(m));
    if (!thread) return null;
    const label = state.gs.find((each) => each.id === thread.g)?.label;
    return [`M${thread.id}`, say(language, `m_${thread.state}`),
            [thread.p === null ? "" : `P${thread.p}`, label ?? ""].filter((each) => each !== "").join(" · ")];
  }
  if (w !== undefined) {
    const place = state.waiting.find((each) => each.id === w);
    if (!place) return null;
    return [place.label, say(language, `wait_${place.kind}`), labels(place.gs, state, language)];
  }
  const proc = state.procs.find((each) => each.id === Number(p));
  if (!proc) return null;
  return [`P${proc.id}`, `${say(language, `p_${proc.status}`)}${proc.m === null ? "" : ` · M${proc.m}`}`,
          `runnext: ${labels(proc.next === null ? [] : [proc.next], state, language)}`,
          `${say(language, "ring")}: ${labels(proc.ring, state, language)}`];
}

function labels(gs: number[], state: State, language: Language): string {
  if (gs.length === 0) return say(language, "empty");
  const shown = gs.slice(0, 12).map((g) => state.gs.find((each) => each.id === g)?.label ?? `G${g}`);
  return shown.join(", ") + (gs.length > 12 ? ` … (${gs.length})` : "");
}

function aboutGoroutine(id: number, state: State, language: Language): string[] | null {
  const g = state.gs.find((each) => each.id === id);
  if (!g) return null;
  const reason = g.reason ? `: ${g.reason}` : "";
  return [g.label, `${say(language, `g_${g.state}`)}${reason}`, tellSpot(spotOf(state, id), state, language),
          g.entry ?? ""];
}

export class Tip {
  private readonly root = byId("tip");

  show(lines: string[], near: DOMRect, stage: DOMRect): void {
    const [name, ...rest] = lines.filter((line) => line !== "");
    this.root.replaceChildren(html("b", {}, name ?? ""), ...rest.map((line) => html("span", {}, line)));
    this.root.hidden = false;
    const size = this.root.getBoundingClientRect();
    const left = near.left + near.width / 2 - stage.left - size.width / 2;
    const above = near.top - stage.top - size.height - 8;
    this.root.style.left = `${Math.max(4, Math.min(stage.width - size.width - 4, left))}px`;
    this.root.style.top = `${above > 0 ? above : near.bottom - stage.top + 8}px`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}

/** The panel about the chosen goroutine. */
export interface DetailView {
  show(part: Part, step: number, id: number, language: Language): void;
  hide(): void;
}

export class Detail implements DetailView {
  private readonly root = byId("detail");
  private readonly goTo: (step: number) => void;
  private readonly close: () => void;

  constructor(goTo: (step: number) => void, close: () => void) {
    this.goTo = goTo;
    this.close = close;
  }

  hide(): void {
    this.root.hidden = true;
  }

  show(part: Part, step: number, id: number, language: Language): void {
    const state = part.steps[step]!.state;
    const now = state.gs.find((g) => g.id === id);
    const known = now ?? part.steps.map((each) => each.state.gs.find((g) => g.id === id)).find((g) => g !== undefined);
    const facts: [string, string][] = [];
    const add = (name: string, value: string | undefined): void => {
      if (value) facts.push([name, value]);
    };
    const dead = !now || now.state === "dead";
    add(say(language, "state"), now ? say(language, `g_${now.state}`) : say(language, "not_there"));
    add(say(language, "entry"), known?.entry);
    if (!dead) {
      add(say(language, "reason"), now.reason);
      add(say(language, "where"), tellSpot(spotOf(state, id), state, language));
    }
    const shut = html("button", { type: "button", class: "shut", "aria-label": say(language, "close") }, "×");
    shut.addEventListener("click", () => this.close());
    const list = html("dl");
    for (const [name, value] of facts) list.append(html("dt", {}, name), html("dd", {}, value));
    const stack = now?.stack?.length
      ? [html("h4", {}, say(language, "stack")),
         html("ol", { class: "frames" }, ...now.stack.map((frame) => html("li", {}, html("code", {}, frame))))]
      : [];
    this.root.replaceChildren(
      shut, html("h3", {}, `${say(language, "goroutine")} ${known?.label ?? `G${id}`}`), list, ...stack,
      html("h4", {}, say(language, "history")), this.history(part, step, id, language));
    this.root.hidden = false;
    this.root.setAttribute("aria-label", `${say(language, "goroutine")} ${known?.label ?? id}`);
  }

  private history(part: Part, step: number, id: number, language: Language): HTMLElement {
    const items = historyOf(part, id, language).map((moment) => {
      const button = html("button", { type: "button" }, html("b", {}, String(moment.step + 1)),
                          html("span", {}, moment.text));
      if (moment.step === step) button.setAttribute("aria-current", "step");
      button.addEventListener("click", () => this.goTo(moment.step));
      return html("li", {}, button);
    });
    return html("ol", { class: "moments" }, ...items);
  }
}
