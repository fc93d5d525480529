// The frame: where the parts of the machine stand on the stage. It depends on the part of the recording as a whole and
// on the width of the stage, not on a step, so nothing but goroutines and Ms moves while a part is played.
// Units are CSS pixels at a zoom of 1.
import type { Part, State, Step, WaitingKind } from "./recording.ts";

export type Point = { x: number; y: number };
export type Box = { x: number; y: number; w: number; h: number };

/** A row of slots. If more goroutines are in it than it has slots, the last slot shows how many follow. */
export type Lane = { box: Box; slots: Point[] };

export type ProcFrame = { id: number; box: Box; title: Point; next: Point; ring: Lane; seat: Point };
export type WaitingFrame = { id: string; kind: WaitingKind; label: string; lane: Lane };

export type Frame = {
  width: number;
  height: number;
  /** The form for narrow stages: one P a row, with its M at the left. */
  compact: boolean;
  /** The radius of a goroutine, the edge of a slot and the inner radius of an M's triangle. */
  radius: number;
  slot: number;
  inner: number;
  global: Lane;
  /** The middle of the gap between the global queue and the Ps. Labels on ways between them stand there. */
  channel: number;
  procs: ProcFrame[];
  queueSize: number;
  /** Ms without a P that are not in a call; Ms in a call; goroutines that are in no other place. */
  threads: Lane | null;
  calls: Lane | null;
  elsewhere: Lane | null;
  waiting: WaitingFrame[];
  /** The Ms that are ever in these two lanes. Each has a slot of its own, if there are enough. */
  threadIds: number[];
  callIds: number[];
};

/** How much room the steps of a part need. */
export type Extent = {
  procs: number[];
  queueSize: number;
  global: number;
  /** Ms that are without a P in some step, and those that are so in a call. */
  threads: number[];
  calls: number[];
  elsewhere: number;
  waiting: { id: string; kind: WaitingKind; label: string; most: number }[];
};

const pad = 12;
const gap = 12;
const captionHeight = 26;
const compactBelow = 640;
const slotsLeast = 4;
const crowdedAbove = 8;
const slotsMost = { ring: 8, rows: 3 };   // a ring of 256 is drawn as 8 slots, the last with a number

export function isInCall(state: State, m: State["ms"][number]): boolean {
  return m.state === "in_call" && !state.procs.some((p) => p.m === m.id);
}

export function isSeated(state: State, m: State["ms"][number]): boolean {
  return state.procs.some((p) => p.m === m.id);
}

/** The goroutines that are drawn at the waiting place. One that is in a call is drawn on the M that makes the call. */
export function drawnAt(state: State, place: State["waiting"][number]): number[] {
  return place.kind === "call" ? place.gs.filter((g) => !state.ms.some((m) => m.g === g)) : place.gs;
}

/** The goroutines that no queue, no P, no M and no waiting place holds. Ended ones are not drawn. */
export function strays(state: State): number[] {
  const held = new Set<number>(state.global);
  for (const p of state.procs) {
    for (const g of [p.next, p.running, ...p.ring]) if (g !== null) held.add(g);
  }
  for (const w of state.waiting) for (const g of w.gs) held.add(g);
  for (const m of state.ms) if (m.g !== null) held.add(m.g);
  return state.gs.filter((g) => g.state !== "dead" && !held.has(g.id)).map((g) => g.id);
}

export function emptyExtent(part: Part): Extent {
  return {
    procs: Array.from({ length: part.procs }, (_, i) => i), queueSize: part.queue_size,
    global: 0, threads: [], calls: [], elsewhere: 0, waiting: [],
  };
}

/** Widens the extent to what this step needs. Returns whether it changed: a live view then needs a new frame. */
export function widen(extent: Extent, step: Step): boolean {
  const before = JSON.stringify(extent);
  const { state } = step;
  for (const p of state.procs) if (!extent.procs.includes(p.id)) extent.procs.push(p.id);
  for (const m of state.ms) {
    if (isSeated(state, m)) continue;
    const ids = isInCall(state, m) ? extent.calls : extent.threads;
    if (!ids.includes(m.id)) ids.push(m.id);
  }
  extent.calls.sort((a, b) => a - b);
  extent.threads.sort((a, b) => a - b);
  extent.global = Math.max(extent.global, state.global.length);
  extent.elsewhere = Math.max(extent.elsewhere, strays(state).length);
  for (const w of state.waiting) {
    const most = drawnAt(state, w).length;
    const known = extent.waiting.find((each) => each.id === w.id);
    if (known) known.most = Math.max(known.most, most);
    else if (w.kind !== "call" || most > 0) extent.waiting.push({ id: w.id, kind: w.kind, label: w.label, most });
  }
  return JSON.stringify(extent) !== before;
}

