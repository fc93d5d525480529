// A recording: what the page plays. docs/recording.md describes the format; these types are the same in TypeScript.
// A recording holds the complete state of the scheduler after each step, so the page never computes a state itself.

/** A text in English and, where the recording has it, in Chinese. */
export type Words = { en: string; zh?: string };

export const recordingKinds = ["scenes", "trace", "live", "play"] as const;
export const clocks = ["steps", "ns"] as const;
export const procStates = ["idle", "running", "in_call", "stopped"] as const;
export const threadStates = ["running", "spinning", "resting", "in_call", "timekeeper", "starting"] as const;
export const goroutineStates = ["new", "runnable", "running", "waiting", "in_call", "preempted", "dead"] as const;
export const waitingKinds = ["chan", "mutex", "timer", "poller", "call", "other"] as const;
export const placeKinds = ["ring", "next", "global", "running", "waiting", "call", "none"] as const;
export const eventKinds = [
  "create", "run", "stop", "ready", "preempt", "end", "steal", "spill", "take_global", "call_enter", "call_exit",
  "hand_off", "m_start", "m_wake", "m_rest", "spin_begin", "spin_end", "p_take", "p_release", "timer", "poll", "note",
] as const;

export type RecordingKind = (typeof recordingKinds)[number];
export type Clock = (typeof clocks)[number];
export type ProcState = (typeof procStates)[number];
export type ThreadState = (typeof threadStates)[number];
export type GoroutineState = (typeof goroutineStates)[number];
export type WaitingKind = (typeof waitingKinds)[number];
export type PlaceKind = (typeof placeKinds)[number];
export type EventKind = (typeof eventKinds)[number];

export type Proc = {
  id: number;
  status: ProcState;
  m: number | null;
  running: number | null;
  next: number | null;
  ring: number[];
  /** How many are in `next` and `ring`, with those that the state leaves out. */
  queued?: number;
};

export type Thread = { id: number; state: ThreadState; p: number | null; g: number | null };

export type Goroutine = {
  id: number;
  label: string;
  state: GoroutineState;
  entry?: string;
  reason?: string;
  place?: string;
  stack?: string[];
  /** The line of the part's program that it is at, from 1. */
  line?: number;
};

export type WaitingPlace = { id: string; kind: WaitingKind; label: string; gs: number[]; count?: number };

export type State = {
  global: number[];
  global_count?: number;
  procs: Proc[];
  ms: Thread[];
  gs: Goroutine[];
  waiting: WaitingPlace[];
};

export type Place = { kind: PlaceKind; p?: number; id?: string };

export type SchedEvent = {
  kind: EventKind;
  g?: number;
  p?: number;
  m?: number;
  by?: number;
  from?: Place;
  to?: Place;
  n?: number;
  gs?: number[];
  text?: Words;
};

export type SourceLines = { file: string; function: string; line: number; lines: string[] };

export type Step = {
  t: number;
  text?: Words;
  source: SourceLines[];
  events: SchedEvent[];
  state: State;
};

/** The text of the program that a part shows. */
export type Program = { file: string; lines: string[] };

export type Part = {
  id: string;
  title: Words;
  story?: Words;
  procs: number;
  queue_size: number;
  program?: Program;
  steps: Step[];
};

export type Recording = {
  format: "thrum-recording";
  version: 1;
  kind: RecordingKind;
  title: Words;
  clock: Clock;
  parts: Part[];
};

export type Language = "en" | "zh";

/** The text in this language, or in English if the recording does not have it. */
export function inLanguage(words: Words | undefined, language: Language): string {
  if (!words) return "";
  return (language === "zh" ? words.zh : undefined) ?? words.en;
}
