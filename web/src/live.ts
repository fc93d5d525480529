// Follows the program that served the page: docs/live_view.md. The browser connects again by itself when the connection
// is lost, and the program then begins with a new recording.
export interface Follower {
  open: (recording: string) => void;
  append: (step: string) => void;
  /** The first recording has come, the connection was lost, or there is no program. */
  is: (state: "connected" | "lost" | "refused") => void;
}

/** The token of the page's own address goes with each request. */
export function eventsAddress(search: string): string {
  const token = new URLSearchParams(search).get("token");
  return token === null ? "api/v1/events" : `api/v1/events?token=${encodeURIComponent(token)}`;
}

export function follow(follower: Follower): void {
  const events = new EventSource(eventsAddress(location.search));
  events.addEventListener("recording", (event) => {
    follower.open((event as MessageEvent<string>).data);
    follower.is("connected");
  });
  events.addEventListener("message", (event) => follower.append((event as MessageEvent<string>).data));
  events.addEventListener("error", () => follower.is(events.readyState === EventSource.CLOSED ? "refused" : "lost"));
}
