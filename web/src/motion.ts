// Motion between two layouts. `motionOf` says once which way each goroutine and each M goes and when; `pictureAt` says
// where everything is at a moment between 0 and 1. Both are pure, so the page can be moved to any moment, forwards and
// backwards. The picture of a step at rest is the picture at moment 1 of the motion that led to it: the trails stay.
import type { Frame, Point } from "./frame.ts";
import { inLane, placeKey, samePlace, sameSpot, type Dot, type Layout, type More, type ThreadMark } from "./layout.ts";
import type { EventKind, Place, ProcState, SchedEvent } from "./recording.ts";

export type Path = { points: Point[]; lengths: number[]; total: number };

/** What a trail is about. It decides the trail's colour and dashes. */
export type TrailKind = "create" | "move" | "steal" | "share" | "run" | "wait" | "wake" | "call" | "thread";

type Move<T extends Point> = {
  from: T | null;
  to: T | null;
  path: Path | null;
  begin: number;
  end: number;
  trail: TrailKind;
  /** True for a goroutine that goes with its M: the M's trail is enough. */
  rides?: boolean;
};

export type Motion = {
  before: Layout;
  after: Layout;
  dots: Map<number, Move<Dot>>;
  threads: Map<number, Move<ThreadMark>>;
  labels: (Label & { begin: number })[];
  /** How long the motion takes at a speed of 1. */
  duration_ms: number;
};

export type DotView = Dot & { scale: number; opacity: number; fresh: boolean };
export type ThreadView = ThreadMark & { opacity: number };
export type Trail = { key: string; kind: TrailKind; points: Point[]; origin: Point; settled: boolean };
/** A label stands on its point or, if `beside` is set, right of it. */
export type Label = { at: Point; beside: boolean; event: SchedEvent };

export type Picture = {
  dots: DotView[];
  threads: ThreadView[];
  procs: Map<number, ProcState>;
  more: More[];
  leftOut: Map<string, number>;
  trails: Trail[];
  labels: Label[];
};

const samples = 20;

function pathOf(points: Point[]): Path {
  const lengths = [0];
  for (let i = 1; i < points.length; ++i) {
    const a = points[i - 1]!;
    const b = points[i]!;
    lengths.push(lengths[i - 1]! + Math.hypot(b.x - a.x, b.y - a.y));
  }
  return { points, lengths, total: lengths[lengths.length - 1] ?? 0 };
}

/** A curve through the stations. It bends to the side, so that opposite ways do not lie on each other. */
export function curve(stations: Point[], bend: number): Path {
  const points: Point[] = [];
  for (let i = 0; i + 1 < stations.length; ++i) {
    const a = stations[i]!;
    const b = stations[i + 1]!;
    const middle = { x: (a.x + b.x) / 2 + (b.y - a.y) * bend, y: (a.y + b.y) / 2 - (b.x - a.x) * bend };
    for (let k = i === 0 ? 0 : 1; k <= samples; ++k) {
      const t = k / samples;
      points.push({
        x: (1 - t) ** 2 * a.x + 2 * (1 - t) * t * middle.x + t ** 2 * b.x,
        y: (1 - t) ** 2 * a.y + 2 * (1 - t) * t * middle.y + t ** 2 * b.y,
      });
    }
  }
  return pathOf(points);
}

/** The way from the start of the path to the share `u` of its length. */
export function upTo(path: Path, u: number): Point[] {
  const wanted = path.total * Math.min(1, Math.max(0, u));
  const points: Point[] = [];
  for (let i = 0; i < path.points.length; ++i) {
    if (path.lengths[i]! < wanted || i === 0) {
      points.push(path.points[i]!);
      continue;
    }
    const a = path.points[i - 1]!;
    const b = path.points[i]!;
    const span = path.lengths[i]! - path.lengths[i - 1]!;
    const share = span === 0 ? 1 : (wanted - path.lengths[i - 1]!) / span;
    points.push({ x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share });
    break;
  }
  return points;
}

/** The line without its first and its last bit, of the given lengths. Nothing is left of a line that is too short. */
export function trim(points: Point[], first: number, last: number): Point[] {
  const path = pathOf(points);
  if (path.total <= first + last) return [];
  const shortened = upTo(path, 1 - last / path.total).reverse();
  return upTo(pathOf(shortened), 1 - first / (path.total - last)).reverse();
}

export function ease(u: number): number {
  const t = Math.min(1, Math.max(0, u));
  return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}

const trails: Partial<Record<EventKind, TrailKind>> = {
  create: "create", steal: "steal", spill: "share", take_global: "share", run: "run", stop: "wait", timer: "wake",
  poll: "wake", ready: "wake", call_enter: "call", call_exit: "call", preempt: "share",
};

function about(event: SchedEvent, g: number): boolean {
  return event.g === g || (event.gs?.includes(g) ?? false);
}

