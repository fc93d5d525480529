// The parts of the page that only a live program has: whether it answers, its figures, its goroutines and
// their stacks, and what it records.
import { tellError } from "./api.ts";
import type { LiveParts } from "./app.ts";
import { FiguresPanel } from "./figures_panel.ts";
import { shortTime } from "./format.ts";
import { GoroutineDetail } from "./goroutine_detail.ts";
import { GoroutinePanel } from "./goroutine_panel.ts";
import { Live, type Connection } from "./live.ts";
import { RecordPanel } from "./record_panel.ts";
import type { Language } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

export type Shown = {
  open: (recording: string) => void;
  append: (step: string) => void;
  choose: (g: number | null) => void;
};

export class LiveView implements LiveParts {
  readonly detail: GoroutineDetail;
  private readonly goroutines: GoroutinePanel;
  private readonly record: RecordPanel;
  private readonly figures: FiguresPanel;
  private readonly mark = byId("live");
  private readonly bar = byId("connection");
  private readonly words = html("p", { role: "status" });
  private readonly again = html("button", { type: "button" });
  private connection: Connection = { is: "connecting" };
  private isNew = true;   // it usually connects within some milliseconds, and nothing is said of them
  private language: Language;

  constructor(shown: Shown, language: Language) {
    this.language = language;
    this.detail = new GoroutineDetail(shown.choose);
    this.goroutines = new GoroutinePanel(shown.choose);
    this.record = new RecordPanel(language);
    this.figures = new FiguresPanel(language);
    this.bar.append(this.words, this.again);
    const live = new Live({ open: shown.open, append: shown.append, is: (connection) => this.became(connection) });
    this.again.addEventListener("click", () => live.tryNow());
    this.became(this.connection);
    void live.follow();
    setTimeout(() => {
      this.isNew = false;
      this.tell();
    }, 1000);
  }

  focusSearch(): void {
    this.goroutines.focus();
  }

  choose(g: number | null): void {
    if (g === null && this.detail.hasFocus()) this.goroutines.focusChosen();   // the detail is about to be hidden
    this.goroutines.mark(g);
  }

  translate(language: Language): void {
    this.language = language;
    this.goroutines.translate(language);
    this.record.translate(language);
    this.figures.translate(language);
    this.tell();
  }

  private became(connection: Connection): void {
    this.connection = connection;
    this.isNew &&= connection.is !== "lost";
    this.goroutines.turn(connection.is === "connected");
    this.figures.turn(connection.is === "connected");
    this.tell();
  }

  private tell(): void {
    const { connection, language } = this;
    const isConnected = connection.is === "connected";
    const isNew = connection.is === "connecting" && this.isNew;
    this.mark.hidden = connection.is === "none" || isNew;
    this.mark.dataset["state"] = connection.is;
    this.mark.textContent = say(language, isConnected ? "live" : "not_connected");
    this.bar.hidden = isConnected || connection.is === "none" || isNew;
    this.again.hidden = connection.is !== "lost";
    this.again.textContent = say(language, "try_now");
    if (connection.is === "connecting") this.words.textContent = say(language, "connecting");
    else if (connection.is === "refused") this.words.textContent = tellError(connection.why, language);
    else if (connection.is === "lost") {
      const wait = shortTime(connection.wait_ms * 1e6);
      this.words.textContent = `${tellError(connection.why, language)} ${say(language, "retry_in", { wait })}`;
    }
  }
}
