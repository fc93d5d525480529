// A small but complete recording, written by hand: every state of Gs, Ms and Ps, every kind of waiting place, and most
// kinds of events. The tests play it, and the screenshots show it as long as there is no recording of the scheduler.
import type {
  Goroutine, GoroutineState, Part, Proc, Recording, SchedEvent, SourceLines, State, Step, Thread, ThreadState,
  WaitingKind, Words,
} from "../src/recording.ts";

type ShortProc = { m?: number; g?: number; next?: number; ring?: number[]; status?: Proc["status"] };

type Short = {
  global?: number[];
  p: ShortProc[];
  ms: Record<number, ThreadState>;
  calls?: Record<number, number>;              // M: the G in the call
  waiting?: Record<string, number[]>;
  gs?: Record<number, GoroutineState>;         // states that do not follow from the place
  dead?: number[];
  stray?: number[];
};

const places: Record<string, { kind: WaitingKind; label: string; reason: string }> = {
  c: { kind: "chan", label: "channel c", reason: "chan receive" },
  mu: { kind: "mutex", label: "mutex", reason: "mutex" },
  t: { kind: "timer", label: "timers", reason: "sleep" },
  net: { kind: "poller", label: "network poller", reason: "IO wait" },
};

const entries: Record<number, string> = { 1: "main", 2: "spawner", 8: "worker", 9: "worker" };

function expand(short: Short): State {
  const gs = new Map<number, Goroutine>();
  const add = (id: number, state: GoroutineState, place?: string): void => {
    const g: Goroutine = { id, label: `G${id}`, state: short.gs?.[id] ?? state, entry: entries[id] ?? "work" };
    if (place) {
      g.place = place;
      g.reason = places[place]!.reason;
      g.stack = [`thrum::chan<int>::recv at include/thrum/chan.h:120`, `${g.entry} at examples/scene.cpp:${id}`];
    }
    gs.set(id, g);
  };
  const procs = short.p.map((p, id): Proc => {
    if (p.g !== undefined) add(p.g, "running");
    for (const g of [...(p.next === undefined ? [] : [p.next]), ...(p.ring ?? [])]) add(g, "runnable");
    return {
      id, status: p.status ?? (p.m === undefined ? "idle" : "running"), m: p.m ?? null, running: p.g ?? null,
      next: p.next ?? null, ring: p.ring ?? [],
    };
  });
  for (const g of short.global ?? []) add(g, "runnable");
  for (const g of short.stray ?? []) add(g, "new");
  for (const g of short.dead ?? []) add(g, "dead");
  for (const [place, ids] of Object.entries(short.waiting ?? {})) for (const g of ids) add(g, "waiting", place);
  for (const g of Object.values(short.calls ?? {})) add(g, "in_call");
  const ms = Object.entries(short.ms).map(([id, state]): Thread => {
    const p = procs.find((each) => each.m === Number(id));
    return { id: Number(id), state, p: p ? p.id : null, g: p?.running ?? short.calls?.[Number(id)] ?? null };
  });
  return {
    global: short.global ?? [], procs, ms, gs: [...gs.values()].sort((a, b) => a.id - b.id),
    waiting: Object.entries(short.waiting ?? {}).map(([id, ids]) =>
      ({ id, kind: places[id]!.kind, label: places[id]!.label, gs: ids })),
  };
}

function makePart(
  id: string, title: Words, story: Words, steps: [Words, SchedEvent[], Short, SourceLines?][],
): Part {
  return {
    id, title, story, procs: 4, queue_size: 4,
    steps: steps.map(([text, events, short, source], t): Step =>
      ({ t, text, events, state: expand(short), source: source ? [source] : [] })),
  };
}

const source = (file: string, name: string, line: number, ...lines: string[]): SourceLines =>
  ({ file, function: name, line, lines });

