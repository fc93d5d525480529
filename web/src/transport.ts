// The bar with the buttons, the scrub bar and the speed, and the keys that do the same.
import { speeds, type Player } from "./player.ts";
import type { Language } from "./recording.ts";
import { byId, html, svg } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

export type Command =
  | "play" | "back" | "step" | "first" | "last" | "scene_before" | "scene_after" | "slower" | "faster" | "search"
  | "zoom_in" | "zoom_out" | "fit" | "language" | "theme" | "help" | "close";

const icons: Record<string, string> = {
  first: "M4 3V13M13 3L6 8L13 13Z", back: "M12 3L4 8L12 13Z", play: "M4 2.5L13.5 8L4 13.5Z",
  pause: "M4 3H7V13H4ZM9.5 3H12.5V13H9.5Z", step: "M4 3L12 8L4 13Z", last: "M12 3V13M3 3L10 8L3 13Z",
  replay: "M12.5 5A5.5 5.5 0 1 0 13.5 8M13.2 1.8V5.4H9.6",
};

const keys: Record<string, Command> = {
  " ": "play", ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", "[": "scene_before",
  "]": "scene_after", ",": "slower", ".": "faster", "/": "search", "+": "zoom_in", "=": "zoom_in", "-": "zoom_out",
  "0": "fit", l: "language", d: "theme", "?": "help", Escape: "close",
};

const helpRows: [string, WordKey][] = [
  ["Space", "keys_space"], ["← →", "keys_arrows"], ["Home End", "keys_home"], ["[ ]", "keys_scene"],
  [", .", "keys_speed"], ["/", "keys_search"], ["+ − 0", "keys_zoom"], ["L", "keys_lang"], ["D", "keys_theme"],
  ["?", "keys_help"], ["Esc", "keys_close"],
];

function setIcon(button: HTMLElement, icon: string, name: string): void {
  if (button.dataset["icon"] !== icon) {
    const d = icons[icon] ?? "";
    button.replaceChildren(svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: `icon-${icon}` },
                               svg("path", { d })));
    button.dataset["icon"] = icon;
  }
  button.setAttribute("aria-label", name);
  button.title = name;
}

export class Transport {
  private readonly scrub = byId<HTMLInputElement>("scrub");
  private readonly speed = byId<HTMLSelectElement>("speed");
  private readonly run: (command: Command) => void;

  constructor(
    run: (command: Command) => void,
    scrubbed: (position: number) => void, letGo: () => void, speedChosen: (speed: number) => void,
    signal: AbortSignal,
  ) {
    this.run = run;
    const buttons: Record<string, Command> = {
      first: "first", back: "back", play: "play", step: "step", last: "last", language: "language", theme: "theme",
      help: "help", "zoom-in": "zoom_in", "zoom-out": "zoom_out", "zoom-fit": "fit",
    };
    for (const [id, command] of Object.entries(buttons)) {
      byId(id).addEventListener("click", () => this.run(command), { signal });
    }
    this.scrub.addEventListener("input", () => scrubbed(Number(this.scrub.value) / 100), { signal });
    this.scrub.addEventListener("change", letGo, { signal });
    this.speed.replaceChildren(...speeds.map((speed) => html("option", { value: speed }, `${speed}×`)));
    this.speed.addEventListener("change", () => speedChosen(Number(this.speed.value)), { signal });
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    const editing = target?.closest("input[type=search], select, textarea");
    const command = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!command || (editing && command !== "close")) return;
    // Space presses the button that has the focus.
    if (command === "play" && target?.closest("button, summary, [role=button], dialog")) return;
    if (document.querySelector("dialog[open]") && command !== "close" && command !== "help") return;
    if (target?.closest("pre") && (command === "back" || command === "step")) return;
    event.preventDefault();
    this.run(command);
  }

  translate(language: Language, theme: "light" | "dark"): void {
    const text = (id: string, key: WordKey): void => void (byId(id).textContent = say(language, key));
    const name = (id: string, key: WordKey): void => {
      byId(id).setAttribute("aria-label", say(language, key));
      byId(id).title = say(language, key);
    };
    text("language", "other_language");
    byId("language").lang = language === "en" ? "zh-Hans" : "en";
    text("theme", theme === "dark" ? "theme_light" : "theme_dark");
    text("speed-title", "speed");
    name("help", "help");
    name("zoom-in", "zoom_in");
    name("zoom-out", "zoom_out");
    name("zoom-fit", "fit");
    byId("zoom").setAttribute("aria-label", say(language, "fit"));
    this.scrub.setAttribute("aria-label", say(language, "position"));
    this.speed.setAttribute("aria-label", say(language, "speed"));
    for (const id of ["first", "back", "step", "last"] as const) setIcon(byId(id), id, say(language, id));
  }

  /** The marks under the scrub bar, one for each step, as long as they can be told apart. */
  setSteps(count: number): void {
    this.scrub.max = String((count - 1) * 100);
    byId("ticks").replaceChildren(...(count > 1 && count <= 60 ? Array.from({ length: count }, () => html("i")) : []));
  }

  show(player: Player, language: Language, told: string): void {
    const count = player.durations_ms.length;
    const atEnd = player.target === count - 1 && player.position === player.target;
    const icon = player.playing ? "pause" : atEnd && count > 1 ? "replay" : "play";
    setIcon(byId("play"), icon, say(language, icon));
    this.scrub.value = String(Math.round(player.position * 100));
    const step = say(language, "step_of", { n: player.target + 1, all: count });
    this.scrub.setAttribute("aria-valuetext", told ? `${step}. ${told}` : step);
    // A disabled button would lose the focus, so these two are only marked.
    for (const id of ["back", "first"]) byId(id).setAttribute("aria-disabled", String(player.target === 0));
    for (const id of ["step", "last"]) byId(id).setAttribute("aria-disabled", String(player.target === count - 1));
    this.speed.value = String(player.speed);
  }
}

export function fillHelp(dialog: HTMLDialogElement, language: Language): void {
  const close = html("button", { type: "button", class: "shut", "aria-label": say(language, "close") }, "×");
  close.addEventListener("click", () => dialog.close());
  const rows = helpRows.map(([key, words]) =>
    html("tr", {}, html("th", { scope: "row" }, ...key.split(" ").map((each) => html("kbd", {}, each))),
         html("td", {}, say(language, words))));
  dialog.setAttribute("aria-label", say(language, "help"));
  dialog.replaceChildren(
    close, html("h2", {}, say(language, "help")),
    html("p", {}, say(language, "about_p")), html("p", {}, say(language, "about_m")),
    html("p", {}, say(language, "about_g")), html("p", {}, say(language, "drag")),
    html("h3", {}, say(language, "keys_title")), html("table", {}, html("tbody", {}, ...rows)));
}