/** The point that stands for a place, for the ways that lead through it. */
function anchorOf(place: Place | undefined, frame: Frame, after: Layout): Point | null {
  if (!place) return null;
  const proc = frame.procs.find((each) => each.id === place.p);
  const inQueue = (kind: "global" | "ring"): number => {
    const key = kind === "global" ? kind : `ring ${place.p}`;
    return [...after.dots.values()].filter((dot) => placeKey(dot.spot) === key).length;
  };
  switch (place.kind) {
    case "ring": return proc ? inLane(proc.ring, inQueue("ring"), inQueue("ring") + 1) : null;
    case "next": return proc ? proc.next : null;
    case "running": return proc ? proc.seat : null;
    case "global": return inLane(frame.global, inQueue("global"), inQueue("global") + 1);
    case "waiting": return frame.waiting.find((w) => w.id === place.id)?.lane.slots[0] ?? null;
    case "call": return frame.calls?.slots[0] ?? null;
    default: return null;
  }
}

/** The share of the whole motion in which the events with these numbers happen. Events happen one after another. */
function timeOf(indexes: number[], events: number): { begin: number; end: number } {
  if (indexes.length === 0 || events === 0) return { begin: 0, end: 1 };
  const least = Math.min(1, 0.3 + 0.4 / events);
  let begin = Math.min(...indexes) / events;
  const end = Math.min(1, Math.max((Math.max(...indexes) + 1) / events, begin + least));
  begin = Math.max(0, Math.min(begin, end - least));
  return { begin, end };
}

function bendOf(kind: TrailKind, from: Point, to: Point): number {
  const far = Math.hypot(to.x - from.x, to.y - from.y);
  if (far < 60) return 0;
  // Along a queue the way goes below it, because the goroutines in the queue would hide it.
  if (Math.abs(to.y - from.y) < 4 && far < 300 && kind !== "thread") return to.x < from.x ? 0.3 : -0.3;
  if (kind === "steal") return to.x < from.x ? -0.22 : 0.22;
  return (to.x < from.x ? -1 : 1) * 0.1;
}

/** The middle of the way, or the point where it crosses the given height. */
function middleOf(path: Path, height: number | null): Point {
  const crossing = height === null ? undefined
    : path.points.find((point, i) => i > 0 && (point.y - height) * (path.points[i - 1]!.y - height) <= 0);
  return crossing ?? upTo(path, 0.5).pop()!;
}

export function motionOf(before: Layout, after: Layout, events: SchedEvent[], frame: Frame): Motion {
  const motion: Motion = {
    before, after, dots: new Map(), threads: new Map(), labels: [],
    duration_ms: Math.min(2600, 650 + 260 * Math.max(0, events.length - 1)),
  };
  for (const g of new Set([...before.dots.keys(), ...after.dots.keys()])) {
    const from = before.dots.get(g) ?? null;
    const to = after.dots.get(g) ?? null;
    const indexes = events.flatMap((event, i) => (about(event, g) ? [i] : []));
    const named = indexes.map((i) => events[i]!);
    // Where it comes from tells more than that it then runs.
    const telling = named.find((event) => /^(steal|spill|take_global|create)$/.test(event.kind)) ?? named.pop();
    const time = timeOf(indexes, events.length);
    let trail: TrailKind = (telling && trails[telling.kind]) ?? "move";
    const birth = indexes.map((i) => events[i]!).find((event) => event.kind === "create");
    let start: Point | null = from;
    if (!from && to && birth) {
      start = birth.by !== undefined ? before.dots.get(birth.by) ?? null : null;
      trail = "create";
    }
    let path: Path | null = null;
    if (start && to && (!from || !sameSpot(from.spot, to.spot) || from.x !== to.x || from.y !== to.y)) {
      const stations: Point[] = [start];
      for (const i of indexes.slice(0, -1)) {
        const via = anchorOf(events[i]!.to, frame, after);
        const before = stations[stations.length - 1]!;
        if (via && Math.hypot(via.x - to.x, via.y - to.y) > 4 && Math.hypot(via.x - before.x, via.y - before.y) > 4) {
          stations.push(via);
        }
      }
      stations.push(to);
      path = curve(stations, bendOf(trail, start, to));
    }
    motion.dots.set(g, { from, to, path, ...time, trail });
  }
  for (const m of new Set([...before.threads.keys(), ...after.threads.keys()])) {
    const from = before.threads.get(m) ?? null;
    const to = after.threads.get(m) ?? null;
    const indexes = events.flatMap((event, i) => (event.m === m ? [i] : []));
    const moves = from && to && (from.x !== to.x || from.y !== to.y);
    motion.threads.set(m, {
      from, to, path: moves ? curve([from, to], bendOf("thread", from, to)) : null,
      ...timeOf(indexes, events.length), trail: "thread",
    });
    // A goroutine that stays with its M goes the M's way, at the M's time.
    for (const [g, dot] of motion.dots) {
      const onM = (dot: Dot | null, mark: ThreadMark | null): boolean =>
        !!dot && !!mark && dot.x === mark.x && dot.y === mark.y;
      const move = motion.threads.get(m)!;
      if (move.path && onM(dot.from, from) && onM(dot.to, to)) {
        motion.dots.set(g, { ...dot, path: move.path, begin: move.begin, end: move.end, rides: true });
      }
    }
  }
  events.forEach((event, i) => {
    if (event.kind !== "steal" && event.kind !== "spill" && event.kind !== "take_global") return;
    const paths = [...motion.dots].filter(([g, move]) => about(event, g) && move.path).map(([, move]) => move.path!);
    const middles = paths.map((path) => middleOf(path, event.kind === "steal" ? null : frame.channel));
    if (middles.length === 0) return;
    // Ways from and to the global queue are labelled in the gap below it, where nothing else stands.
    const beside = event.kind !== "steal";
    const x = beside ? Math.max(...middles.map((point) => point.x)) : middles[0]!.x;
    const y = beside ? frame.channel : middles[0]!.y;
    motion.labels.push({ at: { x, y }, beside, event, begin: i / events.length });
  });
  return motion;
}