const idle: ShortProc = {};
const putSlow = source("src/thrum/core/queues.cpp", "put_slow", 42,
  "// The older half and the new G go to the global queue in one batch.", "auto batch = ring.take_half();",
  "batch.push_back(g);", "global.append(batch);");

const spill = makePart("S37_05_spill",
  { en: "A full run queue spills into the global queue", zh: "本地队列满，溢出到全局队列" },
  { en: "G2 keeps creating goroutines on P0, whose run queue holds four. The goroutine that no longer fits takes the " +
        "older half of the queue with it to the global queue.",
    zh: "G2 在 P0 上不断创建 G。本地队列只能放四个，放不下的 G 与较老的一半一起进入全局队列。" },
  [
    [{ en: "G2 runs on P0. It has created G3 to G7; G7 stands in runnext.",
       zh: "G2 在 P0 上运行，已创建 G3–G7，G7 在 runnext。" },
     [], { p: [{ m: 1, g: 2, next: 7, ring: [3, 4, 5, 6] }, idle, idle, idle], ms: { 1: "running", 2: "resting" } }],
    [{ en: "G2 creates G8, which takes runnext. G7 does not fit into the full queue, so it goes to the global queue " +
           "with the older half, G3 and G4.",
       zh: "G2 创建 G8，G8 占据 runnext。G7 放不进已满的队列，于是和较老的一半 G3、G4 一起进入全局队列。" },
     [{ kind: "create", g: 8, by: 2, p: 0, m: 1, to: { kind: "next", p: 0 } },
      { kind: "spill", p: 0, gs: [3, 4, 7], from: { kind: "ring", p: 0 }, to: { kind: "global" } }],
     { global: [3, 4, 7], p: [{ m: 1, g: 2, next: 8, ring: [5, 6] }, idle, idle, idle],
       ms: { 1: "running", 2: "resting" } }, putSlow],
    [{ en: "P1 is idle and work was published, so M2 is woken. It takes P1 and spins: it looks for work.",
       zh: "P1 空闲且有新任务，于是唤醒 M2。M2 获取 P1 并自旋，寻找任务。" },
     [{ kind: "m_wake", m: 2, p: 1 }, { kind: "p_take", m: 2, p: 1 }, { kind: "spin_begin", m: 2, p: 1 }],
     { global: [3, 4, 7], p: [{ m: 1, g: 2, next: 8, ring: [5, 6] }, { m: 2 }, idle, idle],
       ms: { 1: "running", 2: "spinning" } },
     source("src/thrum/sched/wake.cpp", "wake_if_idle", 31, "if (sched.spinning() == 0 && sched.has_idle_p()) {",
            "  start_m(idle_p(), spinning::yes);", "}")],
    [{ en: "M2 takes min(3, 3/4 + 1, 4/2) = 1 goroutine from the global queue and runs it: G3.",
       zh: "M2 从全局队列取 min(3, 3/4 + 1, 4/2) = 1 个 G 并运行：G3。" },
     [{ kind: "take_global", m: 2, p: 1, gs: [3], n: 1, from: { kind: "global" } },
      { kind: "spin_end", m: 2 }, { kind: "run", g: 3, m: 2, p: 1 }],
     { global: [4, 7], p: [{ m: 1, g: 2, next: 8, ring: [5, 6] }, { m: 2, g: 3 }, idle, idle],
       ms: { 1: "running", 2: "running" } },
     source("src/thrum/sched/find_runnable.cpp", "take_global_batch", 88,
            "const auto n = std::min({len, len / procs + 1, capacity / 2});")],
    [{ en: "G3, then G4 and G7 have ended. M2 finds nothing in any queue but P0's, so it steals the older half: G5.",
       zh: "G3、G4、G7 均已结束。除 P0 外各队列皆空，M2 偷取较老的一半：G5。" },
     [{ kind: "end", g: 3 }, { kind: "steal", m: 2, p: 1, gs: [5], n: 1, from: { kind: "ring", p: 0 } },
      { kind: "run", g: 5, m: 2, p: 1 }],
     { p: [{ m: 1, g: 2, next: 8, ring: [6] }, { m: 2, g: 5 }, idle, idle],
       ms: { 1: "running", 2: "running" }, dead: [3, 4, 7] }],
  ]);

