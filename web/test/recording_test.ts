// The reader of recordings: what it takes, and how it says what is wrong.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  clocks, eventKinds, goroutineStates, placeKinds, procStates, recordingKinds, threadStates, waitingKinds,
} from "../src/recording.ts";
import { readRecording, RecordingError } from "../src/validate.ts";
import { sample } from "./sample.ts";

type Json = { [name: string]: Json } & Json[];

/** The message about the sample after a change. */
function refusal(change: (recording: Json) => void): string {
  const document = JSON.parse(JSON.stringify(sample())) as Json;
  change(document);
  try {
    readRecording(JSON.stringify(document));
  } catch (error) {
    assert(error instanceof RecordingError);
    return error.message;
  }
  return "accepted";
}

const set = (target: Json | undefined, name: string | number, value: unknown): void => {
  (target as unknown as Record<string | number, unknown>)[name] = value;
};

const step = (recording: Json, index: number): Json => recording["parts"]![0]!["steps"]![index]!;

test("a recording is read as it was written", () => {
  assert.deepEqual(readRecording(JSON.stringify(sample())), sample());
});

test("text that is not JSON is refused", () => {
  assert.throws(() => readRecording("{"), /^Error: the document is not JSON/);
});

test("another format and another version are refused by name", () => {
  assert.equal(refusal((r) => set(r, "format", "other")), 'format: "thrum-recording" is expected, not "other"');
  assert.equal(refusal((r) => set(r, "version", 2)),
               "version: this page plays version 1, and the recording has version 2");
  assert.equal(refusal((r) => set(r, "parts", [])), "parts: at least one part is expected");
  assert.match(refusal((r) => set(r, "kind", "film")),
               /^kind: one of scenes, trace, live, play is expected, not "film"/);
});

test("a wrong type is refused with its place", () => {
  assert.equal(refusal((r) => set(step(r, 1), "t", "1")),
               'parts[0].steps[1].t: a whole number of 0 or more is expected, not "1"');
  assert.equal(refusal((r) => set(step(r, 1), "state", null)),
               "parts[0].steps[1].state: an object is expected, not null");
  assert.equal(refusal((r) => set(step(r, 1)["state"], "global", 7)),
               "parts[0].steps[1].state.global: a list is expected, not 7");
  assert.equal(refusal((r) => set(r["parts"]![0], "title", { zh: "x" })),
               "parts[0].title.en: a text is expected, not nothing");
});

test("a goroutine that does not exist is refused", () => {
  assert.equal(refusal((r) => set(step(r, 1)["state"], "global", [99])),
               "parts[0].steps[1].state.global[0]: there is no goroutine 99 in parts[0].steps[1].state.gs");
});

test("a goroutine in two places is refused with both", () => {
  assert.equal(refusal((r) => set(step(r, 1)["state"]!["procs"]![0], "next", 3)),
               "parts[0].steps[1].state.procs[0].next: goroutine 3 is also in the global queue");
});

test("a run queue longer than its ring is refused", () => {
  assert.equal(refusal((r) => set(r["parts"]![0], "queue_size", 3)),
               "parts[0].steps[0].state.procs[0].ring: 4 goroutines, but queue_size is 3");
});

test("an M that does not exist, and an id that is there twice, are refused", () => {
  assert.match(refusal((r) => set(step(r, 0)["state"]!["procs"]![0], "m", 9)), /there is no M 9 in /);
  assert.match(refusal((r) => set(step(r, 0)["state"]!["ms"]![1], "id", 1)), /ms\[1\]: the id 1 is there twice$/);
});

test("more Ps than a trace can have are refused", () => {
  assert.equal(refusal((r) => set(r["parts"]![0], "procs", 65_520)), "accepted");
  assert.equal(refusal((r) => set(r["parts"]![0], "procs", 65_521)),
               "parts[0].procs: a whole number of 65520 or less is expected, not 65521");
  assert.equal(refusal((r) => set(r["parts"]![0], "procs", 4_294_967_295)),
               "parts[0].procs: a whole number of 65520 or less is expected, not 4294967295");
});

test("steps do not go back in time", () => {
  assert.equal(refusal((r) => set(step(r, 1), "t", 9)),
               "parts[0].steps[2].t: 2 is before the step before it, 9");
});

test("unknown fields are ignored, and an unknown event is a note", () => {
  assert.equal(refusal((r) => set(r, "author", "somebody")), "accepted");
  const document = JSON.parse(JSON.stringify(sample())) as Json;
  set(step(document, 1)["events"]![0], "kind", "teleport");
  const event = readRecording(JSON.stringify(document)).parts[0]!.steps[1]!.events[0]!;
  assert.equal(event.kind, "note");
  assert.deepEqual(event.text, { en: "teleport" });
});

test("a part has the text of its program, and a goroutine the line that it is at", () => {
  const document = JSON.parse(JSON.stringify(sample())) as Json;
  set(document["parts"]![0], "program", { file: "a.play", lines: ["go a {", "}"] });
  set(step(document, 0)["state"]!["gs"]![0], "line", 2);
  const part = readRecording(JSON.stringify(document)).parts[0]!;
  assert.deepEqual(part.program, { file: "a.play", lines: ["go a {", "}"] });
  assert.equal(part.steps[0]!.state.gs[0]!.line, 2);
  assert.equal(refusal((r) => set(r["parts"]![0], "program", { file: "a.play", lines: [1] })),
               "parts[0].program.lines[0]: a text is expected, not 1");
  assert.equal(refusal((r) => set(step(r, 0)["state"]!["gs"]![0], "line", "2")),
               'parts[0].steps[0].state.gs[0].line: a whole number of 0 or more is expected, not "2"');
});

test("the schema in docs/ lists the same words as the reader", () => {
  const schema = JSON.parse(readFileSync("../docs/recording.schema.json", "utf8")) as {
    properties: Record<string, { enum?: string[] }>;
    $defs: Record<string, { properties: Record<string, { enum?: string[] }> }>;
  };
  const of = (name: string, field: string): string[] | undefined => schema.$defs[name]!.properties[field]!.enum;
  assert.deepEqual(schema.properties["kind"]!.enum, [...recordingKinds]);
  assert.deepEqual(schema.properties["clock"]!.enum, [...clocks]);
  assert.deepEqual(of("proc", "status"), [...procStates]);
  assert.deepEqual(of("thread", "state"), [...threadStates]);
  assert.deepEqual(of("goroutine", "state"), [...goroutineStates]);
  assert.deepEqual(of("waiting", "kind"), [...waitingKinds]);
  assert.deepEqual(of("place", "kind"), [...placeKinds]);
});

test("docs/recording.md names every kind of event and every state", () => {
  const text = readFileSync("../docs/recording.md", "utf8");
  const words = [...eventKinds, ...placeKinds, ...procStates, ...threadStates, ...goroutineStates, ...waitingKinds];
  for (const word of words) {
    assert(text.includes(`\`${word}\``), word);
  }
});
