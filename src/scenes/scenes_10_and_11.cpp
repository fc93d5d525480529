#include "scenes/scenes_10_and_11.h"

#include <utility>

namespace thrum::scenes {

using rt::trace::gate;

void play_scene_10(director& d) {
  d.begin_part(
      "S37_10_a_blocking_system_call", {"Scene 10: a blocking system call", "场景 10：阻塞的系统调用"},
      {"M3 and M4 spin, M5 and M6 rest. G8 creates G9 and enters a system call that is declared long. Its "
       "thread, M2, blocks in the kernel with it, so P2 is handed off at once. G9 waits on P2, therefore an M "
       "is started for it: M5. Had there been no work, P2 would have become idle.",
       "M3、M4 自旋，M5、M6 休眠。G8 创建 G9，然后进入一次声明为长时间的系统调用。线程 M2 随它一起阻塞在内核里，"
       "所以 P2 立刻被移交。P2 上有 G9 在等待，于是唤醒一个 M 来接管：M5。如果没有工作，P2 就会变为空闲。"},
      {"M2 runs G8 on P2.", "M2 在 P2 上运行 G8。"});
  d.on.tell_to_create(8, 9);
  d.on.await_command_of(8);
  d.step({"G8 creates G9, which goes into runnext of P2. M3 and M4 search already, so no M is woken.",
          "G8 创建 G9，G9 进入 P2 的 runnext。M3、M4 已经在寻找，所以不唤醒新的 M。"},
         {{"sched/runnable.h", "make_unstarted_runnable"}, {"sched/wake.h", "start_m_if_p_is_idle"}});
  d.on.tell_to_call(8, true);
  d.on.await_in_call(8);
  d.on.await_at(5, gate::search);
  d.step(
      {"G8 enters the system call. M2 and G8 go without P2. P2 has work, so M5 is woken and takes it.",
       "G8 进入系统调用。M2 和 G8 离开 P2。P2 有工作，所以唤醒 M5 来接管它。"},
      {{"sys/blocking.cpp", "give_p_away"}, {"sched/threads.cpp", "hand_off"}, {"sched/wake.cpp", "start_m_locked"}});
  d.on.let_pass(5);
  d.on.await_command_of(9);
  d.step({"M5 runs G9.", "M5 运行 G9。"}, {{"sched/pick.h", "take_local"}, {"sched/pick.h", "begin_run"}});
  d.on.tell_to_end(9);
  d.on.await_at(5, gate::search);
  d.on.let_rest(5);
  d.step({"G9 has ended. Two Ms spin already, so M5 does not: it gives P2 up and rests. P2 is idle.",
          "G9 结束。已经有两个 M 在自旋，所以 M5 不再自旋：它放弃 P2 并休眠。P2 空闲。"},
         {{"sched/find_runnable.cpp", "may_spin"}, {"sched/find_runnable.cpp", "give_up_p_unless_wanted"}});
  d.on.let_call_return(8);
  d.on.await_command_of(8);
  d.step({"The call returns. M2 has no P to come back to, but P2 is idle, so M2 takes it and G8 goes on.",
          "系统调用返回。M2 没有记住的 P，但 P2 正好空闲，所以 M2 取得它，G8 继续运行。"},
         {{"sys/blocking.cpp", "come_back_with_idle_p"}, {"sys/blocking.cpp", "take_idle_p_locked"}});
}

namespace {

// G8, which runs on M2, enters a short call while `waiting` stands in the queue of its P. sysmon finds the P in the
// call twice and hands it to M `heir`, which runs `waiting`.
void lose_p_in_call(director& d, int waiting, int heir, words called, words taken) {
  d.on.tell_to_create(8, waiting);
  d.on.tell_to_call(8, false);
  d.on.await_in_call(8);
  d.step(std::move(called), {{"sys/blocking.cpp", "leave_p_claimable"}});
  d.on.let_sysmon_look();
  d.on.let_sysmon_look();
  d.on.await_at(heir, gate::search);
  d.on.let_pass(heir);
  d.on.await_command_of(waiting);
  d.step(std::move(taken), {{"sys/sysmon.cpp", "look_at_syscall"},
                            {"sys/sysmon.cpp", "look_at_syscalls"},
                            {"sched/threads.cpp", "hand_off"}});
}

}  // namespace

void play_scene_11(director& d) {
  d.begin_part(
      "S37_11_a_short_system_call", {"Scene 11: a short system call", "场景 11：非阻塞的系统调用"},
      {"Most system calls are short. So M2 leaves P2 without giving it away, and remembers it: on its way back "
       "it usually finds P2 where it was, and takes it without a lock. But if others need P2, sysmon hands it "
       "to another M. Then M2 looks for an idle P; and if there is none, G8 goes to the global queue and M2 "
       "rests. This scene shows the three ways back.",
       "大多数系统调用都很短。所以 M2 离开 P2 时并不把它交出去，而是记住它：返回时通常 P2 还在，不加锁就能取回。"
       "但如果别人需要 P2，sysmon 会把它交给另一个 M。这时 M2 去找空闲的 P；如果也没有，G8 进入全局队列，M2 休眠。"
       "这个场景展示这三条返回的路。"},
      {"M2 runs G8 on P2. M3 and M4 spin.", "M2 在 P2 上运行 G8。M3、M4 自旋。"});
  d.on.let_rest(4);
  d.step({"M4 has searched in vain. It gives P4 up and rests.", "M4 没有找到工作。它放弃 P4 并休眠。"},
         {{"sched/find_runnable.cpp", "give_up_p_unless_wanted"}, {"sched/threads.cpp", "rest_until_p_locked"}});
  d.on.tell_to_call(8, false);
  d.on.await_in_call(8);
  d.step({"G8 enters a short call. P2 is marked as being in a call, and M2 remembers it.",
          "G8 进入一次短的系统调用。P2 被标记为处于系统调用中，M2 记住它。"},
         {{"sys/blocking.cpp", "leave_p_claimable"}});
  d.on.let_call_return(8);
  d.on.await_command_of(8);
  d.step({"The first way back: P2 is still there. M2 takes it, and G8 goes on.",
          "第一条路：P2 还在。M2 取回它，G8 继续运行。"},
         {{"sys/blocking.cpp", "take_old_p"}});
  lose_p_in_call(d, 10, 4,
                 {"G8 has created G10 and enters another call. G10 waits on P2.",
                  "G8 创建了 G10，又进入一次系统调用。G10 在 P2 上等待。"},
                 {"sysmon has seen the same call twice and takes P2, because G10 waits there. M4 runs G10.",
                  "sysmon 两次看到同一个系统调用，而 G10 在等待，于是取走 P2。M4 运行 G10。"});
  d.on.let_call_return(8);
  d.on.await_command_of(8);
  d.step({"The second way back: P2 is gone, but P4 is idle. M2 takes P4, and G8 goes on.",
          "第二条路：P2 已被取走，但 P4 空闲。M2 取得 P4，G8 继续运行。"},
         {{"sys/blocking.cpp", "come_back_with_idle_p"}, {"sys/blocking.cpp", "take_idle_p_locked"}});
  lose_p_in_call(
      d, 11, 5,
      {"G8 has created G11 and enters a third call. G11 waits on P4.",
       "G8 创建了 G11，第三次进入系统调用。G11 在 P4 上等待。"},
      {"sysmon takes P4 for G11, which M5 runs. No P is idle.", "sysmon 为 G11 取走 P4，由 M5 运行。没有空闲的 P。"});
  d.on.let_call_return(8);
  d.on.await_rest(2);
  d.step({"The third way back: no P is to be had. G8 goes to the global queue, and M2 rests.",
          "第三条路：没有可用的 P。G8 进入全局队列，M2 休眠。"},
         {{"sys/blocking.cpp", "commit_return"}, {"sched/threads.cpp", "rest_until_p_locked"}});
  d.on.let_pass(3);
  d.on.await_command_of(8);
  d.step({"M3, which was searching, finds G8 in the global queue and runs it.",
          "一直在寻找的 M3 在全局队列里找到 G8，并运行它。"},
         {{"sched/find_runnable.cpp", "search_as_spinner"}, {"sched/find_runnable.cpp", "take_global_batch"}});
}

}  // namespace thrum::scenes
