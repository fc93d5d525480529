// What the live view asks the program for and how it writes it, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, credentials, pauseAfter, tellError, unreadable } from "../src/api.ts";
import { EventStream } from "../src/event_stream.ts";
import { shortBytes, shortName, shortNumber, shortPath, shortTime } from "../src/format.ts";
import { addressOf, askInto, firstAsk, pageOf, tableOf, type Table } from "../src/goroutines.ts";
import { backOff } from "../src/live.ts";

test("the token goes with each request, but not in its address", () => {
  assert.deepEqual(credentials(""), {});
  assert.deepEqual(credentials("?a=b"), {});
  assert.deepEqual(credentials("?token=a%26b"), { Authorization: "Bearer a&b" });
});

test("an error is told with what the program has said", () => {
  assert.match(tellError(new ApiError(409, "another client is at it"), "en"), /^Another client.*\(another client/);
  assert.match(tellError(new ApiError(0, ""), "en"), /^The program does not answer\.$/);
  assert.match(tellError(new ApiError(unreadable, "no steps"), "en"), /^The page cannot read.*\(no steps\)$/);
  assert.match(tellError(new ApiError(418, ""), "en"), /status 418/);
});

test("events are read from any parts", () => {
  const text = 'retry: 10\n\nevent: recording\ndata: {"a":\ndata: 1}\n\n: a remark\ndata:x\r\n\r\n' +
    "event: other\n\ndata: y";
  const expected = [{ name: "recording", data: '{"a":\n1}' }, { name: "", data: "x" }];
  for (const size of [1, 2, 7, text.length]) {
    const stream = new EventStream();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...stream.take(text.slice(at, at + size)));
    assert.deepEqual(events, expected, `in parts of ${size}`);
    assert.equal(stream.retry_ms, 10);
  }
});

test("the page waits longer each time that it is refused, but not for ever", () => {
  assert.deepEqual([0, 1, 2, 3].map((failures) => backOff(2000, failures)), [2000, 4000, 8000, 16_000]);
  assert.equal(backOff(2000, 1000), 30_000);
  assert.equal(pauseAfter(1, 2000, 20), 2000);
  assert.equal(pauseAfter(500, 2000, 20), 10_000);
  assert.equal(pauseAfter(1e9, 2000, 20), 60_000);
});

test("numbers are short", () => {
  assert.deepEqual([0, 7, 0.25, 999, 1000, 12_345, 4_700_000, 999_999].map(shortNumber),
                   ["0", "7", "0.3", "999", "1.0 k", "12 k", "4.7 M", "1.0 M"]);
  assert.deepEqual([0, 320, 1280, 83.9e6, 41e9, 600e9, 7200e9].map(shortTime),
                   ["0 ns", "320 ns", "1.3 µs", "84 ms", "41 s", "10 min", "2 h"]);
  assert.deepEqual([12, 2048, 5 << 20].map(shortBytes), ["12 B", "2.0 KiB", "5.0 MiB"]);
  const text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  assert.equal(shortName(`f(int, ${text} const&)`), "f(int, std::string const&)");
  assert.equal(shortPath("/build/release/../../src/server.cpp"), "src/server.cpp");
});

test("the table asks for a page, and for all groups when it makes those by state", () => {
  const values = (address: string): Record<string, string> =>
    Object.fromEntries(new URL(address, "http://a").searchParams);
  assert.deepEqual(values(addressOf(firstAsk)), { limit: "100", offset: "0" });
  assert.deepEqual(values(addressOf({ view: "place", search: "a&b", longestFirst: true, offset: 200 })),
                   { limit: "100", offset: "200", search: "a&b", sort: "wait", group: "place" });
  assert.deepEqual(values(addressOf({ ...firstAsk, view: "state", offset: 100 })),
                   { limit: "10000", offset: "0", group: "place" });
  assert(addressOf({ ...firstAsk, search: "x".repeat(10_000) }).length < 1000, "a request may have a limit");
});

test("groups by state are the sums of those by place", () => {
  const groups = [{ count: 3, state: "waiting", reason: "sleep", longest_ns: 5, created_at: "a" },
                  { count: 9, state: "running", created_at: "a" },
                  { count: 7, state: "waiting", reason: "sleep", longest_ns: 8, created_at: "b" }];
  const answer = { total: 19, matching: 3, groups };
  const table = tableOf(answer, { ...firstAsk, view: "state" });
  assert.deepEqual(table, { total: 19, matching: 2, entries: [
    { state: "waiting", reason: "sleep", count: 10, waits_ns: 8 }, { state: "running", count: 9, waits_ns: 0 }] });
  assert.equal(askInto({ ...groups[0]!, state: "waiting" }).search, "a");
  assert.equal(askInto(table.entries[0]!).search, "sleep");
  assert.equal(askInto(table.entries[1]!).search, "running");
});

test("the pages end where the program's answers end", () => {
  const entries = Array.from({ length: 100 }, (_, id) => ({ id, state: "waiting" }));
  const table: Table = { total: 1e6, matching: 1e6, entries };
  assert.deepEqual(pageOf(firstAsk, table), { from: 1, to: 100, before: null, after: 100 });
  assert.deepEqual(pageOf({ ...firstAsk, offset: 100_000 }, table),
                   { from: 100_001, to: 100_100, before: 99_900, after: null });
  assert.deepEqual(pageOf(firstAsk, { total: 5, matching: 0, entries: [] }), { from: 0, to: 0, before: null,
                                                                                after: null });
});
