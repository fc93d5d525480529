// The frame and the layout: pure functions of the recording.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extentOf, makeFrame, strays, type Box, type Frame } from "../src/frame.ts";
import { inLane, layoutOf, placeKey } from "../src/layout.ts";
import type { State } from "../src/recording.ts";
import { spotOf } from "../src/history.ts";
import { sample } from "./sample.ts";

const parts = sample().parts;
const widths = [320, 366, 700, 960, 1600];

function boxes(frame: Frame): Box[] {
  const lanes = [frame.threads, frame.calls, frame.elsewhere, ...frame.waiting.map((w) => w.lane)];
  return [frame.global.box, ...frame.procs.map((p) => p.box), ...lanes.flatMap((lane) => (lane ? [lane.box] : []))];
}

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.w - 0.01 && b.x < a.x + a.w - 0.01 && a.y < b.y + b.h - 0.01 && b.y < a.y + a.h - 0.01;

test("the boxes of a frame are inside the stage and do not overlap, at any width and for any number of Ps", () => {
  for (const part of parts) {
    for (const width of widths) {
      for (const procs of [1, 2, 4, 7, 64]) {
        const extent = { ...extentOf(part), procs: Array.from({ length: procs }, (_, i) => i) };
        const frame = makeFrame(extent, width);
        const all = boxes(frame);
        for (const box of all) {
          const what = `${part.id} at ${width} with ${procs}: ${JSON.stringify(box)} of ${frame.width}x${frame.height}`;
          assert(box.x >= 0 && box.y >= 0 && box.x + box.w <= frame.width && box.y + box.h <= frame.height, what);
        }
        all.forEach((a, i) => all.slice(i + 1).forEach((b) => assert(!overlap(a, b), `${part.id} at ${width}`)));
      }
    }
  }
});

test("the slots of a P are inside its box", () => {
  for (const width of widths) {
    for (const size of [1, 4, 8, 256]) {
      const frame = makeFrame({ ...extentOf(parts[0]!), queueSize: size }, width);
      for (const p of frame.procs) {
        for (const point of [p.next, p.seat, ...p.ring.slots]) {
          assert(point.x - frame.radius >= p.box.x && point.x + frame.radius <= p.box.x + p.box.w, `${width} ${size}`);
          assert(point.y - frame.radius >= p.box.y && point.y + frame.radius <= p.box.y + p.box.h, `${width} ${size}`);
        }
      }
    }
  }
});

test("every goroutine that lives is laid out once, where the state says", () => {
  for (const part of parts) {
    const frame = makeFrame(extentOf(part), 960);
    for (const step of part.steps) {
      const layout = layoutOf(step.state, frame);
      for (const g of step.state.gs) {
        const dot = layout.dots.get(g.id);
        assert.equal(dot !== undefined, g.state !== "dead", `${part.id} G${g.id}`);
        const spot = spotOf(step.state, g.id);
        if (dot && spot) assert.deepEqual(dot.spot, spot);
      }
      const places = [...layout.dots.values()].map((dot) => `${dot.x} ${dot.y}`);
      assert.equal(new Set(places).size, places.length, "no two goroutines are at one point");
      assert.equal(layout.threads.size, step.state.ms.length);
    }
  }
});

test("the layout is a pure function of the state", () => {
  const frame = makeFrame(extentOf(parts[0]!), 960);
  const state = parts[0]!.steps[1]!.state;
  const again = JSON.parse(JSON.stringify(state)) as State;
  assert.deepEqual(layoutOf(state, frame), layoutOf(again, frame));
});

test("goroutines that the state leaves out are counted", () => {
  const state = JSON.parse(JSON.stringify(parts[0]!.steps[0]!.state)) as State;
  const [place] = state.waiting;
  const [proc] = state.procs;
  state.global_count = state.global.length + 5;
  if (place) place.count = place.gs.length + 99_000;
  proc!.queued = proc!.ring.length + (proc!.next === null ? 0 : 1);
  const layout = layoutOf(state, makeFrame(extentOf(parts[0]!), 960));
  const expected = new Map([["global", 5], ...(place ? [[`waiting ${place.id}`, 99_000] as const] : [])]);
  assert.deepEqual(layout.leftOut, expected);
  assert.equal(layout.more.length, expected.size, "each of them ends in a number");
});

test("a queue longer than its lane ends in a number", () => {
  const state = JSON.parse(JSON.stringify(parts[0]!.steps[0]!.state)) as State;
  for (let id = 100; id < 400; ++id) {
    state.gs.push({ id, label: `G${id}`, state: "runnable" });
    state.global.push(id);
  }
  const extent = { ...extentOf(parts[0]!), global: state.global.length };
  const frame = makeFrame(extent, 960);
  const layout = layoutOf(state, frame);
  const shown = [...layout.dots.values()].filter((dot) => placeKey(dot.spot) === "global" && dot.shown).length;
  assert.equal(layout.more.length, 1);
  assert.equal(layout.more[0]!.count + shown, 300);
  assert.equal(shown, frame.global.slots.length - 1);
  assert(shown > 50, "three rows are used");
});

test("a lane that is exactly full shows all", () => {
  const lane = { box: { x: 0, y: 0, w: 0, h: 0 }, slots: [{ x: 1, y: 1 }, { x: 2, y: 2 }] };
  assert.deepEqual(inLane(lane, 1, 2), { x: 2, y: 2, shown: true });
  assert.deepEqual(inLane(lane, 1, 3), { x: 2, y: 2, shown: false });
});

test("a goroutine in no place is a stray, and an ended one is not", () => {
  const first = parts[2]!.steps[0]!.state;
  assert.deepEqual(strays(first), [15]);
  assert.deepEqual(strays(parts[0]!.steps[4]!.state), []);
});