export function extentOf(part: Part): Extent {
  const extent = emptyExtent(part);
  if (part.steps[0]) extent.procs = part.steps[0].state.procs.map((p) => p.id);
  for (const step of part.steps) widen(extent, step);
  return extent;
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

function row(x: number, y: number, count: number, pitch: number): Point[] {
  return Array.from({ length: count }, (_, i) => ({ x: x + i * pitch, y }));
}

/** Slots in as many rows as needed, from the upper left. */
function grid(box: Box, needed: number, pitch: number, rowPitch: number): Lane {
  const perRow = Math.max(1, Math.floor((box.w - 2 * pad) / pitch));
  const rows = clamp(Math.ceil(needed / perRow), 1, slotsMost.rows);
  const slots: Point[] = [];
  for (let r = 0; r < rows; ++r) {
    slots.push(...row(box.x + pad + pitch / 2, box.y + captionHeight + (r + 0.5) * rowPitch, perRow, pitch));
  }
  // More empty slots than a few would only be noise.
  slots.length = Math.min(slots.length, Math.max(needed, slotsLeast));
  return { box: { ...box, h: captionHeight + rows * rowPitch + 8 }, slots };
}

type Sizes = { slot: number; radius: number; inner: number };

function wideProc(id: number, box: Box, ringSlots: number, sizes: Sizes): ProcFrame {
  const { slot } = sizes;
  const needed = slot * (ringSlots + 1) + 10;
  const left = box.x + Math.max(10, (box.w - needed) / 2);
  const y = box.y + 56 + slot / 2;
  return {
    id, box, title: { x: box.x + 14, y: box.y + 24 },
    next: { x: left + slot / 2, y },
    ring: { box: { x: left + slot + 10, y: y - slot / 2, w: slot * ringSlots, h: slot },
            slots: row(left + slot * 1.5 + 10, y, ringSlots, slot) },
    seat: { x: box.x + box.w / 2, y: y + slot / 2 + 16 + sizes.inner * 2 },
  };
}

function compactProc(id: number, box: Box, ringSlots: number, sizes: Sizes): ProcFrame {
  const { slot } = sizes;
  const left = box.x + 112;
  const y = box.y + 60;
  return {
    id, box, title: { x: box.x + 12, y: box.y + 20 },
    next: { x: left + slot / 2, y },
    ring: { box: { x: left + slot + 8, y: y - slot / 2, w: slot * ringSlots, h: slot },
            slots: row(left + slot * 1.5 + 8, y, ringSlots, slot) },
    seat: { x: box.x + 56, y: box.y + 47 },
  };
}

/** Shares boxes of the given least widths out to rows, and stretches them to fill each row. */
function flow(least: number[], left: number, width: number): { x: number; w: number; row: number }[] {
  const placed: { x: number; w: number; row: number }[] = [];
  let first = 0;
  for (let rowIndex = 0; first < least.length; ++rowIndex) {
    let last = first;
    let used = Math.min(width, least[first] ?? 0);
    while (last + 1 < least.length && used + gap + (least[last + 1] ?? 0) <= width) used += gap + (least[++last] ?? 0);
    const extra = (width - used) / (last - first + 1);
    let x = left;
    for (let i = first; i <= last; ++i) {
      const w = Math.min(width, least[i] ?? 0) + extra;
      placed.push({ x, w, row: rowIndex });
      x += w + gap;
    }
    first = last + 1;
  }
  return placed;
}

/** A box below the Ps: for Ms, or a waiting place. */
type Below = {
  needed: number;
  pitch: number;
  rowPitch: number;
  least: number;
  of?: "threads" | "calls" | "elsewhere";
  place?: Extent["waiting"][number];
};

type BelowFrame = Pick<Frame, "threads" | "calls" | "elsewhere" | "waiting"> & { bottom: number };

function placeBelow(lanes: Below[], left: number, top: number, width: number, inner: number): BelowFrame {
  const frame: BelowFrame = { threads: null, calls: null, elsewhere: null, waiting: [], bottom: top };
  const spots = flow(lanes.map((lane) => Math.max(136, 2 * pad + lane.least)), left, width);
  let y = top;
  for (let r = 0; spots.some((spot) => spot.row === r); ++r) {
    const made: Lane[] = [];
    lanes.forEach((lane, i) => {
      const spot = spots[i]!;
      if (spot.row !== r) return;
      const result = grid({ x: spot.x, y, w: spot.w, h: 0 }, lane.needed, lane.pitch, lane.rowPitch);
      made.push(result);
      if (lane.place) frame.waiting.push({ id: lane.place.id, kind: lane.place.kind, label: lane.place.label,
                                           lane: result });
      if (lane.of === "threads" || lane.of === "calls") {
        for (const point of result.slots) point.y += inner * 0.5 - 13;   // the label of an M stands below it
      }
      if (lane.of) frame[lane.of] = result;
    });
    const height = Math.max(...made.map((lane) => lane.box.h));
    for (const lane of made) lane.box.h = height;
    y += height + gap;
  }
  frame.bottom = y - gap;
  return frame;
}

function frameOf(extent: Extent, stageWidth: number): Frame {
  const width = Math.max(320, Math.round(stageWidth));
  const compact = width < compactBelow;
  const inside = width - 2 * pad;
  const fitting = compact ? Math.floor((inside - 132) / 26) - 1 : slotsMost.ring;
  const count = Math.max(1, extent.procs.length);
  const crowded = !compact && count > crowdedAbove;   // then each P is drawn smaller, and the camera brings it near
  const ringSlots = clamp(extent.queueSize, 1, Math.min(crowded ? 4 : slotsMost.ring, fitting));

  const leastSlot = crowded ? 24 : 32;
  const leastCard = leastSlot * (ringSlots + 1) + 34;
  const mostColumns = compact ? 1 : clamp(Math.floor((inside + gap) / (leastCard + gap)), 1, count);
  const columns = Math.ceil(count / Math.ceil(count / mostColumns));
  const cardWidth = (inside - gap * (columns - 1)) / columns;
  const room = compact ? cardWidth - 112 - 20 : cardWidth - 34;
  const slot = clamp(Math.floor(room / (ringSlots + 1)), 24, compact ? 36 : 44);
  const radius = clamp(slot / 2 - 4, 9, 17);
  const inner = radius + (compact ? 4 : 6);
  const sizes: Sizes = { slot, radius, inner };
  const cardHeight = compact ? 90 : 56 + slot + 16 + inner * 3 + 31;

  const rowGap = compact ? 8 : gap;

  let y = pad;
  const global = grid({ x: pad, y, w: inside, h: 0 }, extent.global, slot, slot + 2);
  const channelHeight = compact ? 26 : 34;
  const channel = y + global.box.h + channelHeight / 2;
  y += global.box.h + channelHeight;

  const procs = extent.procs.map((id, i) => {
    const box = {
      x: pad + (i % columns) * (cardWidth + gap), y: y + Math.floor(i / columns) * (cardHeight + rowGap),
      w: cardWidth, h: cardHeight,
    };
    return compact ? compactProc(id, box, ringSlots, sizes) : wideProc(id, box, ringSlots, sizes);
  });
  y += Math.ceil(count / columns) * (cardHeight + rowGap) - rowGap + gap;

  const seatPitch = Math.max(98, inner * 4);   // the label "M12 timekeeper" needs so much
  const lanes: Below[] = [];
  const seats = (needed: number): Below =>
    ({ needed, pitch: seatPitch, rowPitch: inner * 3 + 28, least: clamp(needed, 1, 8) * seatPitch });
  const queue = (needed: number): Below =>
    ({ needed, pitch: slot, rowPitch: slot + 2, least: clamp(needed, 2, 12) * slot });
  if (extent.threads.length > 0) lanes.push({ ...seats(extent.threads.length), of: "threads" });
  if (extent.calls.length > 0) lanes.push({ ...seats(extent.calls.length), of: "calls" });
  for (const place of extent.waiting) {
    const lane = queue(place.most);
    const caption = [...place.label].reduce((sum, letter) => sum + (letter.charCodeAt(0) > 255 ? 13 : 7), 46);
    lanes.push({ ...lane, least: Math.max(lane.least, caption), place });
  }
  if (extent.elsewhere > 0) lanes.push({ ...queue(extent.elsewhere), of: "elsewhere" });
  const below = placeBelow(lanes, pad, y, inside, inner);
  if (lanes.length > 0) y = below.bottom + gap;

  return {
    width, height: Math.round(y - gap + pad), compact, radius, slot, inner, global, channel, procs,
    queueSize: extent.queueSize, threadIds: extent.threads, callIds: extent.calls,
    threads: below.threads, calls: below.calls, elsewhere: below.elsewhere, waiting: below.waiting,
  };
}

/**
 * The frame for a stage of this width. A machine with many Ps gets a frame that is wider than the stage, so that it has
 * the stage's shape and is seen as a whole; the reader zooms in.
 */
export function makeFrame(extent: Extent, stageWidth: number): Frame {
  let frame = frameOf(extent, stageWidth);
  if (frame.compact || extent.procs.length <= crowdedAbove) return frame;
  for (let width = stageWidth; frame.height > 0.7 * frame.width && width < 8 * stageWidth;) {
    width *= 1.2;
    frame = frameOf(extent, width);
  }
  return frame;
}
