// The stage draws one picture of the machine into an <svg>. The frame is drawn once; `show` moves what moves. The stage
// keeps no state of the machine, so showing the same picture twice gives the same drawing.
import type { Frame, Lane } from "./frame.ts";
import { shortNumber, wholeNumber } from "./format.ts";
import { placeKey } from "./layout.ts";
import { trim, type DotView, type Label, type Picture, type ThreadView, type Trail } from "./motion.ts";
import { labelOf } from "./event_words.ts";
import type { Language } from "./recording.ts";
import { badges, placeIcons, round, svg, triangle } from "./svg.ts";
import { say } from "./words.ts";

type DotNode = { root: SVGGElement; text: SVGTextElement; badge: SVGPathElement; label: string; shown: string };
type ThreadNode = { root: SVGGElement; state: SVGTSpanElement };
type ProcNode = { root: SVGGElement; status: SVGTextElement };

const at = (x: number, y: number): string => `translate(${round(x)} ${round(y)})`;

/** The size of a goroutine's label, so that long numbers fit into the circle. */
function fontSize(label: string, radius: number): number {
  const most = radius * 0.82;
  return round(Math.min(most, (radius * 1.72) / (0.62 * Math.max(1, label.length))));
}

export class Stage {
  private readonly world = svg("g", { class: "world" });
  private readonly ground = svg("g", { class: "ground" });
  private readonly trails = svg("g", { class: "trails", "aria-hidden": "true" });
  private readonly threads = svg("g", { class: "threads" });
  private readonly dots = svg("g", { class: "dots" });
  private readonly over = svg("g", { class: "over", "aria-hidden": "true" });
  private readonly dotNodes = new Map<number, DotNode>();
  private readonly threadNodes = new Map<number, ThreadNode>();
  private readonly procNodes = new Map<number, ProcNode>();
  private readonly counts = new Map<string, { text: SVGTextElement; most: number }>();
  private readonly frame: Frame;
  private readonly language: Language;

  constructor(root: SVGSVGElement, frame: Frame, language: Language) {
    this.frame = frame;
    this.language = language;
    root.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    root.setAttribute("aria-label", say(language, "stage"));
    root.replaceChildren(this.world);
    this.world.append(this.ground, this.threads, this.trails, this.dots, this.over);
    this.drawGround();
  }

  /** The free camera moves and scales everything. */
  camera(x: number, y: number, zoom: number): void {
    this.world.setAttribute("transform", `translate(${round(x)} ${round(y)}) scale(${zoom})`);
  }

  show(picture: Picture, selected: number | null): void {
    this.showProcs(picture);
    this.showThreads(picture.threads);
    this.showTrails(picture.trails, selected);
    this.showDots(picture.dots, selected);
    this.showCounts(picture);
    this.over.replaceChildren(...picture.more.map((more) => this.more(more)),
                              ...picture.labels.map((label) => this.pill(label)));
  }

  private drawGround(): void {
    const { frame, language } = this;
    this.lane(frame.global, say(language, "global"), "global", "global");
    if (frame.threads) this.area(frame.threads, say(language, "threads"), "threads");
    if (frame.calls) this.area(frame.calls, say(language, "calls"), "calls");
    for (const place of frame.waiting) {
      const node = this.lane(place.lane, place.label, "waiting", `waiting ${place.id}`, placeIcons[place.kind]);
      node.dataset["w"] = place.id;
    }
    if (frame.elsewhere) this.lane(frame.elsewhere, say(language, "elsewhere"), "elsewhere", "elsewhere");
    for (const proc of frame.procs) this.drawProc(proc);
  }

  private text(x: number, y: number, text: string, kind: string): SVGTextElement {
    return svg("text", { x: round(x), y: round(y), class: kind }, text);
  }

  private card(lane: Lane, kind: string): SVGGElement {
    const { x, y, w, h } = lane.box;
    const node = svg("g", { class: `area ${kind}` });
    node.append(svg("rect", { class: "card", x: round(x), y: round(y), width: round(w), height: round(h), rx: 10 }));
    this.ground.append(node);
    return node;
  }

  private area(lane: Lane, caption: string, kind: string): void {
    this.card(lane, kind).append(this.text(lane.box.x + 12, lane.box.y + 18, caption, "caption"));
  }

  private lane(lane: Lane, caption: string, kind: string, key: string, icon?: string): SVGGElement {
    const node = this.card(lane, kind);
    const { x, y, w } = lane.box;
    if (icon) node.append(svg("path", { class: "icon", d: icon, transform: at(x + 19, y + 14) }));
    node.append(this.text(x + (icon ? 32 : 12), y + 18, caption, "caption"));
    for (const slot of lane.slots) {
      node.append(svg("circle", { class: "slot", cx: round(slot.x), cy: round(slot.y), r: this.frame.radius - 1 }));
    }
    this.count(node, key, x + w - 12, y + 18, 0);
    return node;
  }

