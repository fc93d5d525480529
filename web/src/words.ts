// Every text of the page itself, in English and in Chinese. The texts of a recording are in the recording.
import type { Language } from "./recording.ts";

const en = {
  other_language: "中文", theme_dark: "Dark", theme_light: "Light", help: "Help", search: "Find a goroutine",
  scenes: "Scenes", scene_of: "Scene {n} of {all}", recorded_trace: "Trace", played_scenario: "Playground",
  live_program: "Live program",
  step_of: "Step {n} of {all}", steps: "Steps", what_happens: "Events", source: "Source of this step",
  scenario: "The scenario", no_source: "This step has no source lines.",
  play: "Play", pause: "Pause", back: "Step back", step: "Step", first: "To the beginning", last: "To the end",
  replay: "Play again", speed: "Speed", position: "Position", zoom_in: "Zoom in", zoom_out: "Zoom out", fit: "Fit",
  stage: "The scheduler", key: "Key", as_text: "The machine in words", close: "Close",
  global: "global queue", head: "head", runnext: "runnext", ring: "run queue", threads: "Ms without a P",
  calls: "in system calls", elsewhere: "not in a queue", empty_seat: "no M",
  wait_chan: "channel", wait_mutex: "lock", wait_timer: "timers", wait_poller: "network poller",
  wait_call: "call", wait_other: "waiting",
  g_new: "new", g_runnable: "runnable", g_running: "running", g_waiting: "waiting", g_in_call: "in a call",
  g_preempted: "preempted", g_dead: "ended",
  m_running: "running", m_spinning: "spinning", m_resting: "resting", m_in_call: "in a call",
  m_timekeeper: "timekeeper", m_starting: "starting",
  p_idle: "idle", p_running: "running", p_in_call: "in a call", p_stopped: "stopped",
  goroutine: "Goroutine", state: "State", entry: "Function", reason: "Waits for", where: "Where", history: "History",
  stack: "Stack", nothing_found: "No goroutine matches.", found: "{n} found", not_there: "not alive at this step",
  in_global: "in the global queue, number {n}", in_ring: "in the run queue of P{p}, number {n}",
  in_next: "in runnext of P{p}", on_p: "on P{p}", on_m: "on M{m}, without a P", in_waiting: "waiting at {id}",
  nowhere: "in no queue", created_by: "created by {g}", bad: "This recording cannot be played",
  nothing_embedded: "Open a recording", open: "Choose a file", live: "live", not_connected: "not connected",
  open_hint: "This page plays recordings of thrum's scheduler. Choose a file, or drop one here.",
  keys_title: "Keyboard", keys_space: "play or pause", keys_arrows: "step back, step", keys_home: "first and last step",
  keys_scene: "scene before, next scene", keys_speed: "slower, faster", keys_search: "find a goroutine",
  keys_zoom: "zoom in, zoom out, fit", keys_lang: "language", keys_theme: "light or dark", keys_help: "this help",
  keys_close: "close what is open", drag: "Drag the stage to move it. Ctrl and the wheel, or two fingers, zoom.",
  about_g: "A circle is a goroutine (G).", about_m: "A triangle is a thread (M). The G inside it is the one it runs.",
  about_p: "A rectangle is a processor (P). An M needs one to run goroutines.",
  empty: "empty", none: "none", key_fresh: "moved in this step",
};

export type WordKey = keyof typeof en;

const zh: Record<WordKey, string> = {
  other_language: "English", theme_dark: "深色", theme_light: "浅色", help: "帮助", search: "查找 goroutine",
  scenes: "场景", scene_of: "场景 {n}，共 {all} 个", recorded_trace: "跟踪记录", played_scenario: "演练场",
  live_program: "运行中的程序",
  step_of: "第 {n} 步，共 {all} 步", steps: "步骤", what_happens: "事件", source: "本步的源代码",
  scenario: "脚本", no_source: "本步没有源代码。",
  play: "播放", pause: "暂停", back: "后退一步", step: "前进一步", first: "回到开头", last: "跳到结尾",
  replay: "重新播放", speed: "速度", position: "位置", zoom_in: "放大", zoom_out: "缩小", fit: "适应窗口",
  stage: "调度器", key: "图例", as_text: "用文字描述", close: "关闭",
  global: "全局队列", head: "队头", runnext: "runnext", ring: "本地队列", threads: "没有 P 的 M",
  calls: "系统调用中", elsewhere: "不在队列中", empty_seat: "没有 M",
  wait_chan: "通道", wait_mutex: "锁", wait_timer: "定时器", wait_poller: "网络轮询器", wait_call: "调用",
  wait_other: "等待",
  g_new: "新建", g_runnable: "可运行", g_running: "运行中", g_waiting: "等待中", g_in_call: "系统调用中",
  g_preempted: "被抢占", g_dead: "已结束",
  m_running: "运行中", m_spinning: "自旋", m_resting: "休眠", m_in_call: "系统调用中", m_timekeeper: "计时",
  m_starting: "启动中",
  p_idle: "空闲", p_running: "运行中", p_in_call: "系统调用中", p_stopped: "停止",
  goroutine: "Goroutine", state: "状态", entry: "函数", reason: "等待原因", where: "位置", history: "历史",
  stack: "调用栈", nothing_found: "没有匹配的 goroutine。", found: "找到 {n} 个", not_there: "此步中不存在",
  in_global: "在全局队列，第 {n} 个", in_ring: "在 P{p} 的本地队列，第 {n} 个", in_next: "在 P{p} 的 runnext",
  on_p: "在 P{p} 上", on_m: "在 M{m} 上，没有 P", in_waiting: "在 {id} 等待", nowhere: "不在任何队列",
  created_by: "由 {g} 创建", bad: "无法播放此记录", nothing_embedded: "打开记录", open: "选择文件", live: "实时", not_connected: "未连接",
  open_hint: "本页面播放 thrum 调度器的记录。请选择文件，或把文件拖到这里。",
  keys_title: "键盘", keys_space: "播放或暂停", keys_arrows: "后退一步、前进一步", keys_home: "第一步、最后一步",
  keys_scene: "上一个场景、下一个场景", keys_speed: "减速、加速", keys_search: "查找 goroutine",
  keys_zoom: "放大、缩小、适应窗口", keys_lang: "语言", keys_theme: "浅色或深色", keys_help: "本帮助",
  keys_close: "关闭已打开的面板", drag: "拖动可移动画面；Ctrl 加滚轮或双指可缩放。",
  about_g: "圆形是 goroutine（G）。", about_m: "三角形是线程（M），里面的 G 是它正在运行的。",
  about_p: "矩形是处理器（P），M 需要 P 才能运行 G。",
  empty: "空", none: "无", key_fresh: "本步中移动过",
};

const tables: Record<Language, Record<WordKey, string>> = { en, zh };

/** The text with its {names} replaced. */
export function say(language: Language, key: WordKey, values: Record<string, string | number> = {}): string {
  return tables[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
