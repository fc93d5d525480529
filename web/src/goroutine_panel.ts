// The table of goroutines of a live program. The program searches, sorts and divides it into pages, so the page never
// has more than one of these.
import { ApiError, pauseAfter, request, tellError, whole } from "./api.ts";
import { shortName, shortTime, wholeNumber } from "./format.ts";
import {
  addressOf, askInto, firstAsk, pageOf, shapeOf, tableOf, tableViews, type Ask, type Entry, type Table,
} from "./goroutines.ts";
import { goroutine } from "./key.ts";
import type { Language } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say, type WordKey } from "./words.ts";

type Column = { key: WordKey; name: string; text: (entry: Entry) => string };

const time = (entry: Entry): string => (entry.waits_ns === undefined || entry.waits_ns === 0 ? ""
  : shortTime(entry.waits_ns));
const placeOf = (entry: Entry): string => shortName(entry.created_at ?? "");
const columns: Record<"each" | "groups", Column[]> = {
  each: [
    { key: "col_g", name: "g", text: (entry) => `G${entry.id ?? "?"}` },
    { key: "col_state", name: "state", text: (entry) => entry.state },
    { key: "col_reason", name: "reason", text: (entry) => entry.reason ?? "" },
    { key: "col_wait", name: "wait", text: time },
    { key: "col_by", name: "by", text: (entry) => (entry.created_by === undefined ? "" : `G${entry.created_by}`) },
    { key: "col_place", name: "place", text: placeOf },
  ],
  groups: [
    { key: "col_count", name: "g", text: (entry) => wholeNumber(entry.count ?? 0) },
    { key: "col_state", name: "state", text: (entry) => entry.state },
    { key: "col_reason", name: "reason", text: (entry) => entry.reason ?? "" },
    { key: "col_longest", name: "wait", text: time },
    { key: "col_place", name: "place", text: placeOf },
  ],
};

export class GoroutinePanel {
  private readonly root = byId("goroutines");
  private readonly title = html("h3", { id: "goroutines-title" });
  private readonly field = html("input", { type: "search", id: "goroutine-query", autocomplete: "off",
                                           spellcheck: "false" });
  private readonly views = html("div", { class: "choices", role: "group" });
  private readonly longest = html("input", { type: "checkbox", id: "longest-first" });
  private readonly longestText = html("span");
  private readonly told = html("span", { id: "goroutines-told" });
  private readonly held = html("span", { id: "goroutines-held" });
  private readonly spoken = html("p", { class: "unseen", role: "status" });
  private readonly table = html("table", { "aria-labelledby": "goroutines-title", role: "table" });
  private readonly pages = html("div", { class: "pages" });
  private readonly shown: (id: number) => void;
  private ask: Ask = firstAsk;
  private answer: Table | null = null;
  private answerTo: Ask | null = null;
  private spokenTo: Ask | null = null;
  private error: ApiError | null = null;
  private language: Language = "en";
  private chosen: number | null = null;
  private timer = 0;
  private pause_ms = 0;
  private asking: AbortController | null = null;
  private isOn = false;
  private isSeen = false;