  private count(node: SVGGElement, key: string, x: number, y: number, most: number): void {
    const text = this.text(x, y, "", "count");
    node.append(text);
    this.counts.set(key, { text, most });
  }

  private drawProc(proc: Frame["procs"][number]): void {
    const { frame, language } = this;
    const { x, y, w, h } = proc.box;
    const root = svg("g", { class: "p", "data-p": proc.id });
    root.append(svg("rect", { class: "card", x: round(x), y: round(y), width: round(w), height: round(h), rx: 12 }));
    root.append(this.text(proc.title.x, proc.title.y, `P${proc.id}`, "name"));
    const status = this.text(x + w - 14, proc.title.y, "", "status");
    root.append(status);
    const half = frame.slot / 2;
    const above = proc.next.y - half - 7;
    const edge = frame.slot - 4;
    root.append(
      this.text(proc.next.x - half + 2, above, say(language, "runnext"), "caption small"),
      svg("rect", { class: "slot next", x: round(proc.next.x - half + 2), y: round(proc.next.y - half + 2), width: edge,
                    height: edge, rx: 8 }),
      svg("path", { class: "to-next", d: `M${round(proc.next.x + half + 1)} ${proc.next.y}h6` }),
    );
    const ring = proc.ring;
    const head = ring.slots[0];
    if (head) {
      const left = head.x - half + 2;
      const tight = frame.slot < 36 && language === "en";
      const captionX = tight ? left + 18 : left;
      root.append(this.text(captionX, above, say(language, "ring"), "caption small"));
      root.append(svg("rect", { class: "slot", x: round(left), y: round(head.y - half + 2),
                                width: round(frame.slot * ring.slots.length - 4), height: edge, rx: 8 }));
      for (const slot of ring.slots.slice(1)) {
        const d = `M${round(slot.x - half)} ${round(head.y - half + 2)}v${edge}`;
        root.append(svg("path", { class: "divider", d }));
      }
    }
    const last = ring.slots[ring.slots.length - 1];
    if (last) this.count(root, `ring ${proc.id}`, last.x + half - 2, above, frame.queueSize);
    root.append(svg("path", { class: "seat", d: triangle(frame.inner), transform: at(proc.seat.x, proc.seat.y) }));
    this.ground.append(root);
    this.procNodes.set(proc.id, { root, status });
  }

  private showProcs(picture: Picture): void {
    for (const [id, node] of this.procNodes) {
      const status = picture.procs.get(id) ?? "stopped";
      node.root.setAttribute("class", `p ${status}`);
      node.status.textContent = say(this.language, `p_${status}`);
    }
  }

  private showCounts(picture: Picture): void {
    const counted = new Map(picture.leftOut);
    for (const dot of picture.dots) {
      const key = placeKey(dot.spot);
      counted.set(key, (counted.get(key) ?? 0) + 1);
    }
    for (const [key, { text, most }] of this.counts) {
      const count = counted.get(key) ?? 0;
      text.textContent = most > 0 ? `${count}/${most}` : wholeNumber(count);
      text.setAttribute("class", most > 0 && count >= most ? "count full" : "count");
    }
  }

  private threadNode(view: ThreadView): ThreadNode {
    const known = this.threadNodes.get(view.m);
    if (known) return known;
    const { inner } = this.frame;
    const root = svg("g", { "data-m": view.m });
    const state = svg("tspan", { class: "state", dx: 4 });
    root.append(
      svg("path", { class: "body", d: triangle(inner) }),
      svg("circle", { class: "orbit", r: round(inner * 0.62) }),
      svg("path", { class: "hand", d: `M0 ${round(-inner * 0.5)}V0L${round(inner * 0.36)} ${round(inner * 0.2)}` }),
      svg("text", { class: "name", y: round(inner + 19) }, `M${view.m}`, state),
    );
    this.threads.append(root);
    const node = { root, state };
    this.threadNodes.set(view.m, node);
    return node;
  }

  private showThreads(views: ThreadView[]): void {
    const present = new Set(views.map((view) => view.m));
    for (const [m, node] of this.threadNodes) {
      if (present.has(m)) continue;
      node.root.remove();
      this.threadNodes.delete(m);
    }
    for (const view of views) {
      const node = this.threadNode(view);
      node.root.setAttribute("class", `m ${view.state}`);
      node.root.setAttribute("transform", at(view.x, view.y));
      node.root.setAttribute("opacity", String(round(view.opacity)));
      node.state.textContent = say(this.language, `m_${view.state}`);
    }
  }