/** Where a move has come to at moment f: 0 before it begins, 1 when it has ended. */
function progress(move: { begin: number; end: number }, f: number): number {
  return move.end <= move.begin ? 1 : Math.min(1, Math.max(0, (f - move.begin) / (move.end - move.begin)));
}

/** What moves at moment f: how far it is, as what it is drawn, where it stands, and the part of its way behind it. */
function standing<T extends Point>(move: Move<T>, f: number): { u: number; model: T; at: Point; way: Point[] } {
  const u = progress(move, f);
  const model = u < 0.5 ? move.from ?? move.to! : move.to ?? move.from!;
  const way = move.path ? upTo(move.path, ease(u)) : [];
  const { x, y } = u >= 1 && move.to ? move.to : way[way.length - 1] ?? model;
  return { u, model, at: { x, y }, way };
}

export function pictureAt(motion: Motion, f: number): Picture {
  const picture: Picture = {
    dots: [], threads: [], procs: f < 0.5 ? motion.before.procs : motion.after.procs,
    more: f < 1 ? motion.before.more : motion.after.more,
    leftOut: f < 1 ? motion.before.leftOut : motion.after.leftOut, trails: [], labels: [],
  };
  for (const [g, move] of motion.dots) {
    const { u, model, at, way } = standing(move, f);
    if (move.path) {
      const left = !move.from || !move.to || !samePlace(move.from.spot, move.to.spot);
      const seen = (move.from?.shown ?? true) && (move.to?.shown ?? true);
      if (u > 0 && left && seen && !move.rides && move.path.total > 8) {
        const settled = u >= 1;
        picture.trails.push({ key: `g${g}`, kind: move.trail, points: way, origin: way[0]!, settled });
      }
    }
    const presence = move.from ? (move.to ? 1 : 1 - ease(u)) : ease(Math.min(1, u * 2.5));
    const visible = (u < 0.5 ? move.from ?? move.to : move.to ?? move.from)?.shown ?? true;
    const moved = !!move.to && (!move.from || !samePlace(move.from.spot, move.to.spot)) && f > 0;
    if (presence > 0) {
      picture.dots.push({
        ...model, ...at, scale: move.from && move.to ? 1 : 0.4 + 0.6 * presence,
        opacity: visible ? presence : 0, fresh: moved && u > 0,
      });
    }
  }
  for (const [m, move] of motion.threads) {
    const { u, model, at, way } = standing(move, f);
    if (u > 0 && move.path && move.path.total > 8) {
      picture.trails.push({ key: `m${m}`, kind: "thread", points: way, origin: way[0]!, settled: u >= 1 });
    }
    const presence = move.from ? (move.to ? 1 : 1 - u) : u;
    if (presence > 0) picture.threads.push({ ...model, ...at, opacity: model.shown ? presence : 0 });
  }
  for (const label of motion.labels) if (f > label.begin) picture.labels.push(label);
  return picture;
}

/** The picture of a state that no motion has led to. */
export function pictureOf(layout: Layout): Picture {
  return pictureAt(motionOf(layout, layout, [], emptyFrame), 1);
}

const emptyFrame: Frame = {
  width: 0, height: 0, compact: false, radius: 0, slot: 0, inner: 0, channel: 0, queueSize: 0,
  global: { box: { x: 0, y: 0, w: 0, h: 0 }, slots: [] }, procs: [], threads: null, calls: null, elsewhere: null,
  waiting: [], threadIds: [], callIds: [],
};
