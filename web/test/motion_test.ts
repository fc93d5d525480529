// Motion: the difference of two layouts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { curve, motionOf, trim, upTo } from "../src/motion.ts";
import { layoutOf } from "../src/layout.ts";
import { extentOf, makeFrame } from "../src/frame.ts";
import { Reel } from "../src/reel.ts";
import { sample } from "./sample.ts";

const parts = sample().parts;

test("the picture at the end of a motion is that of the state, and at its beginning that of the state before", () => {
  for (const part of parts) {
    const reel = new Reel(part, 960);
    for (let i = 1; i < part.steps.length; ++i) {
      for (const [position, step] of [[i, i], [i - 1 + 1e-9, i - 1]] as const) {
        const layout = reel.layout(step);
        const dots = reel.picture(position).dots.filter((dot) => dot.opacity > 0.01);
        assert.deepEqual(new Set(dots.map((dot) => dot.g)), new Set(layout.dots.keys()), `${part.id} ${position}`);
        for (const dot of dots) {
          const want = layout.dots.get(dot.g)!;
          assert(Math.hypot(dot.x - want.x, dot.y - want.y) < 0.01, `${part.id} G${dot.g} at ${position}`);
        }
      }
    }
  }
});

test("the same moment gives the same picture, however the page came to it", () => {
  const one = new Reel(parts[0]!, 960);
  const other = new Reel(parts[0]!, 960);
  for (let position = 0; position <= 4; position += 0.25) other.picture(position);
  for (const position of [3.5, 0, 4, 1.25]) assert.deepEqual(one.picture(position), other.picture(position));
});

test("no goroutine jumps", () => {
  for (const part of parts) {
    const reel = new Reel(part, 960);
    const last = new Map<number, { x: number; y: number }>();
    for (let position = 0; position <= part.steps.length - 1; position += 0.002) {
      for (const dot of reel.picture(position).dots) {
        const before = last.get(dot.g);
        if (before && dot.opacity > 0.1) {
          assert(Math.hypot(before.x - dot.x, before.y - dot.y) < 40, `${part.id} G${dot.g} at ${position}`);
        }
        last.set(dot.g, { x: dot.x, y: dot.y });
      }
    }
  }
});

test("a new goroutine comes out of its creator", () => {
  const frame = makeFrame(extentOf(parts[0]!), 960);
  const [before, after] = [parts[0]!.steps[0]!, parts[0]!.steps[1]!];
  const motion = motionOf(layoutOf(before.state, frame), layoutOf(after.state, frame), after.events, frame);
  const creator = layoutOf(before.state, frame).dots.get(2)!;
  const start = motion.dots.get(8)!.path!.points[0]!;
  assert.deepEqual({ x: start.x, y: start.y }, { x: creator.x, y: creator.y });
  assert.equal(motion.dots.get(8)!.trail, "create");
});

test("events happen in their order", () => {
  const frame = makeFrame(extentOf(parts[2]!), 960);
  const [before, after] = [parts[2]!.steps[3]!, parts[2]!.steps[4]!];
  const motion = motionOf(layoutOf(before.state, frame), layoutOf(after.state, frame), after.events, frame);
  assert(motion.dots.get(10)!.begin < motion.dots.get(13)!.begin, "G10 is preempted before G13 runs");
});

test("a goroutine that goes into a call rides on its M", () => {
  const reel = new Reel(parts[1]!, 960);
  for (const f of [0.2, 0.5, 0.8]) {
    const picture = reel.picture(1 + f);
    const m = picture.threads.find((thread) => thread.m === 2)!;
    const g = picture.dots.find((dot) => dot.g === 8)!;
    assert.deepEqual([g.x, g.y], [m.x, m.y]);
  }
});

test("steals are labelled, and trails stay when the motion has ended", () => {
  const picture = new Reel(parts[0]!, 960).picture(4);
  assert.deepEqual(picture.labels.map((label) => label.event.kind), ["steal"]);
  assert.equal(picture.trails.find((trail) => trail.key === "g5")?.settled, true);
});

test("a path is measured along its length", () => {
  const path = curve([{ x: 0, y: 0 }, { x: 100, y: 0 }], 0);
  assert.equal(Math.round(path.total), 100);
  assert.equal(Math.round(upTo(path, 0.25).pop()!.x), 25);
  assert.equal(upTo(path, 0).pop()!.x, 0);
  const short = trim(path.points, 10, 20);
  assert.deepEqual([Math.round(short[0]!.x), Math.round(short[short.length - 1]!.x)], [10, 80]);
  assert.deepEqual(trim(path.points, 60, 60), []);
});
