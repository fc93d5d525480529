// Reads server-sent events from the parts in which they come. The page does that itself, because an EventSource tells
// no status and does not try again after one, and because it takes events from a program faster than it shows them.
export type StreamEvent = { name: string; data: string };

export class EventStream {
  private rest = "";
  private name = "";
  private data: string[] = [];
  /** How long the program wants its viewers to wait before they connect again. */
  retry_ms = 2000;

  /** The events that are complete with this part. */
  take(part: string): StreamEvent[] {
    const lines = (this.rest + part).split("\n");
    this.rest = lines.pop() ?? "";
    const events: StreamEvent[] = [];
    for (const line of lines) {
      if (line === "" || line === "\r") {
        if (this.data.length > 0) events.push({ name: this.name, data: this.data.join("\n") });
        this.name = "";
        this.data = [];
      } else {
        this.takeLine(line.endsWith("\r") ? line.slice(0, -1) : line);
      }
    }
    return events;
  }

  private takeLine(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "retry" && /^\d+$/.test(value)) this.retry_ms = Number(value);
  }
}
