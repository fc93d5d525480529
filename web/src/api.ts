// The requests to the program that serves the page: docs/live_view.md.
import type { Language } from "./recording.ts";
import { say, type WordKey } from "./words.ts";

/** What came from the program is not what the page can show. */
export const unreadable = -1;

/** The program has refused a request, has not answered (then the status is 0), or what it sent is unreadable. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, said: string) {
    super(said);
    this.status = status;
  }
}

/** The token of the page's own address goes with each request, but not in its address. */
export function credentials(search: string): Record<string, string> {
  const token = new URLSearchParams(search).get("token");
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

export async function request(path: string, options: { method?: string; signal?: AbortSignal } = {}):
    Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { cache: "no-store", ...options, headers: credentials(location.search) });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "");
  }
  if (!response.ok) throw new ApiError(response.status, await reasonOf(response));
  return response;
}

/** The whole answer. The program may go away while it sends one. */
export async function whole<T>(part: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await part;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "");
  }
}

async function reasonOf(response: Response): Promise<string> {
  try {
    const { error } = await response.json() as { error?: unknown };
    return typeof error === "string" ? error : "";
  } catch {
    return "";   // a program between the page and thrum may answer with anything
  }
}

const told: Record<number, WordKey> = {
  [unreadable]: "error_unreadable",
  0: "error_no_answer", 401: "error_token", 403: "error_forbidden", 404: "error_gone", 409: "error_taken",
  503: "error_busy",
};

/** The error in words, with those of the program. */
export function tellError(error: ApiError, language: Language): string {
  const words = say(language, told[error.status] ?? "error_other", { status: error.status });
  return error.message === "" ? words : `${words} (${error.message})`;
}

/** How long to wait before the next look, which is long if looking takes long. */
export function pauseAfter(took_ms: number, least_ms: number, times: number): number {
  return Math.min(60_000, Math.max(least_ms, took_ms * times));
}
