// The layout of one state: where each goroutine and each M is. A pure function of the state and the frame, so that two
// equal states give equal pictures however the page came to them. Motion is the difference of two layouts (motion.ts).
import { drawnAt, isInCall, strays, type Frame, type Lane, type Point } from "./frame.ts";
import type { GoroutineState, ProcState, State, ThreadState } from "./recording.ts";

/** Where a goroutine is. `index` counts from the head of a queue. */
export type Spot =
  | { kind: "global" | "elsewhere"; index: number }
  | { kind: "ring"; p: number; index: number }
  | { kind: "next" | "running"; p: number }
  | { kind: "thread"; m: number }
  | { kind: "waiting"; id: string; index: number };

export type Dot = Point & {
  g: number;
  label: string;
  state: GoroutineState;
  spot: Spot;
  /** False behind the number that stands for the end of a long queue. */
  shown: boolean;
};

export type ThreadMark = Point & {
  m: number;
  state: ThreadState;
  seat: number | null;
  inCall: boolean;
  shown: boolean;
};

/** A number in place of the goroutines or Ms for which a lane has no slots. */
export type More = Point & { count: number };

export type Layout = {
  dots: Map<number, Dot>;
  threads: Map<number, ThreadMark>;
  procs: Map<number, ProcState>;
  more: More[];
  /** How many goroutines are in a place (placeKey) that the state leaves out. */
  leftOut: Map<string, number>;
};

/** Where item `index` of `total` stands in the lane. */
export function inLane(lane: Lane, index: number, total: number): Point & { shown: boolean } {
  const slots = lane.slots;
  const last = slots.length - 1;
  const shown = total <= slots.length ? index <= last : index < last;
  const at = slots[Math.min(index, last)] ?? { x: lane.box.x, y: lane.box.y };
  return { x: at.x, y: at.y, shown };
}

function moreOf(lane: Lane, total: number, more: More[]): void {
  const last = lane.slots[lane.slots.length - 1];
  if (last && total > lane.slots.length) more.push({ ...last, count: total - lane.slots.length + 1 });
}

export function layoutOf(state: State, frame: Frame): Layout {
  const layout: Layout = { dots: new Map(), threads: new Map(), procs: new Map(), more: [], leftOut: new Map() };
  const goroutines = new Map(state.gs.map((g) => [g.id, g]));

  const put = (id: number, at: Point, spot: Spot, shown = true): void => {
    const g = goroutines.get(id);
    if (g) layout.dots.set(id, { g: id, label: g.label, state: g.state, x: at.x, y: at.y, spot, shown });
  };
  const fill = (gs: number[], lane: Lane, spotAt: (index: number) => Spot, count = 0): void => {
    const total = Math.max(gs.length, count);
    gs.forEach((g, index) => {
      const at = inLane(lane, index, total);
      put(g, at, spotAt(index), at.shown);
    });
    if (total > gs.length) layout.leftOut.set(placeKey(spotAt(0)), total - gs.length);
    moreOf(lane, total, layout.more);
  };

  fill(state.global, frame.global, (index) => ({ kind: "global", index }), state.global_count);
  if (frame.elsewhere) fill(strays(state), frame.elsewhere, (index) => ({ kind: "elsewhere", index }));
  for (const place of frame.waiting) {
    const waiting = state.waiting.find((w) => w.id === place.id);
    const gs = waiting ? drawnAt(state, waiting) : [];
    fill(gs, place.lane, (index) => ({ kind: "waiting", id: place.id, index }), waiting?.count);
  }

  const loose = { threads: [] as number[], calls: [] as number[] };
  const seats = new Map<number, { p: number; at: Point }>();
  for (const proc of state.procs) {
    const box = frame.procs.find((each) => each.id === proc.id);
    if (!box) continue;
    layout.procs.set(proc.id, proc.status);
    if (proc.m !== null) seats.set(proc.m, { p: proc.id, at: box.seat });
    if (proc.next !== null) put(proc.next, box.next, { kind: "next", p: proc.id });
    const queued = (proc.queued ?? 0) - (proc.next === null ? 0 : 1);
    fill(proc.ring, box.ring, (index) => ({ kind: "ring", p: proc.id, index }), queued);
  }
  for (const m of state.ms) {
    if (!seats.has(m.id)) loose[isInCall(state, m) ? "calls" : "threads"].push(m.id);
  }
  for (const m of state.ms) {
    const seat = seats.get(m.id);
    const inCall = loose.calls.includes(m.id);
    const lane = inCall ? frame.calls : frame.threads;
    const all = inCall ? frame.callIds : frame.threadIds;
    const present = inCall ? loose.calls : loose.threads;
    const ids = lane && all.length <= lane.slots.length ? all : present;
    const at = seat ? { ...seat.at, shown: true } : lane ? inLane(lane, ids.indexOf(m.id), ids.length) : null;
    if (!at) continue;
    layout.threads.set(m.id, {
      m: m.id, state: m.state, x: at.x, y: at.y, seat: seat ? seat.p : null, inCall, shown: at.shown,
    });
    // A goroutine may be paused on an M and also be in a queue. It is drawn where it waits for its turn.
    if (m.g !== null && !layout.dots.has(m.g)) {
      put(m.g, at, seat ? { kind: "running", p: seat.p } : { kind: "thread", m: m.id }, at.shown);
    }
  }
  for (const [lane, all, present] of [[frame.threads, frame.threadIds, loose.threads],
                                      [frame.calls, frame.callIds, loose.calls]] as const) {
    if (lane && all.length > lane.slots.length) moreOf(lane, present.length, layout.more);
  }
  for (const proc of state.procs) {
    const box = frame.procs.find((each) => each.id === proc.id);
    if (box && proc.running !== null && !layout.dots.has(proc.running)) {
      put(proc.running, box.seat, { kind: "running", p: proc.id });
    }
  }
  return layout;
}

export function sameSpot(a: Spot, b: Spot): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Whether both are the same place; the index in a queue does not matter. */
export function samePlace(a: Spot, b: Spot): boolean {
  return placeKey(a) === placeKey(b);
}

export function placeKey(spot: Spot): string {
  switch (spot.kind) {
    case "ring": case "next": case "running": return `${spot.kind} ${spot.p}`;
    case "thread": return `thread ${spot.m}`;
    case "waiting": return `waiting ${spot.id}`;
    default: return spot.kind;
  }
}
