// The application: it holds what the reader has chosen (scene, step, language, theme, goroutine) and shows it.
// Everything that is shown follows from these and the recording.
import { Camera } from "./camera.ts";
import { aboutElement, Detail, Tip, type DetailView } from "./detail.ts";
import { Finder } from "./finder.ts";
import { fillKey } from "./key.ts";
import {
  advance, isMoving, jumpTo, newPlayer, scrubTo, settle, stepBy, togglePlay, withSpeed, type Player,
} from "./player.ts";
import { fillStoryboard } from "./print.ts";
import type { Language, Recording, Step } from "./recording.ts";
import { forgotten, Reel } from "./reel.ts";
import { remember, remembered } from "./settings.ts";
import { Stage } from "./stage.ts";
import { Story, tellStep } from "./story.ts";
import { byId } from "./svg.ts";
import { fillHelp, Transport, type Command } from "./transport.ts";
import { say } from "./words.ts";

type Theme = "light" | "dark";

const liveStep_ns = 300e6;   // more pictures than that in a second cannot be told apart

/** What a live page has that other recordings do not have. */
export interface LiveParts {
  detail: DetailView;
  focusSearch(): void;
  choose(g: number | null): void;
  translate(language: Language): void;
}

export class App {
  private readonly recording: Recording;
  private index = 0;
  private language: Language;
  private theme: Theme;
  private selected: number | null = null;
  private player: Player;
  private reel: Reel;
  private stage: Stage;
  private toldStep = -1;
  private lastTime = 0;
  private frameRequest = 0;
  private readonly root = byId<SVGSVGElement>("machine");
  private readonly stageBox = byId("stage");
  private readonly reduced = matchMedia("(prefers-reduced-motion: reduce)");
  private readonly camera: Camera;
  private readonly tip = new Tip();
  private readonly story: Story;
  private readonly detail: DetailView;
  private readonly finder: Finder;
  private readonly transport: Transport;
  private readonly ending = new AbortController();
  private readonly live: LiveParts | null;

  constructor(recording: Recording, language: Language, live: LiveParts | null = null) {
    const { signal } = this.ending;
    this.recording = recording;
    this.live = live;
    const kept = remembered("language");
    this.language = kept === "en" || kept === "zh" ? kept : language;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const keptTheme = remembered("theme");
    this.theme = keptTheme === "light" || keptTheme === "dark" ? keptTheme : dark ? "dark" : "light";
    this.camera = new Camera(this.root, () => this.moveCamera(), signal);
    this.story = new Story({ scene: (i) => this.openPart(i), step: (i) => this.jump(i) });
    this.detail = live?.detail ?? new Detail((step) => this.jump(step), () => this.select(null));
    this.finder = new Finder(
      () => ({ part: this.part, step: this.player.target, language: this.language }),
      (found) => {
        if (!this.part.steps[this.player.target]!.state.gs.some((g) => g.id === found.goroutine.id)) {
          this.jump(found.step);
        }
        this.select(found.goroutine.id);
        const dot = this.reel.layout(this.player.target).dots.get(found.goroutine.id);
        if (dot) this.camera.lookAt(dot.x, dot.y);
        this.root.querySelector<SVGElement>(`[data-g="${found.goroutine.id}"]`)?.focus({ preventScroll: true });
      }, signal);
    this.transport = new Transport(
      (command) => this.run(command),
      (position) => this.update(scrubTo(this.player, position)),
      () => this.update(settle(this.player)),
      (speed) => this.update({ ...this.player, speed }), signal);
    const place = this.placeOfAddress();
    this.index = place.part;
    this.reel = new Reel(this.part, this.width());
    this.player = jumpTo(this.newPlayer(), place.step);
    this.stage = new Stage(this.root, this.reel.frame, this.language);
    this.listen();
    this.showTheme();
    this.showAll();
  }

  get queueSize(): number {
    return this.part.queue_size;
  }

  stop(): void {
    this.ending.abort();
    cancelAnimationFrame(this.frameRequest);
  }

  get chosen(): number | null {
    return this.selected;
  }

  /** Adds a step to a live view. The page follows the program if the reader was at its end. */
  append(step: Step): void {
    const { steps } = this.part;
    const isClose = this.recording.clock === "ns" && step.t < steps[steps.length - 1]!.t + liveStep_ns;
    if (isClose && steps.length > 1) return;
    const following = this.player.target === steps.length - 1;
    const dropped = forgotten(steps.length, step.state.gs.length);
    if (dropped > 0) {
      this.reel.dropOldest(dropped);
      const at = Math.max(0, this.player.target - dropped);
      this.player = jumpTo({ ...this.player, durations_ms: this.reel.durations() }, at);
    }
    const changed = this.reel.append(step);
    const fresh = this.newPlayer();
    const { position, target, playing, shown_ms } = this.player;
    this.player = { ...fresh, position, target, playing, shown_ms };
    if (following) {
      const last = steps.length - 1;
      this.player = { ...this.player, position: Math.max(position, last - 1), target: last };   // never falls behind
    }
    this.transport.setSteps(steps.length);
    if (changed) this.makeStage();
    this.update(this.player);
  }

