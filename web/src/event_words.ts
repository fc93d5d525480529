// One sentence for each event, from its fields. An event with a text of its own is told in that text.
import { inLanguage, type Language, type SchedEvent, type State, type Words } from "./recording.ts";

type Names = {
  g: string; m: string; p: string; by: string; gs: string; from: string; to: string;
};

function namesOf(event: SchedEvent, state: State): Names {
  const label = (id: number | undefined): string =>
    id === undefined ? "" : state.gs.find((g) => g.id === id)?.label ?? `G${id}`;
  const ids = event.gs ?? (event.g === undefined ? [] : [event.g]);
  const shown = ids.slice(0, 8).map(label).join(", ") + (ids.length > 8 ? ` … (${ids.length})` : "");
  const proc = event.p ?? event.to?.p ?? event.from?.p;
  return {
    g: label(event.g ?? ids[0]), gs: shown || String(event.n ?? ""), by: label(event.by),
    m: event.m === undefined ? "" : `M${event.m}`, p: proc === undefined ? "" : `P${proc}`,
    from: placeName(event, "from", state), to: placeName(event, "to", state),
  };
}

function placeName(event: SchedEvent, which: "from" | "to", state: State): string {
  const place = event[which];
  if (!place) return "";
  if (place.kind === "waiting") return state.waiting.find((w) => w.id === place.id)?.label ?? place.id ?? "";
  return place.p === undefined ? "" : `P${place.p}`;
}

const on = (what: string, words: string): string => (what ? words : "");

function english(event: SchedEvent, n: Names): string {
  const thread = n.m || "An M";
  switch (event.kind) {
    case "create": return n.by ? `${n.by} creates ${n.g}` : `${n.g} is created`;
    case "run": return `${n.m || n.p || "The M"} runs ${n.g}${on(n.m && n.p, ` on ${n.p}`)}`;
    case "stop": return `${n.g} stops and waits${on(n.to, ` at ${n.to}`)}`;
    case "ready": return n.by ? `${n.by} readies ${n.g}` : `${n.g} is readied`;
    case "preempt": return `${n.g} is preempted${on(n.p, ` on ${n.p}`)}`;
    case "end": return `${n.g} ends`;
    case "steal": return `${thread} steals ${n.gs}${on(n.from, ` from ${n.from}`)}`;
    case "spill": return `${n.p || "The P"}'s run queue is full: ${n.gs} to the global queue`;
    case "take_global": return `${thread} takes ${n.gs} from the global queue`;
    case "call_enter": return `${n.g} enters a system call`;
    case "call_exit": return `${n.g} returns from its system call`;
    case "hand_off": return `${n.p || "The P"} is handed off${on(n.m, ` to ${n.m}`)}`;
    case "m_start": return `${thread} is started`;
    case "m_wake": return `${thread} is woken`;
    case "m_rest": return `${thread} goes to rest`;
    case "spin_begin": return `${thread} begins to spin`;
    case "spin_end": return `${thread} stops spinning`;
    case "p_take": return `${thread} takes ${n.p || "a P"}`;
    case "p_release": return `${thread} releases ${n.p || "its P"}`;
    case "timer": return `The timer of ${n.g || "a goroutine"} is due`;
    case "poll": return `The poller finds ${n.gs || "nothing"}`;
    case "note": return "Note";
  }
}

function chinese(event: SchedEvent, n: Names): string {
  const thread = n.m || "M";
  switch (event.kind) {
    case "create": return n.by ? `${n.by} 创建 ${n.g}` : `创建 ${n.g}`;
    case "run": return `${n.m || n.p || "M"} ${on(n.m && n.p, `在 ${n.p} 上`)}运行 ${n.g}`;
    case "stop": return `${n.g} 停下${on(n.to, `，在 ${n.to} `)}等待`;
    case "ready": return n.by ? `${n.by} 唤醒 ${n.g}` : `${n.g} 被唤醒`;
    case "preempt": return `${n.g} ${on(n.p, `在 ${n.p} 上`)}被抢占`;
    case "end": return `${n.g} 结束`;
    case "steal": return `${thread} ${on(n.from, `从 ${n.from} `)}偷取 ${n.gs}`;
    case "spill": return `${n.p || "P"} 的本地队列已满：${n.gs} 移入全局队列`;
    case "take_global": return `${thread} 从全局队列取 ${n.gs}`;
    case "call_enter": return `${n.g} 进入系统调用`;
    case "call_exit": return `${n.g} 从系统调用返回`;
    case "hand_off": return `${n.p || "P"} 被移交${on(n.m, `给 ${n.m}`)}`;
    case "m_start": return `启动 ${thread}`;
    case "m_wake": return `唤醒 ${thread}`;
    case "m_rest": return `${thread} 休眠`;
    case "spin_begin": return `${thread} 开始自旋`;
    case "spin_end": return `${thread} 停止自旋`;
    case "p_take": return `${thread} 获取 ${n.p || "P"}`;
    case "p_release": return `${thread} 释放 ${n.p || "P"}`;
    case "timer": return `${n.g || "goroutine"} 的定时器到期`;
    case "poll": return `轮询器找到 ${n.gs || "0 个"}`;
    case "note": return "说明";
  }
}

export function tellEvent(event: SchedEvent, state: State, language: Language): string {
  if (event.text) return inLanguage(event.text, language);
  const names = namesOf(event, state);
  return language === "zh" ? chinese(event, names) : english(event, names);
}

/** The short words on the stage beside the goroutines that move together. */
export function labelOf(event: SchedEvent, language: Language): string {
  const count = event.gs?.length ?? event.n ?? 1;
  const words: Partial<Record<SchedEvent["kind"], Words>> = {
    steal: { en: `steals ${count}`, zh: `偷取 ${count} 个` },
    spill: { en: `${count} to the global queue`, zh: `${count} 个移入全局队列` },
    take_global: { en: `takes ${count}`, zh: `取 ${count} 个` },
  };
  return inLanguage(words[event.kind], language);
}
