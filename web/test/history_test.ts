// What the page says about a goroutine, in both languages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { historyOf, search, tellState } from "../src/history.ts";
import { tellEvent } from "../src/event_words.ts";
import { eventKinds } from "../src/recording.ts";
import { say } from "../src/words.ts";
import { sample } from "./sample.ts";
import { moveBy, wholeView, zoomAt } from "../src/camera.ts";

const [spill, , waits] = sample().parts as [Parts, Parts, Parts];
type Parts = ReturnType<typeof sample>["parts"][number];

test("the history of a goroutine has the steps in which something happened to it", () => {
  assert.deepEqual(historyOf(spill, 3, "en"), [
    { step: 0, text: "in the run queue of P0, number 1" },
    { step: 1, text: "P0's run queue is full: G3, G4, G7 to the global queue" },
    { step: 3, text: "M2 takes G3 from the global queue; M2 runs G3 on P1" },
    { step: 4, text: "G3 ends" },
  ]);
  assert.equal(historyOf(spill, 3, "zh")[3]!.text, "G3 结束");
});

test("a search finds goroutines by label, function, state and reason, the exact label first", () => {
  assert.deepEqual(search(waits, "g1", 0).map((found) => found.goroutine.id), [1, 10, 11, 12, 13, 14, 15]);
  assert.deepEqual(search(waits, "sleep waiting", 0).map((found) => found.goroutine.id), [11, 12]);
  assert.deepEqual(search(waits, "MAIN", 0).map((found) => found.goroutine.id), [1]);
  assert.deepEqual(search(waits, "  ", 0), []);
});

test("a goroutine that does not exist yet is found at the closest step in which it does", () => {
  assert.equal(search(spill, "G8", 0)[0]!.step, 1);
  assert.equal(search(spill, "G3", 4)[0]!.step, 3);
});

test("every kind of event has a sentence in both languages", () => {
  const state = spill.steps[1]!.state;
  for (const kind of eventKinds) {
    for (const language of ["en", "zh"] as const) {
      const event = { kind, g: 3, p: 0, m: 1, by: 2, gs: [3, 4], from: { kind: "ring", p: 1 } } as const;
      const full = tellEvent({ ...event, gs: [...event.gs] }, state, language);
      const bare = tellEvent({ kind }, state, language);
      for (const told of [full, bare]) assert(told.length > 1 && !/undefined|null|NaN/.test(told), `${kind}: ${told}`);
    }
  }
});

test("the state in words names every P, every M and every queue", () => {
  const told = tellState(spill.steps[1]!.state, "en");
  assert.equal(told[0], "global queue: G3, G4, G7");
  assert.equal(told[1], "P0: running, M1, running G2, runnext G8, run queue G5, G6");
  assert.equal(told.length, 1 + 4 + 2);
});

test("words with values are filled in", () => {
  assert.equal(say("en", "step_of", { n: 2, all: 5 }), "Step 2 of 5");
  assert.equal(say("zh", "step_of", { n: 2, all: 5 }), "第 2 步，共 5 步");
});

test("the camera keeps the point under the pointer, and the machine on the stage", () => {
  const view = zoomAt(wholeView, 100, 50, 2);
  assert.deepEqual(view, { x: -100, y: -50, zoom: 2 });
  assert.deepEqual(zoomAt(view, 0, 0, 0.1), wholeView);
  assert.deepEqual(moveBy(view, 500, -5000, 400, 300), { x: 0, y: -300, zoom: 2 });
});
