// A server that speaks as `thrum::debug::serve` does (docs/live_view.md), for the tests of the page. It has a hundred
// thousand goroutines, and says nothing that depends on the time.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { web } from "./browser.ts";
import { sample } from "./sample.ts";

export const part = sample().parts[0]!;
const recording = { ...sample(), kind: "live", parts: [{ ...part, steps: part.steps.slice(0, 1) }] };

export const goroutinesOfServer = 100_000;
const places = ["main", "accept_all(thrum::tcp_listener&) (server.cpp:140)", "session::start() (server.cpp:88)"];

type Row = { id: number; state: string; reason?: string; waits_for_ns?: number; created_by?: number;
             created_at: string };

function row(id: number): Row {
  if (id === 1) return { id, state: "waiting", reason: "chan receive", waits_for_ns: 41e9, created_at: places[0]! };
  const made = { id, created_by: 1, created_at: places[1 + id % 2]! };
  return id % 1000 === 0 ? { ...made, state: "running" }
    : { ...made, state: "waiting", reason: id % 3 === 0 ? "sleep" : "IO wait", waits_for_ns: id * 1e6 };
}

const matches = (each: Row, text: string): boolean =>
  each.state.includes(text) || (each.reason ?? "").includes(text) || each.created_at.includes(text);

function table(query: URLSearchParams): object {
  const all = Array.from({ length: goroutinesOfServer }, (_, i) => row(i + 1))
    .filter((each) => matches(each, query.get("search") ?? ""));
  const from = Number(query.get("offset") ?? 0);
  const shown = <T>(list: T[]): T[] => list.slice(from, from + Number(query.get("limit") ?? 100));
  if (!query.has("group")) {
    if (query.get("sort") === "wait") all.sort((a, b) => (b.waits_for_ns ?? 0) - (a.waits_for_ns ?? 0));
    return { total: goroutinesOfServer, matching: all.length, goroutines: shown(all) };
  }
  const groups = new Map<string, { count: number; longest_ns: number } & Omit<Row, "id">>();
  for (const { state, reason, created_at, waits_for_ns = 0 } of all) {
    const key = [state, reason, created_at].join();
    const made = groups.get(key) ?? { count: 0, longest_ns: 0, state, ...(reason ? { reason } : {}), created_at };
    groups.set(key, { ...made, count: made.count + 1, longest_ns: Math.max(made.longest_ns, waits_for_ns) });
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count);
  return { total: goroutinesOfServer, matching: sorted.length, groups: shown(sorted) };
}

function dump(id: number): object {
  const stack = [{ function: "session::read_loop()", file: "/build/../src/server.cpp", line: 88, offset: 28,
                   address: "0x1c" }];
  return { version: 1, total: 1, left_out: 0, deadlocks: [], remarks: [],
           goroutines: [{ ...row(id), name: "reader", stack, stack_is_cut: false, created_at: stack }] };
}

/** What comes, in its order, to those who wait for it. */
class Queue<T> {
  private readonly come: T[] = [];
  private readonly waiting: ((one: T) => void)[] = [];

  give(one: T): void {
    const next = this.waiting.shift();
    if (next) next(one);
    else this.come.push(one);
  }

  clear(): void {
    this.come.length = 0;
    this.waiting.length = 0;
  }

  async next(): Promise<T> {
    return this.come.shift() ?? new Promise<T>((resolve) => this.waiting.push(resolve));
  }
}

/** Each look finds 1000 more switches, and ten more goroutines that ran within 512 ns. */
function metrics(looks: number): string {
  const buckets = Array.from({ length: 29 }, (_, i) => `thrum_ready_to_run_seconds_bucket{le="${256e-9 * 2 ** i}"} ` +
    String(i === 0 ? 0 : 10 * looks));
  return ["# TYPE thrum_goroutines gauge", 'thrum_goroutines{state="waiting"} 99900',
          'thrum_goroutines{state="running"} 100', "thrum_global_queue_length 70", 'thrum_run_queue_length{proc="0"} 2',
          'thrum_run_queue_length{proc="1"} 5', `thrum_switches_total{kind="direct"} ${600 * looks}`,
          `thrum_switches_total{kind="via_g0"} ${400 * looks}`, ...buckets,
          `thrum_ready_to_run_seconds_bucket{le="+Inf"} ${10 * looks}`, "thrum_ready_to_run_seconds_longest 4e-07",
          ""].join("\n");
}

/** The program's policy: the browser runs the script of the page and no other. */
function policyOf(page: string): string {
  const script = page.slice(page.lastIndexOf("<script>") + "<script>".length, page.lastIndexOf("</script>"));
  return `default-src 'none'; script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'; ` +
    "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'";
}

export class LiveServer {
  /** What the next requests to a path are refused with. */
  readonly refused = new Map<string, { status: number; why: string }>();
  /** The requests, without those for events. */
  readonly asked: string[] = [];
  readonly tokens = new Set<string | undefined>();
  private readonly server: Server;
  private looks = 0;
  private readonly viewers = new Queue<ServerResponse>();
  /** Answers that the test gives: what has been recorded. */
  readonly recordings = new Queue<ServerResponse>();

  private constructor() {
    this.server = createServer((request, response) => this.answer(request, response));
  }

  static async start(): Promise<LiveServer> {
    const made = new LiveServer();
    await new Promise<void>((listening) => made.server.listen(0, "127.0.0.1", listening));
    return made;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Refuses nothing, and has nobody from an earlier test. */
  forget(): void {
    this.refused.clear();
    this.viewers.clear();
    this.recordings.clear();
  }

  /** The stream of the next viewer, which has got its recording. */
  async viewer(): Promise<ServerResponse> {
    const viewer = await this.viewers.next();
    viewer.write(`event: recording\ndata: ${JSON.stringify(recording)}\n\n`);
    return viewer;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname: path, searchParams: query } = new URL(request.url!, this.origin);
    const json = (body: object, status = 200): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (path !== "/") this.tokens.add(request.headers.authorization);
    if (path !== "/api/v1/events") this.asked.push(`${request.method} ${request.url}`);
    const refused = this.refused.get(path);
    if (refused) return json({ error: refused.why }, refused.status);
    if (path === "/") {
      const page = readFileSync(join(web, "dist/page.html"), "utf8");
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8",
                                "Content-Security-Policy": policyOf(page) });
      response.end(page);
    } else if (path === "/api/v1/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write("retry: 10\n\n");
      const alive = setInterval(() => response.write(": the program is alive\n\n"), 5000);
      response.on("close", () => clearInterval(alive));
      this.viewers.give(response);
    } else if (path === "/metrics") {
      response.writeHead(200, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
      response.end(metrics(++this.looks));
    } else if (path === "/api/v1/goroutines") {
      json(table(query));
    } else if (path.startsWith("/api/v1/goroutines/")) {
      json(dump(Number(path.split("/").pop())));
    } else if (path === "/api/v1/trace" || path === "/api/v1/profile") {
      this.recordings.give(response);
    } else {
      json({ error: "there is nothing here" }, 404);
    }
  }
}
