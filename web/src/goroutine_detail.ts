// The panel about one goroutine of a live program, with the stack that the program has taken of it. Taking one stops
// the goroutine for some microseconds, so it is taken when the reader asks.
import { ApiError, request, tellError, whole } from "./api.ts";
import type { DetailView } from "./detail.ts";
import { shortName, shortPath, shortTime } from "./format.ts";
import type { Language, Part } from "./recording.ts";
import { byId, html } from "./svg.ts";
import { say } from "./words.ts";

type Frame = { function: string; file?: string; line?: number };

/** docs/dump.md */
export type DumpedGoroutine = {
  id: number; name?: string; state: string; reason?: string; waits_for_ns?: number; thread?: string;
  system_call?: { number: number; name?: string }; stack: Frame[]; perhaps_called_from?: Frame[];
  stack_is_cut?: boolean; announced_at?: Frame[]; created_by?: number; created_at?: Frame[];
};
type Dump = { goroutines: DumpedGoroutine[]; remarks: string[] };

export class GoroutineDetail implements DetailView {
  private readonly root = byId("detail");
  private readonly choose: (id: number | null) => void;
  private wanted: { id: number; language: Language } | null = null;
  private taken: Dump | null = null;
  private asking: AbortController | null = null;

  constructor(choose: (id: number | null) => void) {
    this.choose = choose;
  }

  hasFocus(): boolean {
    return this.root.contains(document.activeElement);
  }

  hide(): void {
    this.asking?.abort();
    this.wanted = null;
    this.root.hidden = true;
  }

  show(_part: Part, _step: number, id: number, language: Language): void {
    const before = this.wanted;
    if (before?.id === id && before.language === language) return;   // each picture of the machine comes by here
    this.wanted = { id, language };
    if (before?.id === id && this.taken) this.fill(this.taken);
    else void this.take(id);
  }

  private async take(id: number): Promise<void> {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    this.taken = null;
    try {
      const response = await request(`api/v1/goroutines/${id}`, { signal: asking.signal });
      this.taken = await whole(response.json(), asking.signal) as Dump;
      this.fill(this.taken);
    } catch (error) {
      if (asking.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      const { language } = this.wanted!;
      const words = error.status === 404 ? say(language, "has_ended") : tellError(error, language);
      this.put(id, [html("p", { class: "problem", role: "alert" }, words)]);
    }
  }

  private fill(dump: Dump): void {
    const { language } = this.wanted!;
    const g = dump.goroutines[0];
    if (!g) return;
    const facts = html("dl");
    const add = (name: string, value: string | Node | undefined): void => {
      if (value !== undefined && value !== "") facts.append(html("dt", {}, name), html("dd", {}, value));
    };
    const call = g.system_call ? ` · ${g.system_call.name ?? g.system_call.number}` : "";
    add(say(language, "name"), g.name);
    add(say(language, "state"), g.state + call);
    add(say(language, "reason"), g.reason);
    add(say(language, "waited"), g.waits_for_ns === undefined ? undefined : shortTime(g.waits_for_ns));
    add(say(language, "thread"), g.thread);
    add(say(language, "created_by_g"), g.created_by ? this.parent(g.created_by) : undefined);
    const lists: [string, Frame[] | undefined][] = [
      [say(language, "perhaps"), g.perhaps_called_from], [say(language, "announced_at"), g.announced_at],
      [say(language, "created_at"), g.created_at]];
    const more = lists.flatMap(([title, frames]) => (frames?.length ? [html("h4", {}, title), frameList(frames)] : []));
    const stack = g.stack.length > 0 ? frameList(g.stack) : html("p", { class: "faint" }, say(language, "no_stack"));
    const cut = g.stack_is_cut ? [html("p", { class: "faint" }, say(language, "stack_is_cut"))] : [];
    const remarks = dump.remarks.map((remark) => html("p", { class: "faint" }, remark));
    this.put(g.id, [facts, html("h4", {}, say(language, "stack")), stack, ...cut, ...more, ...remarks]);
  }

  private parent(id: number): HTMLElement {
    const button = html("button", { type: "button", class: "link" }, `G${id}`);
    button.addEventListener("click", () => this.choose(id));
    return button;
  }

  private put(id: number, content: Node[]): void {
    const { language } = this.wanted!;
    const name = `${say(language, "goroutine")} G${id}`;
    const shut = html("button", { type: "button", class: "shut", "aria-label": say(language, "close") }, "×");
    shut.addEventListener("click", () => this.choose(null));
    const again = html("button", { type: "button", class: "again" }, say(language, "stack_again"));
    again.addEventListener("click", () => void this.take(id));
    const hadFocus = this.hasFocus();
    this.root.replaceChildren(shut, html("h3", {}, name), ...content, again);
    this.root.setAttribute("aria-label", name);
    this.root.dataset["g"] = String(id);
    this.root.hidden = false;
    if (hadFocus) again.focus({ preventScroll: true });
  }
}

function frameList(frames: Frame[]): HTMLElement {
  return html("ol", { class: "frames" }, ...frames.map((frame) => {
    const place = frame.file === undefined ? "" : `${shortPath(frame.file)}${frame.line ? `:${frame.line}` : ""}`;
    return html("li", {}, html("code", {}, shortName(frame.function)),
                ...(place === "" ? [] : [html("span", { title: frame.file ?? "" }, place)]));
  }));
}
