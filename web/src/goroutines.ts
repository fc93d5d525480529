// What the table of goroutines asks for and shows, as pure functions. The program bounds its answers: at most 10,000
// rows from a place up to 100,000.
export const tableViews = ["each", "place", "state"] as const;
export type TableView = (typeof tableViews)[number];

/** What the reader has asked for. */
export type Ask = { view: TableView; search: string; longestFirst: boolean; offset: number };

/** A goroutine, or a group of them, in the words of the program. */
export type Entry = {
  id?: number;
  count?: number;
  state: string;
  reason?: string;
  waits_ns?: number;
  created_by?: number;
  created_at?: string;
};

export type Table = { total: number; matching: number; entries: Entry[] };

type Answer = {
  total: number;
  matching: number;
  goroutines?: (Entry & { waits_for_ns?: number })[];
  groups?: (Entry & { longest_ns?: number })[];
};

export const pageSize = 100;
export const offsetMost = 100_000;
const groupsMost = 10_000;
const searchMost = 300;   // the head of a request has a limit, and a part of a long place finds it as well

export const firstAsk: Ask = { view: "each", search: "", longestFirst: false, offset: 0 };

/** Groups by state are made of all groups by place, so the answer has all of these. */
export function addressOf(ask: Ask): string {
  const whole = ask.view === "state";
  const values = new URLSearchParams({
    limit: String(whole ? groupsMost : pageSize), offset: String(whole ? 0 : ask.offset),
  });
  if (ask.search !== "") values.set("search", ask.search.slice(0, searchMost));
  if (ask.longestFirst) values.set("sort", "wait");
  if (ask.view !== "each") values.set("group", "place");
  return `api/v1/goroutines?${values.toString()}`;
}

export function tableOf(answer: Answer, ask: Ask): Table {
  const { total, matching } = answer;
  const entries: Entry[] = (answer.goroutines ?? answer.groups ?? []).map((each) => {
    const { waits_for_ns, longest_ns, ...rest } = each as Entry & { waits_for_ns?: number; longest_ns?: number };
    const waits_ns = waits_for_ns ?? longest_ns;
    return waits_ns === undefined ? rest : { ...rest, waits_ns };
  });
  if (ask.view !== "state") return { total, matching, entries };
  const states = byState(entries, ask.longestFirst);
  return { total, matching: states.length, entries: states.slice(ask.offset, ask.offset + pageSize) };
}

/** One entry for all goroutines in the same state for the same reason. */
function byState(groups: Entry[], longestFirst: boolean): Entry[] {
  const made = new Map<string, Entry & { count: number; waits_ns: number }>();
  for (const { state, reason, count = 1, waits_ns = 0 } of groups) {
    const key = `${state}\n${reason ?? ""}`;
    const entry = made.get(key) ?? { state, ...(reason === undefined ? {} : { reason }), count: 0, waits_ns: 0 };
    entry.count += count;
    entry.waits_ns = Math.max(entry.waits_ns, waits_ns);
    made.set(key, entry);
  }
  return [...made.values()].sort((a, b) =>
    (longestFirst ? b.waits_ns - a.waits_ns : 0) || b.count - a.count || (a.state < b.state ? -1 : 1));
}

/** The page that is shown, from 1, and the ways to the others. */
export function pageOf(ask: Ask, table: Table): { from: number; to: number; before: number | null;
                                                  after: number | null } {
  const to = ask.offset + table.entries.length;
  const next = ask.offset + pageSize;
  return {
    from: table.entries.length === 0 ? 0 : ask.offset + 1, to,
    before: ask.offset === 0 ? null : Math.max(0, ask.offset - pageSize),
    after: next < table.matching && next <= offsetMost ? next : null,
  };
}

/** What shows the goroutines of a group. A search finds one text, so it is the one that says most. */
export function askInto(group: Entry): Ask {
  return { ...firstAsk, search: group.created_at ?? group.reason ?? group.state };
}

/** The class of a goroutine's shape on the stage. */
export function shapeOf(state: string): string {
  if (state.startsWith("runnable")) return state === "runnable" ? "runnable" : "new";
  const shapes: Record<string, string> = {
    waiting: "waiting", running: "running", syscall: "in_call", hosting: "waiting",
  };
  return shapes[state] ?? "runnable";
}
