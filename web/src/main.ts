// The page. It reads the recording that is embedded in it, or one that the reader opens, and plays it.
import { App } from "./app.ts";
import { LiveView } from "./live_view.ts";
import { readRecording, readStep, RecordingError } from "./validate.ts";
import type { Language, Recording } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

declare global {
  interface Window {
    /** For programs that show a live view: `append` adds one step, as JSON, to the only part. */
    thrumPage?: { open: (recording: string) => void; append: (step: string) => void };
  }
}

const language: Language = navigator.language.startsWith("zh") ? "zh" : "en";
let app: App | null = null;
let live: LiveView | null = null;   // a program serves the page

function open(document: string): void {
  try {
    play(readRecording(document));
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error;
    welcome(error.message);
  }
}

function play(recording: Recording): void {
  byId("welcome").hidden = true;
  byId("main").hidden = false;
  byId("transport").hidden = false;
  const chosen = app?.chosen ?? null;
  app?.stop();
  const isOfProgram = live !== null && recording.kind === "live";
  document.body.classList.toggle("live", isOfProgram);
  app = new App(recording, language, isOfProgram ? live : null);
  if (isOfProgram && chosen !== null) app.select(chosen);   // the program has another number of Ps, or was away
}

/** The page without a recording: it says what is wrong, if something is, and takes a file. */
function welcome(problem: string | null): void {
  app?.stop();
  app = null;
  byId("main").hidden = true;
  byId("transport").hidden = true;
  document.body.classList.add("without-recording");
  const field = html("input", { type: "file", accept: ".json,application/json", id: "file" });
  field.addEventListener("change", () => void take(field.files?.[0]));
  const error = problem === null ? [] : [html("p", { id: "problem", role: "alert" }, problem)];
  byId("welcome").replaceChildren(
    html("h2", {}, say(language, problem === null ? "nothing_embedded" : "bad")), ...error,
    html("p", {}, say(language, "open_hint")), html("label", { for: "file" }, say(language, "open")), field);
  byId("welcome").hidden = false;
}

async function take(file: File | undefined): Promise<void> {
  if (!file) return;
  document.body.classList.remove("without-recording");
  open(await file.text());
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  void take(event.dataTransfer?.files[0]);
});

function append(step: string): void {
  if (app) app.append(readStep(JSON.parse(step) as unknown, app.queueSize, "the step"));
}

const embedded = byId("recording").textContent ?? "";
if (embedded.trim() === "") welcome(null);
else open(embedded);

window.thrumPage = { open, append };

// A program that serves the page tells it what happens (docs/live_view.md). A file of the disk has no such program.
if (embedded.trim() === "" && location.protocol.startsWith("http")) {
  live = new LiveView({
    open: (recording) => {
      document.body.classList.remove("without-recording");
      open(recording);
    },
    append: (step) => {
      if (document.body.classList.contains("live")) append(step);   // the reader may have opened a file meanwhile
    },
    choose: (g) => app?.select(g),
  }, language);
}
