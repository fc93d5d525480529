// Follows the program that served the page: docs/live_view.md. When the connection ends, it connects again after a
// while that grows, and the program then begins with a new recording.
import { ApiError, request, unreadable } from "./api.ts";
import { EventStream } from "./event_stream.ts";

export type Connection =
  | { is: "connecting" | "connected" }
  | { is: "lost"; why: ApiError; wait_ms: number }
  | { is: "refused"; why: ApiError }     // and would be again
  | { is: "none" };                      // what serves the page is no program with a live view

export interface Follower {
  open: (recording: string) => void;
  append: (step: string) => void;
  is: (connection: Connection) => void;
}

const waitMost_ms = 30_000;
// On a busy machine a picture may take a second, and the next one then comes fifty times as long after it.
const silenceMost_ms = 180_000;

export function backOff(first_ms: number, failures: number): number {
  return Math.min(waitMost_ms, first_ms * 2 ** Math.min(failures, 20));
}

export class Live {
  private readonly follower: Follower;
  private readonly stream = { retry_ms: 2000 };
  private failures = 0;
  private wake: () => void = () => undefined;

  constructor(follower: Follower) {
    this.follower = follower;
  }

  /** Ends when the program refuses the page for good. */
  async follow(): Promise<void> {
    for (;;) {
      const why = await this.watch();
      if (why.status === 404 || why.status === 405) return this.follower.is({ is: "none" });
      if (why.status >= 400 && why.status < 500) return this.follower.is({ is: "refused", why });
      const wait_ms = backOff(this.stream.retry_ms, this.failures++);
      this.follower.is({ is: "lost", why, wait_ms });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait_ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.follower.is({ is: "connecting" });
    }
  }

  /** Does not wait any longer. */
  tryNow(): void {
    this.failures = 0;
    this.wake();
  }

  /** Shows what comes until the connection ends, and returns why it did. */
  private async watch(): Promise<ApiError> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), silenceMost_ms);
    try {
      const response = await request("api/v1/events", { signal: silence.signal });
      const isStream = (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
      if (!isStream || !response.body) return new ApiError(404, "");
      const parts = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const stream = new EventStream();
      for (;;) {
        const part = await parts.read().catch(() => null);
        if (part === null || part.done) return new ApiError(0, "");
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), silenceMost_ms);
        for (const event of stream.take(part.value)) this.show(event.name, event.data);
        this.stream.retry_ms = stream.retry_ms;
      }
    } catch (error) {
      if (error instanceof ApiError) return error;
      if (silence.signal.aborted) return new ApiError(0, "");
      return new ApiError(unreadable, error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  private show(name: string, data: string): void {
    if (name === "") return this.follower.append(data);
    if (name !== "recording") return;
    this.failures = 0;
    this.follower.open(data);
    this.follower.is({ is: "connected" });
  }
}