  private get part(): Recording["parts"][number] {
    return this.recording.parts[this.index]!;
  }

  private width(): number {
    return this.stageBox.clientWidth || 900;
  }

  private newPlayer(): Player {
    const zh = this.language === "zh";
    const isRead = this.recording.kind === "scenes" || this.recording.kind === "play";
    const dwells = this.part.steps.map((step) =>
      isRead ? 1100 + tellStep(step, this.language).length * (zh ? 110 : 38) : 120);
    return newPlayer(this.reel.durations(), dwells, this.player?.speed ?? 1);
  }

  private listen(): void {
    const { signal } = this.ending;
    const resized = new ResizeObserver(() => {
      if (this.reel.resize(this.width())) this.makeStage();
    });
    resized.observe(this.stageBox);
    signal.addEventListener("abort", () => resized.disconnect());
    this.root.addEventListener("click", (event) => this.clicked(event.target), { signal });
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.clicked(event.target);
    }, { signal });
    for (const name of ["pointerover", "focusin"] as const) {
      this.root.addEventListener(name, (event) => this.hovered(event.target), { signal });
    }
    for (const name of ["pointerleave", "focusout"] as const) {
      this.root.addEventListener(name, () => this.tip.hide(), { signal });
    }
    addEventListener("beforeprint", () => fillStoryboard(byId("storyboard"), this.reel, this.language), { signal });
    addEventListener("afterprint", () => byId("storyboard").replaceChildren(), { signal });
    addEventListener("hashchange", () => {
      const place = this.placeOfAddress();
      if (place.part !== this.index) this.openPart(place.part);
      if (place.step !== this.player.target) this.jump(place.step);
    }, { signal });
  }

  private clicked(target: EventTarget | null): void {
    const dot = target instanceof Element ? target.closest<SVGElement>("[data-g]") : null;
    const g = dot ? Number(dot.dataset["g"]) : null;
    this.select(g === this.selected ? null : g);
  }

  private hovered(target: EventTarget | null): void {
    if (!(target instanceof Element)) return;
    const state = this.part.steps[this.player.target]!.state;
    const lines = aboutElement(target, state, this.language);
    const shown = target.closest("[data-g], [data-m], [data-w], [data-p]");
    if (lines && shown) this.tip.show(lines, shown.getBoundingClientRect(), this.stageBox.getBoundingClientRect());
    else this.tip.hide();
  }

  private run(command: Command): void {
    const { player } = this;
    switch (command) {
      case "play":
        this.showStage();
        return this.update(togglePlay(player));
      case "back": return this.update(stepBy(player, -1), true);
      case "step": return this.update(stepBy(player, 1), true);
      case "first": return this.jump(0);
      case "last": return this.jump(this.part.steps.length - 1);
      case "scene_before": return this.openPart(this.index - 1);
      case "scene_after": return this.openPart(this.index + 1);
      case "slower": return this.update(withSpeed(player, -1));
      case "faster": return this.update(withSpeed(player, 1));
      case "search": return this.live ? this.live.focusSearch() : this.finder.focus();
      case "zoom_in": return this.camera.zoom(1.4);
      case "zoom_out": return this.camera.zoom(1 / 1.4);
      case "fit": return this.camera.fit();
      case "language": return this.setLanguage(this.language === "en" ? "zh" : "en");
      case "theme": return this.setTheme(this.theme === "light" ? "dark" : "light");
      case "help": return this.toggleHelp();
      case "close": return this.closeAll();
    }
  }

  /** On a phone the stage may be off the screen when play is pressed. */
  private showStage(): void {
    const { top, bottom } = this.root.getBoundingClientRect();
    const room = byId("transport").getBoundingClientRect().top;
    if (top < 0 || bottom > room) scrollBy({ top: top - Math.max(0, room - (bottom - top)) / 2,
                                             behavior: this.reduced.matches ? "auto" : "smooth" });
  }

  private closeAll(): void {
    byId<HTMLDialogElement>("help-dialog").close();
    this.tip.hide();
    this.select(null);
  }

  private toggleHelp(): void {
    const dialog = byId<HTMLDialogElement>("help-dialog");
    if (dialog.open) return dialog.close();
    fillHelp(dialog, this.language);
    dialog.showModal();
  }

  private setLanguage(language: Language): void {
    this.language = language;
    remember("language", language);
    const { position, target, playing, shown_ms } = this.player;
    this.player = { ...this.newPlayer(), position, target, playing, shown_ms };
    this.showAll();
  }

  private setTheme(theme: Theme): void {
    this.theme = theme;
    remember("theme", theme);
    this.showTheme();
    this.transport.translate(this.language, theme);
  }

  private showTheme(): void {
    document.documentElement.dataset["theme"] = this.theme;
  }

  private openPart(index: number): void {
    if (index === this.index || !this.recording.parts[index]) return;
    this.index = index;
    this.selected = null;
    this.reel = new Reel(this.part, this.width());
    this.player = this.newPlayer();
    this.camera.view = { x: 0, y: 0, zoom: 1 };
    this.showAll();
    byId("scene").scrollIntoView({ block: "nearest" });
  }

  select(g: number | null): void {
    this.selected = g;
    this.live?.choose(g);
    document.body.classList.toggle("with-detail", g !== null);
    if (g === null) this.detail.hide();
    this.show();
    this.showDetail();
  }

  private showDetail(): void {
    if (this.selected !== null) this.detail.show(this.part, this.player.target, this.selected, this.language);
  }

  private jump(step: number): void {
    this.update({ ...jumpTo(this.player, step), playing: false }, true);
  }

  private update(player: Player, isAsked?: boolean): void {
    this.player = player;
    this.show(isAsked);
    if (isMoving(player) && this.frameRequest === 0) {
      this.lastTime = performance.now();
      this.frameRequest = requestAnimationFrame((time) => this.tick(time));
    }
  }

  private tick(time: number): void {
    this.frameRequest = 0;
    const passed = Math.min(100, Math.max(0, time - this.lastTime));
    this.lastTime = time;
    this.player = advance(this.player, passed, this.reduced.matches);
    this.show();
    if (isMoving(this.player)) this.frameRequest = requestAnimationFrame((next) => this.tick(next));
  }

  private makeStage(): void {
    this.stage = new Stage(this.root, this.reel.frame, this.language);
    this.moveCamera();
    this.show();
  }

  private moveCamera(): void {
    const { x, y, zoom } = this.camera.view;
    this.stage.camera(x, y, zoom);
  }

  /** Shows everything anew: after a change of the scene or the language. */
  private showAll(): void {
    document.documentElement.lang = this.language === "zh" ? "zh-Hans" : "en";
    this.toldStep = -1;
    this.story.showPart(this.recording, this.index, this.language);
    this.transport.translate(this.language, this.theme);
    this.transport.setSteps(this.part.steps.length);
    this.finder.translate(this.language);
    this.live?.translate(this.language);
    fillKey(byId("key"), this.live ? null : this.part, this.language);
    if (this.selected === null) this.detail.hide();
    this.makeStage();
  }

  /** Shows the present moment. That of a live program comes several times a second, unless the reader asks for it. */
  private show(isAsked = this.recording.kind !== "live"): void {
    const { player } = this;
    this.stage.show(this.reel.picture(player.position), this.selected);
    const told = tellStep(this.part.steps[player.target]!, this.language);
    this.transport.show(player, this.language, told);
    document.body.classList.toggle("playing", player.playing);
    this.stageBox.dataset["settled"] = String(!isMoving(player) || player.position === player.target);
    if (this.toldStep === player.target) return;
    this.toldStep = player.target;
    this.stageBox.dataset["step"] = String(player.target);
    this.stageBox.dataset["part"] = this.part.id;
    this.story.showStep(this.part, player.target, this.language, this.clockText());
    const count = say(this.language, "step_of", { n: player.target + 1, all: this.part.steps.length });
    if (isAsked) byId("spoken").textContent = `${count}. ${told}`;
    this.showDetail();
    if (isAsked) this.tip.hide();
    this.keepAddress();
  }

  private clockText(): string {
    const step = this.part.steps[this.player.target]!;
    const all = this.part.steps.length;
    if (this.recording.clock === "steps") return `${this.player.target + 1} / ${all}`;
    const us = step.t / 1000;
    if (us < 1000) return `${us.toFixed(1)} µs`;
    return us < 1e6 ? `${(us / 1000).toFixed(3)} ms` : `${(us / 1e6).toFixed(4)} s`;
  }

  /** The address names the scene and the step, so that a link leads to them. */
  private keepAddress(): void {
    if (this.recording.kind === "live") return;
    const address = `#${encodeURIComponent(this.part.id)}/${this.player.target + 1}`;
    try {
      history.replaceState(null, "", address);
    } catch {
      // Browsers limit how often an address may change. The next step tries again.
    }
  }

  private placeOfAddress(): { part: number; step: number } {
    const [id, step] = location.hash.slice(1).split("/");
    const part = this.recording.parts.findIndex((each) => encodeURIComponent(each.id) === id);
    const count = this.recording.parts[Math.max(0, part)]!.steps.length;
    const wanted = Math.trunc(Number(step ?? 1)) - 1;
    return part < 0 ? { part: 0, step: 0 } : { part, step: Math.min(count - 1, Math.max(0, wanted || 0)) };
  }
}