  private dotNode(view: DotView): DotNode {
    const known = this.dotNodes.get(view.g);
    if (known && known.label === view.label) return known;
    known?.root.remove();
    const { radius } = this.frame;
    const edge = round(radius * 1.8);
    const size = fontSize(view.label, radius);
    const text = svg("text", { style: `font-size:${size}px`, y: round(size * 0.36) }, view.label);
    const badge = svg("path", { class: "mark" });
    const root = svg("g", { "data-g": view.g, role: "button" });
    root.append(
      svg("circle", { class: "halo", r: radius + 4 }),
      svg("circle", { class: "shape round", r: radius }),
      svg("rect", { class: "shape square", x: -edge / 2, y: -edge / 2, width: edge, height: edge, rx: 4 }),
      text,
      svg("g", { class: "badge", transform: at(radius * 0.74, -radius * 0.74) }, svg("circle", { r: 6 }), badge),
    );
    this.dots.append(root);
    const node = { root, text, badge, label: view.label, shown: "" };
    this.dotNodes.set(view.g, node);
    return node;
  }

  private showDots(views: DotView[], selected: number | null): void {
    const present = new Set(views.map((view) => view.g));
    for (const [g, node] of this.dotNodes) {
      if (present.has(g)) continue;
      node.root.remove();
      this.dotNodes.delete(g);
    }
    for (const view of views) {
      const node = this.dotNode(view);
      const { root, badge } = node;
      const { opacity, scale } = view;
      const chosen = selected === view.g;
      const shown = `${view.x} ${view.y} ${opacity} ${scale} ${view.state} ${view.fresh} ${chosen}`;
      if (node.shown === shown) continue;
      node.shown = shown;
      root.setAttribute("class", `g ${view.state}${view.fresh ? " fresh" : ""}${chosen ? " chosen" : ""}`);
      root.setAttribute("transform", at(view.x, view.y) + (scale === 1 ? "" : ` scale(${round(scale)})`));
      root.setAttribute("opacity", String(round(opacity)));
      root.setAttribute("tabindex", opacity > 0.5 ? "0" : "-1");
      root.setAttribute("aria-pressed", String(chosen));
      root.setAttribute("aria-label", `${view.label}, ${say(this.language, `g_${view.state}`)}`);
      root.style.display = opacity < 0.05 ? "none" : "";
      badge.setAttribute("d", badges[view.state] ?? "");
    }
  }

  private showTrails(views: Trail[], selected: number | null): void {
    this.trails.replaceChildren(...views.map((view) => this.trail(view, selected)));
  }

  /** The trail ends in an arrow in front of what has moved. Behind a moving thing the trail is a comet's tail. */
  private trail(view: Trail, selected: number | null): SVGGElement {
    const isThread = view.kind === "thread";
    const clear = isThread ? this.frame.inner * 1.3 : this.frame.radius + 4;
    const end = view.points[view.points.length - 1]!;
    const points = trim(view.points, isThread ? clear : 4, clear);
    const root = svg("g", { class: `trail ${view.kind}${view.key === `g${selected}` ? " chosen" : ""}` });
    const line = (from: { x: number; y: number }[]): string =>
      from.map((point, i) => `${i === 0 ? "M" : "L"}${round(point.x)} ${round(point.y)}`).join("");
    root.append(svg("path", { class: "way", d: line(points) }));
    if (!isThread) {
      root.append(svg("circle", { class: "origin", cx: round(view.origin.x), cy: round(view.origin.y), r: 4 }));
    }
    if (!view.settled) {
      const tail = view.points.slice(-9);
      root.append(svg("path", { class: "comet", d: line(tail) }),
                  svg("path", { class: "comet near", d: line(tail.slice(-4)) }));
    } else if (points.length > 1) {
      const tip = points[points.length - 1]!;
      const angle = (Math.atan2(end.y - tip.y, end.x - tip.x) * 180) / Math.PI;
      root.append(svg("path", { class: "arrow", d: "M-7 -4.5L2 0L-7 4.5Z",
                                transform: `${at(tip.x, tip.y)} rotate(${round(angle)})` }));
    }
    return root;
  }

  private more(more: Picture["more"][number]): SVGGElement {
    return svg("g", { class: "more", transform: at(more.x, more.y) },
               svg("text", { dy: "0.36em" }, `+${shortNumber(more.count).replace(" ", "")}`));
  }

  private pill(label: Label): SVGGElement {
    const text = labelOf(label.event, this.language);
    const wide = [...text].reduce((sum, letter) => sum + (letter.charCodeAt(0) > 255 ? 12.5 : 6.7), 18);
    const wanted = label.beside ? label.at.x + 12 + wide / 2 : label.at.x;
    const x = Math.min(this.frame.width - wide / 2 - 4, Math.max(wide / 2 + 4, wanted));
    return svg("g", { class: `pill ${label.event.kind}`, transform: at(x, label.at.y) },
               svg("rect", { x: round(-wide / 2), y: -11, width: round(wide), height: 22, rx: 11 }),
               svg("text", { dy: "0.36em" }, text));
  }
}
