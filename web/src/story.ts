// The texts beside the machine: the list of scenes, the story, the steps with their events, the source lines, and the
// state in words.
import { tellEvent } from "./event_words.ts";
import { tellState } from "./history.ts";
import { inLanguage, type Language, type Part, type Program, type Recording, type Step } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

export type Chosen = { scene: (index: number) => void; step: (index: number) => void };

const shownSteps = 120;   // a trace may have many thousands; those around the present one are listed

export class Story {
  private readonly chosen: Chosen;
  private listed = { part: "", language: "", from: -1 };
  private scenesOpen = false;

  constructor(chosen: Chosen) {
    this.chosen = chosen;
  }

  /** The head: which scene, what it is about, and the list of the others. */
  showPart(recording: Recording, index: number, language: Language): void {
    const part = recording.parts[index]!;
    const many = recording.parts.length > 1;
    byId("title").textContent = inLanguage(recording.title, language);
    byId("name").textContent = titleOf(part, language);
    byId("story").textContent = inLanguage(part.story, language);
    byId("number").textContent = recording.kind === "trace" ? say(language, "recorded_trace")
      : recording.kind === "play" ? say(language, "played_scenario")
      : recording.kind === "live" ? say(language, "live_program")
      : say(language, "scene_of", { n: index + 1, all: recording.parts.length });
    document.title = `${titleOf(part, language)} · thrum`;
    const nav = byId("scenes");
    nav.setAttribute("aria-label", say(language, "scenes"));
    nav.replaceChildren(...(many ? [this.sceneToggle(language), this.sceneList(recording, index, language)] : []));
  }

  private sceneToggle(language: Language): HTMLElement {
    const toggle = html("button", { id: "scenes-toggle", type: "button", "aria-expanded": String(this.scenesOpen) },
                        say(language, "scenes"));
    toggle.addEventListener("click", () => {
      this.scenesOpen = !this.scenesOpen;
      toggle.setAttribute("aria-expanded", String(this.scenesOpen));
      byId("scenes").classList.toggle("open", this.scenesOpen);
    });
    byId("scenes").classList.toggle("open", this.scenesOpen);
    return toggle;
  }

  private sceneList(recording: Recording, index: number, language: Language): HTMLElement {
    const items = recording.parts.map((part, i) => {
      const name = titleOf(part, language);
      const button = html("button", { type: "button", "aria-label": `${i + 1}. ${name}`, title: name },
                          html("b", {}, String(i + 1)), html("span", {}, name));
      if (i === index) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => this.chosen.scene(i));
      return html("li", {}, button);
    });
    return html("ol", {}, ...items);
  }

  showStep(part: Part, index: number, language: Language, clock: string): void {
    const step = part.steps[index]!;
    this.listSteps(part, index, language);
    for (const item of byId("steps").children) {
      if (!(item instanceof HTMLElement)) continue;
      const present = Number(item.dataset["step"]) === index;
      const button = item.querySelector("button");
      if (present) button?.setAttribute("aria-current", "step");
      else button?.removeAttribute("aria-current");
      item.classList.toggle("past", Number(item.dataset["step"]) < index);
      item.querySelector(".events")?.toggleAttribute("hidden", !present);
      if (present) keepVisible(item);
    }
    const told = tellStep(step, language);
    byId("now").replaceChildren(html("span", {}, told));
    byId("clock").textContent = clock;
    this.showSource(part, step, language);
    byId("words-list").replaceChildren(...tellState(step.state, language).map((line) => html("li", {}, line)));
  }

  private listSteps(part: Part, index: number, language: Language): void {
    const count = part.steps.length;
    const last = Math.max(0, count - shownSteps);
    const fits = this.listed.from >= 0 && index >= this.listed.from + 10 && index < this.listed.from + shownSteps - 10;
    const around = Math.min(last, Math.max(0, index - shownSteps / 2));
    const from = count <= shownSteps ? 0 : fits ? this.listed.from : around;
    if (this.listed.part === part.id && this.listed.language === language && this.listed.from === from) return;
    this.listed = { part: part.id, language, from };
    byId("steps-title").textContent = say(language, "steps");
    byId("steps").replaceChildren(...part.steps.slice(from, from + shownSteps).map((step, i) =>
      this.stepItem(step, from + i, language)));
  }

  private stepItem(step: Step, index: number, language: Language): HTMLElement {
    const button = html("button", { type: "button" }, html("b", {}, String(index + 1)),
                        html("span", {}, tellStep(step, language)));
    button.addEventListener("click", () => this.chosen.step(index));
    const events = html("ul", { class: "events", hidden: "" },
                        ...step.events.map((event) => html("li", { class: event.kind },
                                                           tellEvent(event, step.state, language))));
    return html("li", { "data-step": index }, button, ...(step.text && step.events.length > 0 ? [events] : []));
  }

  private showSource(part: Part, step: Step, language: Language): void {
    const program = step.source.length === 0 ? part.program : undefined;
    byId("source-title").textContent = say(language, program ? "scenario" : "source");
    byId("words-title").textContent = say(language, "as_text");
    const blocks = step.source.map((source) => {
      const lines = source.lines.map((line, i) =>
        html("span", { class: "line" }, html("i", {}, String(source.line + i)), html("code", {}, line || " ")));
      const head = html("figcaption", {}, html("b", {}, source.function), ` ${source.file}:${source.line}`);
      return html("figure", {}, head, html("pre", { tabindex: 0, "aria-label": `${source.file}:${source.line}` },
                                           ...lines));
    });
    byId("source").replaceChildren(...(blocks.length > 0 ? blocks : program ? [programFigure(program, step, language)]
      : [html("p", { class: "faint" }, say(language, "no_source"))]));
  }
}

/** The program, with each goroutine at the line that it is at. */
function programFigure(program: Program, step: Step, language: Language): HTMLElement {
  const lines = program.lines.map((line, i) => {
    const there = step.state.gs.filter((g) => g.line === i + 1 && g.state !== "dead").map((g) => g.label);
    const parts = [html("i", {}, String(i + 1)), html("code", {}, line || " ")];
    if (there.length === 0) return html("span", { class: "line" }, ...parts);
    return html("span", { class: "line at" }, ...parts, html("b", {}, there.join(" ")));
  });
  return html("figure", { class: "program" }, html("figcaption", {}, html("b", {}, program.file)),
              html("pre", { tabindex: 0, "aria-label": say(language, "scenario") }, ...lines));
}

/** The title without its number, which the page shows beside it. */
export function titleOf(part: Part, language: Language): string {
  const whole = inLanguage(part.title, language);
  const title = whole.replace(/^(Scene|场景) *\d+ *[:：] */, "");
  return title === whole ? whole : title.charAt(0).toUpperCase() + title.slice(1);
}

/** The step in words: its text, or else its events one after another. */
export function tellStep(step: Step, language: Language): string {
  if (step.text) return inLanguage(step.text, language);
  const told = step.events.map((event) => tellEvent(event, step.state, language));
  return told.length > 0 ? told.join(language === "zh" ? "；" : "; ") : "–";
}

/** Scrolls the list, and never the page. */
function keepVisible(item: HTMLElement): void {
  const list = item.parentElement;
  if (!list || list.scrollHeight <= list.clientHeight) return;
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - list.clientHeight / 3;
  }
}