const call = makePart("S37_10_call",
  { en: "A goroutine blocks in a system call", zh: "G 发生阻塞的系统调用" },

        { en: "G8 makes a system call that blocks. Its M goes into the kernel with it, and the P is handed off to " +
        "another M, so G9 does not wait.",
    zh: "G8 进行阻塞的系统调用，它的 M 一同进入内核。P 移交给另一个 M，G9 无需等待。" },
  [
    [{ en: "G8 runs on P1 and has created G9. M3 spins on P2, M5 rests.", zh: "G8 在 P1 上运行并已创建 G9。M3 在 P2 上自旋，M5 休眠。" },
     [], { p: [{ m: 1, g: 2 }, { m: 2, g: 8, ring: [9] }, { m: 3 }, idle],
           ms: { 1: "running", 2: "running", 3: "spinning", 5: "resting" } }],
    [{ en: "G8 announces a short call. P1 keeps its status for the return.", zh: "G8 声明一次短调用，P1 保留状态等待返回。" },
     [{ kind: "call_enter", g: 8, m: 2, p: 1 }],
     { p: [{ m: 1, g: 2 }, { m: 2, g: 8, ring: [9], status: "in_call" }, { m: 3 }, idle],
       ms: { 1: "running", 2: "in_call", 3: "spinning", 5: "resting" }, gs: { 8: "in_call" } }],
    [{ en: "The call takes long, so sysmon takes P1 and hands it off to M5, because G9 waits in its queue.",
       zh: "调用时间过长，sysmon 收回 P1 并移交给 M5，因为 G9 还在队列里。" },
     [{ kind: "hand_off", p: 1, m: 5 }, { kind: "m_wake", m: 5, p: 1 }],
     { p: [{ m: 1, g: 2 }, { m: 5, ring: [9] }, { m: 3 }, idle],
       ms: { 1: "running", 2: "in_call", 3: "spinning", 5: "starting" }, calls: { 2: 8 } },
     source("src/thrum/sys/retake.cpp", "retake", 120, "if (p->has_work()) hand_off(p);")],
    [{ en: "M5 runs G9.", zh: "M5 运行 G9。" },
     [{ kind: "run", g: 9, m: 5, p: 1 }],
     { p: [{ m: 1, g: 2 }, { m: 5, g: 9 }, { m: 3 }, idle],
       ms: { 1: "running", 2: "in_call", 3: "spinning", 5: "running" }, calls: { 2: 8 } }],
    [{ en: "G8 returns. P1 is taken, but P3 is idle, so M2 takes P3 and G8 goes on.",
       zh: "G8 返回。P1 已被占用，而 P3 空闲，M2 获取 P3，G8 继续运行。" },
     [{ kind: "call_exit", g: 8, m: 2 }, { kind: "p_take", m: 2, p: 3 }],
     { p: [{ m: 1, g: 2 }, { m: 5, g: 9 }, { m: 3 }, { m: 2, g: 8 }],
       ms: { 1: "running", 2: "running", 3: "spinning", 5: "running" } }],
    [{ en: "M3 has found nothing. It gives P2 up and rests.", zh: "M3 没有找到任务，释放 P2 并休眠。" },
     [{ kind: "spin_end", m: 3 }, { kind: "p_release", m: 3, p: 2 }, { kind: "m_rest", m: 3 }],
     { p: [{ m: 1, g: 2 }, { m: 5, g: 9 }, idle, { m: 2, g: 8 }],
       ms: { 1: "running", 2: "running", 3: "resting", 5: "running" } }],
  ]);