  constructor(shown: (id: number) => void) {
    this.shown = shown;
    this.root.append(
      html("div", { class: "bar" }, this.title, this.field, this.views,
           html("label", { for: "longest-first", class: "tick" }, this.longest, this.longestText)),
      html("p", { class: "about" }, this.told, this.held), this.spoken,
      html("div", { class: "scroller" }, this.table), this.pages);
    this.field.addEventListener("input", () => this.change({ ...this.ask, search: this.field.value.trim() }, 200));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.change({ ...this.ask, search: this.field.value.trim() });
    });
    this.longest.addEventListener("change", () => this.change({ ...this.ask, longestFirst: this.longest.checked }));
    this.table.addEventListener("click", (event) => this.clicked(event.target));
    for (const name of ["pointerover", "pointerout", "focusin", "focusout"] as const) {
      this.table.addEventListener(name, () => this.tellHeld());
    }
    // Nobody needs the table while it cannot be seen.
    new IntersectionObserver((seen) => {
      this.isSeen = seen.some((each) => each.isIntersecting);
      this.plan(0);
    }).observe(this.root);
    document.addEventListener("visibilitychange", () => this.plan(0));
  }

  /** The program answers, or it does not. */
  turn(on: boolean): void {
    this.isOn = on;
    this.root.hidden = false;
    if (on) this.plan(0);
    else this.halt();
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  /** The focus goes back to the goroutine that was chosen. */
  focusChosen(): void {
    const rows = [...this.table.tBodies[0]?.rows ?? []];
    const row = rows.find((each) => each.dataset["id"] === String(this.chosen));
    (row?.querySelector("button") ?? this.field).focus();
  }

  mark(chosen: number | null): void {
    this.chosen = chosen;
    for (const row of this.table.tBodies[0]?.rows ?? []) this.markRow(row);
  }

  translate(language: Language): void {
    this.language = language;
    this.title.textContent = say(language, "goroutines");
    this.field.placeholder = say(language, "find_in_table");
    this.field.setAttribute("aria-label", say(language, "find_in_table"));
    this.longestText.textContent = say(language, "longest_first");
    this.views.setAttribute("aria-label", say(language, "view_as"));
    this.views.replaceChildren(...tableViews.map((view) => {
      const isShown = String(view === this.ask.view);
      const button = html("button", { type: "button", "data-view": view, "aria-pressed": isShown },
                          say(language, `view_${view}`));
      button.addEventListener("click", () => this.change({ ...this.ask, view }));
      return button;
    }));
    this.held.textContent = ` · ${say(language, "table_held")}`;
    delete this.table.dataset["view"];
    this.show();
  }

  /** Another table, from its first page on unless the page is what changes. */
  private change(ask: Ask, after_ms = 0): void {
    const samePage = ask.offset !== this.ask.offset;
    this.ask = samePage ? ask : { ...ask, offset: 0 };
    for (const button of this.views.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset["view"] === ask.view));
    }
    if (this.field.value.trim() !== ask.search) this.field.value = ask.search;
    this.halt();
    this.timer = window.setTimeout(() => void this.load(), after_ms);
  }

  private halt(): void {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.asking = null;
  }

  /** Looks again after a while, if somebody looks at the table. */
  private plan(after_ms: number): void {
    if (!this.isOn || !this.isSeen || document.hidden || this.asking) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.tellHeld();
      if (this.answerTo === this.ask && this.isHeld()) this.plan(this.pause_ms);
      else void this.load();
    }, after_ms);
  }

  /** Rows must not move under the pointer, nor under the focus. */
  private isHeld(): boolean {
    const body = this.table.tBodies[0];
    return body?.matches(":hover, :focus-within") ?? false;
  }

  /** The words keep their room, because what is under the pointer must not move. */
  private tellHeld(): void {
    this.held.style.visibility = this.isHeld() ? "visible" : "hidden";
  }

  private async load(): Promise<void> {
    const asking = new AbortController();
    const { ask } = this;
    this.asking = asking;
    const begun = performance.now();
    try {
      const response = await request(addressOf(ask), { signal: asking.signal });
      const answer = await whole(response.json(), asking.signal) as Parameters<typeof tableOf>[0];
      this.answer = tableOf(answer, ask);
      this.answerTo = ask;
      this.error = null;
    } catch (error) {
      if (asking.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.error = error;
    }
    if (this.asking === asking) this.asking = null;
    this.pause_ms = pauseAfter(performance.now() - begun, 2000, 20);
    this.show();
    this.plan(this.pause_ms);
  }

  private show(): void {
    const { answer, language } = this;
    const ask = this.answerTo ?? this.ask;
    this.root.dataset["shown"] = answer ? `${ask.view} ${ask.search}` : "";
    this.told.classList.toggle("problem", this.error !== null);
    if (this.error) this.speak(this.told.textContent = tellError(this.error, language));
    if (!answer) return this.tellHeld();
    const { from, to } = pageOf(ask, answer);
    const rows = answer.entries.length === 0 ? say(language, "nothing_found")
      : say(language, "rows_of", { from: wholeNumber(from), to: wholeNumber(to), n: wholeNumber(answer.matching) });
    const words = `${rows} · ${say(language, "alive", { n: wholeNumber(answer.total) })}`;
    if (!this.error) this.told.textContent = words;
    if (!this.error && this.spokenTo !== ask) this.speak(rows);   // and not each time that the numbers change
    this.spokenTo = this.error ? null : ask;
    const hadFocus = this.table.contains(document.activeElement);
    this.showRows(answer, ask);
    this.showPages(answer, ask);
    if (hadFocus && !this.table.contains(document.activeElement)) {
      (this.table.querySelector<HTMLElement>("tbody button") ?? this.field).focus();
    }
    this.tellHeld();
  }

  private speak(words: string): void {
    if (this.spoken.textContent !== words) this.spoken.textContent = words;
  }

  private showRows(answer: Table, ask: Ask): void {
    const kind = ask.view === "each" ? "each" : "groups";
    const shown = columns[kind].filter((column) => ask.view !== "state" || column.name !== "place");
    if (this.table.dataset["view"] !== ask.view) {
      this.table.dataset["view"] = ask.view;
      const heads = shown.map((column) =>
        html("th", { scope: "col", role: "columnheader", class: column.name }, say(this.language, column.key)));
      this.table.replaceChildren(html("thead", { role: "rowgroup" }, html("tr", { role: "row" }, ...heads)),
                                 html("tbody", { role: "rowgroup" }));
    }
    const body = this.table.tBodies[0]!;
    while (body.rows.length > answer.entries.length) body.rows[body.rows.length - 1]!.remove();
    while (body.rows.length < answer.entries.length) body.append(newRow(shown));
    answer.entries.forEach((entry, i) => this.fillRow(body.rows[i]!, entry, shown));
  }

  private fillRow(row: HTMLTableRowElement, entry: Entry, shown: Column[]): void {
    const { language } = this;
    if (entry.id === undefined) delete row.dataset["id"];
    else row.dataset["id"] = String(entry.id);
    shown.forEach((column, i) => {
      const text = column.text(entry);
      const into = row.cells[i]!.querySelector("button, .text")!;
      if (into.textContent === text) return;
      into.textContent = text;
      if (column.name === "state") row.cells[i]!.querySelector("svg")!.replaceWith(goroutine(shapeOf(entry.state)));
    });
    const button = row.querySelector("button")!;
    button.setAttribute("aria-label", entry.id === undefined
      ? say(language, "show_group", { n: wholeNumber(entry.count ?? 0) })
      : say(language, "show_goroutine", { n: entry.id }));
    this.markRow(row);
  }

  private markRow(row: HTMLTableRowElement): void {
    const isChosen = this.chosen !== null && row.dataset["id"] === String(this.chosen);
    row.classList.toggle("chosen", isChosen);
    row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
  }

  private showPages(answer: Table, ask: Ask): void {
    const { before, after } = pageOf(ask, answer);
    if (this.pages.children.length === 0) {
      for (const [way, sign] of [["before", "◀"], ["after", "▶"]] as const) {
        const button = html("button", { type: "button", "data-way": way }, sign);
        button.addEventListener("click", () => {
          const offset = Number(button.dataset["offset"]);
          if (button.getAttribute("aria-disabled") !== "true") this.change({ ...this.ask, offset });
        });
        this.pages.append(button);
      }
    }
    const [first, second] = this.pages.querySelectorAll("button");
    for (const [button, offset, key] of [[first!, before, "page_before"], [second!, after, "page_after"]] as const) {
      button.setAttribute("aria-label", say(this.language, key));
      button.title = say(this.language, key);
      button.setAttribute("aria-disabled", String(offset === null));   // a disabled one would lose the focus
      button.dataset["offset"] = String(offset ?? ask.offset);
    }
    this.pages.hidden = before === null && after === null;
  }

  private clicked(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest("tbody tr") : null;
    if (!(row instanceof HTMLTableRowElement) || !this.answer) return;
    const entry = this.answer.entries[row.sectionRowIndex];
    if (!entry) return;
    if (entry.id === undefined) this.change(askInto(entry));
    else this.shown(entry.id);
  }
}

function newRow(shown: Column[]): HTMLTableRowElement {
  return html("tr", { role: "row" }, ...shown.map(({ name }) =>
    html("td", { role: "cell", class: name },
         ...(name === "state" ? [goroutine("none")] : []),
         name === "g" ? html("button", { type: "button" }) : html("span", { class: "text" }))));
}
