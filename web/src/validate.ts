// Reads a recording and checks it against docs/recording.md. A document that breaks a rule is refused with a message
// that names the place in the document and the rule. Fields that the format does not know are ignored.
import {
  clocks, eventKinds, goroutineStates, placeKinds, procStates, recordingKinds, threadStates, waitingKinds,
  type Goroutine, type Part, type Place, type Proc, type Program, type Recording, type SchedEvent, type SourceLines,
  type State, type Step, type Thread, type WaitingPlace, type Words,
} from "./recording.ts";

export class RecordingError extends Error {}

type Fields = { [name: string]: unknown };

function fail(at: string, what: string): never {
  throw new RecordingError(`${at || "the document"}: ${what}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}

function fields(value: unknown, at: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fail(at, `an object is expected, not ${shown(value)}`);
  }
  return value as Fields;
}

function list<T>(value: unknown, at: string, each: (item: unknown, at: string) => T): T[] {
  if (!Array.isArray(value)) fail(at, `a list is expected, not ${shown(value)}`);
  return value.map((item: unknown, index) => each(item, `${at}[${index}]`));
}

function text(value: unknown, at: string): string {
  if (typeof value !== "string") fail(at, `a text is expected, not ${shown(value)}`);
  return value;
}

function whole(value: unknown, at: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    fail(at, `a whole number of 0 or more is expected, not ${shown(value)}`);
  }
  return value;
}

/** A trace has a stream for each P, and at most this many of them. */
const procsMost = 65_520;

function numberOfProcs(value: unknown, at: string): number {
  const procs = whole(value, at);
  if (procs > procsMost) fail(at, `a whole number of ${procsMost} or less is expected, not ${procs}`);
  return procs;
}

function wholeOrNull(value: unknown, at: string): number | null {
  return value === null ? null : whole(value, at);
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown, at: string): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) fail(at, `one of ${allowed.join(", ")} is expected, not ${shown(value)}`);
  return found;
}

function words(value: unknown, at: string): Words {
  const from = fields(value, at);
  const result: Words = { en: text(from["en"], `${at}.en`) };
  if (from["zh"] !== undefined) result.zh = text(from["zh"], `${at}.zh`);
  return result;
}

/** Sets result[name] if the document has the field. */
function optional<R, K extends keyof R & string>(
  result: R, from: Fields, name: K, at: string, read: (value: unknown, at: string) => R[K],
): void {
  if (from[name] !== undefined) result[name] = read(from[name], `${at}.${name}`);
}

function readProc(value: unknown, at: string): Proc {
  const from = fields(value, at);
  const result: Proc = {
    id: whole(from["id"], `${at}.id`),
    status: oneOf(procStates, from["status"], `${at}.status`),
    m: wholeOrNull(from["m"], `${at}.m`),
    running: wholeOrNull(from["running"], `${at}.running`),
    next: wholeOrNull(from["next"], `${at}.next`),
    ring: list(from["ring"], `${at}.ring`, whole),
  };
  optional(result, from, "queued", at, whole);
  return result;
}

function readThread(value: unknown, at: string): Thread {
  const from = fields(value, at);
  return {
    id: whole(from["id"], `${at}.id`),
    state: oneOf(threadStates, from["state"], `${at}.state`),
    p: wholeOrNull(from["p"], `${at}.p`),
    g: wholeOrNull(from["g"], `${at}.g`),
  };
}

function readGoroutine(value: unknown, at: string): Goroutine {
  const from = fields(value, at);
  const result: Goroutine = {
    id: whole(from["id"], `${at}.id`),
    label: text(from["label"], `${at}.label`),
    state: oneOf(goroutineStates, from["state"], `${at}.state`),
  };
  optional(result, from, "entry", at, text);
  optional(result, from, "reason", at, text);
  optional(result, from, "place", at, text);
  optional(result, from, "stack", at, (value, at) => list(value, at, text));
  optional(result, from, "line", at, whole);
  return result;
}

function readWaiting(value: unknown, at: string): WaitingPlace {
  const from = fields(value, at);
  const result: WaitingPlace = {
    id: text(from["id"], `${at}.id`),
    kind: oneOf(waitingKinds, from["kind"], `${at}.kind`),
    label: text(from["label"], `${at}.label`),
    gs: list(from["gs"], `${at}.gs`, whole),
  };
  optional(result, from, "count", at, whole);
  return result;
}

function unique<T>(items: T[], idOf: (item: T) => number | string, at: string): void {
  const seen = new Set<number | string>();
  items.forEach((item, index) => {
    if (seen.has(idOf(item))) fail(`${at}[${index}]`, `the id ${shown(idOf(item))} is there twice`);
    seen.add(idOf(item));
  });
}

/** A goroutine is in one place at most, and every number that the state mentions exists in it. */
function checkReferences(state: State, queueSize: number, at: string): void {
  const known = new Set(state.gs.map((g) => g.id));
  const threads = new Set(state.ms.map((m) => m.id));
  const procs = new Set(state.procs.map((p) => p.id));
  const places = new Map<number, string>();
  const put = (g: number, where: string, path: string): void => {
    if (!known.has(g)) fail(path, `there is no goroutine ${g} in ${at}.gs`);
    const before = places.get(g);
    if (before !== undefined) fail(path, `goroutine ${g} is also in ${before}`);
    places.set(g, where);
  };
  state.global.forEach((g, i) => put(g, "the global queue", `${at}.global[${i}]`));
  state.procs.forEach((p, i) => {
    const path = `${at}.procs[${i}]`;
    if (p.ring.length > queueSize) fail(`${path}.ring`, `${p.ring.length} goroutines, but queue_size is ${queueSize}`);
    p.ring.forEach((g, k) => put(g, `the run queue of P${p.id}`, `${path}.ring[${k}]`));
    if (p.next !== null) put(p.next, `runnext of P${p.id}`, `${path}.next`);
    if (p.running !== null) put(p.running, `running on P${p.id}`, `${path}.running`);
    if (p.m !== null && !threads.has(p.m)) fail(`${path}.m`, `there is no M ${p.m} in ${at}.ms`);
  });
  state.waiting.forEach((w, i) => {
    w.gs.forEach((g, k) => put(g, `the waiting place ${w.id}`, `${at}.waiting[${i}].gs[${k}]`));
  });
  state.ms.forEach((m, i) => {
    const path = `${at}.ms[${i}]`;
    if (m.p !== null && !procs.has(m.p)) fail(`${path}.p`, `there is no P ${m.p} in ${at}.procs`);
    if (m.g !== null && !known.has(m.g)) fail(`${path}.g`, `there is no goroutine ${m.g} in ${at}.gs`);
  });
}

function readState(value: unknown, queueSize: number, at: string): State {
  const from = fields(value, at);
  const state: State = {
    global: list(from["global"], `${at}.global`, whole),
    procs: list(from["procs"], `${at}.procs`, readProc),
    ms: list(from["ms"], `${at}.ms`, readThread),
    gs: list(from["gs"], `${at}.gs`, readGoroutine),
    waiting: list(from["waiting"], `${at}.waiting`, readWaiting),
  };
  optional(state, from, "global_count", at, whole);
  unique(state.procs, (p) => p.id, `${at}.procs`);
  unique(state.ms, (m) => m.id, `${at}.ms`);
  unique(state.gs, (g) => g.id, `${at}.gs`);
  unique(state.waiting, (w) => w.id, `${at}.waiting`);
  checkReferences(state, queueSize, at);
  return state;
}

function readPlace(value: unknown, at: string): Place {
  const from = fields(value, at);
  const result: Place = { kind: oneOf(placeKinds, from["kind"], `${at}.kind`) };
  if (from["p"] !== null) optional(result, from, "p", at, whole);
  if (from["id"] !== null) optional(result, from, "id", at, text);
  return result;
}

/** An event of a kind that this page does not know becomes a note, so a newer recording can still be played. */
function readEvent(value: unknown, at: string): SchedEvent {
  const from = fields(value, at);
  const named = text(from["kind"], `${at}.kind`);
  const result: SchedEvent = { kind: eventKinds.find((each) => each === named) ?? "note" };
  for (const name of ["g", "p", "m", "by", "n"] as const) {
    if (from[name] !== null) optional(result, from, name, at, whole);
  }
  for (const name of ["from", "to"] as const) {
    if (from[name] !== null) optional(result, from, name, at, readPlace);
  }
  optional(result, from, "gs", at, (value, at) => list(value, at, whole));
  optional(result, from, "text", at, words);
  if (result.kind === "note" && named !== "note" && !result.text) result.text = { en: named };
  return result;
}

function readSource(value: unknown, at: string): SourceLines {
  const from = fields(value, at);
  return {
    file: text(from["file"], `${at}.file`),
    function: from["function"] === undefined ? "" : text(from["function"], `${at}.function`),
    line: whole(from["line"], `${at}.line`),
    lines: from["lines"] === undefined ? [] : list(from["lines"], `${at}.lines`, text),
  };
}

/** Reads one step. A live view gets its steps one by one. */
export function readStep(value: unknown, queueSize: number, at: string): Step {
  const from = fields(value, at);
  const result: Step = {
    t: whole(from["t"], `${at}.t`),
    source: from["source"] === undefined ? [] : list(from["source"], `${at}.source`, readSource),
    events: from["events"] === undefined ? [] : list(from["events"], `${at}.events`, readEvent),
    state: readState(from["state"], queueSize, `${at}.state`),
  };
  optional(result, from, "text", at, words);
  return result;
}

function readProgram(value: unknown, at: string): Program {
  const from = fields(value, at);
  return { file: text(from["file"], `${at}.file`), lines: list(from["lines"], `${at}.lines`, text) };
}

function readPart(value: unknown, at: string): Part {
  const from = fields(value, at);
  const queueSize = whole(from["queue_size"], `${at}.queue_size`);
  const result: Part = {
    id: text(from["id"], `${at}.id`),
    title: words(from["title"], `${at}.title`),
    procs: numberOfProcs(from["procs"], `${at}.procs`),
    queue_size: queueSize,
    steps: list(from["steps"], `${at}.steps`, (step, at) => readStep(step, queueSize, at)),
  };
  optional(result, from, "story", at, words);
  optional(result, from, "program", at, readProgram);
  if (result.steps.length === 0) fail(`${at}.steps`, "at least one step is expected");
  result.steps.forEach((step, i) => {
    const before = result.steps[i - 1];
    if (before && step.t < before.t) fail(`${at}.steps[${i}].t`, `${step.t} is before the step before it, ${before.t}`);
  });
  return result;
}

export function readDocument(value: unknown): Recording {
  const from = fields(value, "");
  if (from["format"] !== "thrum-recording") {
    fail("format", `"thrum-recording" is expected, not ${shown(from["format"])}`);
  }
  if (from["version"] !== 1) {
    fail("version", `this page plays version 1, and the recording has version ${shown(from["version"])}`);
  }
  const parts = list(from["parts"], "parts", readPart);
  if (parts.length === 0) fail("parts", "at least one part is expected");
  unique(parts, (part) => part.id, "parts");
  return {
    format: "thrum-recording",
    version: 1,
    kind: oneOf(recordingKinds, from["kind"], "kind"),
    title: words(from["title"], "title"),
    clock: oneOf(clocks, from["clock"], "clock"),
    parts,
  };
}

/** Reads the text of a recording. */
export function readRecording(document: string): Recording {
  let value: unknown;
  try {
    value = JSON.parse(document);
  } catch (error) {
    throw new RecordingError(`the document is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return readDocument(value);
}