const waits = makePart("S37_12_waits",
  { en: "Where goroutines wait", zh: "G 在哪里等待" },

        { en: "A goroutine that waits for a channel, a lock, a timer or a socket costs no thread. Its M goes on with " +
        "another goroutine.",
    zh: "等待通道、锁、定时器或套接字的 G 不占用线程，M 继续运行其他 G。" },
  [
    [{ en: "Two goroutines sleep, one waits for a socket, one for a lock. M4 keeps the time.",
       zh: "两个 G 在睡眠，一个等待套接字，一个等待锁。M4 负责计时。" },
     [], { p: [{ m: 1, g: 1, ring: [10] }, { m: 2, g: 2 }, idle, idle],
           ms: { 1: "running", 2: "running", 4: "timekeeper", 5: "resting" },
           waiting: { c: [], mu: [14], t: [11, 12], net: [13] }, stray: [15] }],
    [{ en: "G1 receives from the empty channel c and parks. M1 runs G10.", zh: "G1 从空通道 c 接收并挂起，M1 运行 G10。" },
     [{ kind: "stop", g: 1, p: 0, m: 1, to: { kind: "waiting", id: "c" } }, { kind: "run", g: 10, m: 1, p: 0 }],
     { p: [{ m: 1, g: 10 }, { m: 2, g: 2 }, idle, idle],
       ms: { 1: "running", 2: "running", 4: "timekeeper", 5: "resting" },
       waiting: { c: [1], mu: [14], t: [11, 12], net: [13] }, stray: [15] }],
    [{ en: "The timer of G11 is due, and the poller finds G13's socket readable.", zh: "G11 的定时器到期，轮询器发现 G13 的套接字可读。" },
     [{ kind: "timer", g: 11, from: { kind: "waiting", id: "t" }, to: { kind: "ring", p: 1 } },
      { kind: "poll", gs: [13], from: { kind: "waiting", id: "net" }, to: { kind: "global" } }],
     { global: [13], p: [{ m: 1, g: 10 }, { m: 2, g: 2, ring: [11] }, idle, idle],
       ms: { 1: "running", 2: "running", 4: "timekeeper", 5: "resting" },
       waiting: { c: [1], mu: [14], t: [12], net: [] }, stray: [15] }],
    [{ en: "G2 sends on c. G1 is readied into runnext of P1, and G15 is put into the global queue.",
       zh: "G2 向 c 发送，G1 被唤醒并进入 P1 的 runnext；G15 进入全局队列。" },
     [{ kind: "ready", g: 1, by: 2, from: { kind: "waiting", id: "c" }, to: { kind: "next", p: 1 } },
      { kind: "note", g: 15, text: { en: "G15 begins its life", zh: "G15 开始运行" } }],
     { global: [13, 15], p: [{ m: 1, g: 10 }, { m: 2, g: 2, next: 1, ring: [11] }, idle, idle],
       ms: { 1: "running", 2: "running", 4: "timekeeper", 5: "resting" },
       waiting: { c: [], mu: [14], t: [12], net: [] } }],
    [{ en: "G10 has run for 10 ms. It is preempted and goes to the tail of the global queue.",
       zh: "G10 已运行 10 毫秒，被抢占并放到全局队列尾部。" },
     [{ kind: "preempt", g: 10, p: 0, m: 1, to: { kind: "global" } },
      { kind: "take_global", m: 1, p: 0, gs: [13], n: 1 }, { kind: "run", g: 13, m: 1, p: 0 }],
     { global: [15, 10], p: [{ m: 1, g: 13 }, { m: 2, g: 2, next: 1, ring: [11] }, idle, { status: "stopped" }],
       ms: { 1: "running", 2: "running", 4: "timekeeper", 5: "resting" }, gs: { 10: "preempted" },
       waiting: { c: [], mu: [14], t: [12], net: [] } }],
  ]);

export function sample(): Recording {
  return {
    format: "thrum-recording", version: 1, kind: "scenes", clock: "steps",
    title: { en: "The scheduler in scenes", zh: "调度器的场景" },
    parts: [spill, call, waits],
  };
}
