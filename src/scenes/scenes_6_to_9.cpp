#include "scenes/scenes_6_to_9.h"

namespace thrum::scenes {

using rt::trace::gate;

namespace {

// The goroutine that runs on M m ends, and the M comes to the beginning of its search.
void end_on(director& d, int actor, int m) {
  d.on.tell_to_end(actor);
  d.on.await_at(m, gate::search);
}

void take_from_global(director& d, int m, int expected) {
  d.on.let_pass(m);
  d.on.await_command_of(expected);
}

}  // namespace

void play_scene_6(director& d) {
  d.begin_part("S37_06_a_resting_m_is_woken", {"Scene 6: a resting M is woken", "场景 6：唤醒正在休眠的 M"},
               {"Creating a goroutine wakes another M if a P is idle and no M is searching. G2, which has just created "
                "G8, wakes M2 and gives it the idle P2. The queue of P2 is empty, so M2 spins: it runs without a "
                "goroutine and searches for one.",
                "创建 goroutine 时，如果有空闲的 P 且没有 M 在寻找工作，就会唤醒另一个 M。G2 刚创建了 G8，"
                "它唤醒 M2 并把空闲的 P2 交给它。P2 的队列为空，所以 M2 自旋：它在运行，但没有 goroutine，正在寻找。"},
               {"G2 has published G8, sees that P2 is idle and that no M searches, and is about to wake one.",
                "G2 已经发布了 G8，看到 P2 空闲且没有 M 在寻找，正要唤醒一个 M。"});
  d.on.let_pass(1);
  d.on.await_at(2, gate::search);
  d.on.await_command_of(2);
  d.step({"M2 was woken and holds P2. It has no goroutine and spins.",
          "M2 被唤醒并持有 P2。它没有 goroutine，处于自旋状态。"},
         {{"sched/wake.h", "start_m_if_p_is_idle"},
          {"sched/wake.cpp", "start_spinning_m"},
          {"sched/wake.cpp", "start_m_locked"},
          {"core/idle_state.cpp", "take"}});
}

void play_scene_7(director& d) {
  d.begin_part(
      "S37_07_m2_takes_from_the_global_queue",
      {"Scene 7: M2 takes a share of the global queue", "场景 7：M2 从全局队列取一批 G"},
      {"M2 looks into the global queue before it steals. It takes a share: min(length, length / Ps + 1, half a "
       "ring). With three goroutines and four Ps that is one, so that the other Ps get some, too. M2 was the "
       "only M that searched. Because it has found work, it wakes the next one.",
       "M2 在偷取之前先看全局队列。它取走一份：min(长度, 长度 / P 的个数 + 1, 环的一半)。三个 G、四个 P，"
       "所以只取一个，给其他 P 留一些。M2 是唯一在寻找的 M；它找到了工作，于是唤醒下一个 M。"},
      {"The global queue holds G3, G4 and G7, and M2 searches.", "全局队列中有 G3、G4、G7，M2 正在寻找。"});
  d.on.let_pass(2);
  d.on.await_command_of(3);
  d.on.await_at(3, gate::search);
  d.step({"M2 takes G3, the oldest, and runs it. It wakes M3, which spins with P3.",
          "M2 取走最老的 G3 并运行。它唤醒 M3，M3 持有 P3 并自旋。"},
         {{"sched/find_runnable.cpp", "take_global_batch"},
          {"sched/queues.cpp", "global_share"},
          {"sched/find_runnable.cpp", "end_spinning_with_work"}});
}

void play_scene_8(director& d) {
  d.begin_part(
      "S37_08_m2_steals_from_p1", {"Scene 8: M2 steals from P1", "场景 8：M2 从 P1 偷取 G"},
      {"G2 goes on running on M1. M2 has run G3, and takes G4 and G7 from the global queue one after the other. "
       "Then the global queue and its own queue are empty, so it steals from another P: the older half of the "
       "ring, from its head, rounded up. Of G5 and G6 that is G5. (The documents show a theft of G8 from the "
       "tail; the scheduler takes the oldest, and runnext last of all.) M3 is held back meanwhile.",
       "G2 一直在 M1 上运行。M2 运行完 G3，又先后从全局队列取走 G4 和 G7。此时全局队列和它自己的队列都空了，"
       "于是它从别的 P 偷取：从队头取环中较老的一半，向上取整。G5、G6 的一半是 G5。"
       "（文档中画的是从队尾偷 G8；真正的调度器偷最老的，runnext 留到最后。）这期间 M3 被导演按住不动。"},
      {"M2 runs G3. G4 and G7 are in the global queue.", "M2 运行 G3。G4、G7 在全局队列。"});
  end_on(d, 3, 2);
  take_from_global(d, 2, 4);
  d.step({"G3 has ended. M2 takes G4 from the global queue: min(2, 2 / 4 + 1, 2) = 1.",
          "G3 结束。M2 从全局队列取走 G4：min(2, 2 / 4 + 1, 2) = 1。"},
         {{"sched/find_runnable.cpp", "take_global_batch"}, {"sched/queues.cpp", "take_global_batch_locked"}});
  end_on(d, 4, 2);
  take_from_global(d, 2, 7);
  d.step({"G4 has ended. M2 takes G7, the last one.", "G4 结束。M2 取走最后一个 G7。"},
         {{"sched/find_runnable.cpp", "take_global_batch"}, {"sched/queues.cpp", "take_global_batch_locked"}});
  end_on(d, 7, 2);
  d.on.let_pass(2);
  d.on.await_at(2, gate::steal);
  d.step({"G7 has ended. M2 finds nothing in its own queue or the global queue, so it spins.",
          "G7 结束。M2 在自己的队列和全局队列里都找不到 G，于是自旋。"},
         {{"sched/find_runnable.cpp", "may_spin"}, {"sched/find_runnable.cpp", "begin_spinning"}});
  d.on.let_pass(2);
  d.on.await_command_of(5);
  d.step({"M2 steals half of the ring of P1, which is G5, the oldest, and runs it.",
          "M2 偷走 P1 环形队列的一半，即最老的 G5，并运行它。"},
         {{"sched/steal.cpp", "steal_work"},
          {"sched/steal.cpp", "steal_from"},
          {"core/run_queue.cpp", "steal_half_from"}});
}

void play_scene_9(director& d) {
  d.begin_part(
      "S37_09_the_limit_of_spinning", {"Scene 9: the limit of spinning Ms", "场景 9：自旋线程的最大限制"},
      {"The other goroutines of P1 are stolen and run, until only G2 and G8 are left. M3 and M4 find nothing and "
       "spin. An M that spins costs CPU time, but it can run a new goroutine at once, without a wake-up. So "
       "some may spin, but at most half as many as there are busy Ps, and never more than there are Ps. The "
       "others sleep.",
       "P1 的其余 goroutine 被偷走并运行完，只剩 G2 和 G8。M3 和 M4 找不到工作，处于自旋状态。"
       "自旋消耗 CPU，但新的 goroutine 一出现就能立刻运行，不需要唤醒。因此允许一些 M 自旋："
       "最多是忙碌的 P 的一半，且不会超过 P 的个数，其余的 M 休眠。"},
      {"M1 runs G2, and M2 runs G5. M3 spins. G6 is in the ring of P1, and G8 in runnext.",
       "M1 运行 G2，M2 运行 G5，M3 自旋。G6 在 P1 的环形队列，G8 在 runnext。"});
  d.on.let_pass(3);
  d.on.await_at(3, gate::steal);
  d.on.let_pass(3);
  d.on.await_command_of(6);
  d.on.await_at(4, gate::search);
  d.step({"M3 steals G6. It was the only M that searched, so it wakes M4, which spins with P4.",
          "M3 偷走 G6。它是唯一在寻找的 M，所以唤醒 M4，M4 持有 P4 并自旋。"},
         {{"sched/steal.cpp", "steal_from"}, {"sched/find_runnable.cpp", "end_spinning_with_work"}});
  end_on(d, 6, 3);
  end_on(d, 5, 2);
  d.on.let_pass(2);
  d.on.await_at(2, gate::steal);
  d.on.let_pass(2);
  d.on.await_command_of(8);
  d.step(
      {"G5 and G6 have ended. The ring of P1 is empty, so in its last round M2 takes G8 out of runnext.",
       "G5、G6 结束。P1 的环已空，于是 M2 在最后一轮把 G8 从 runnext 偷走。"},
      {{"sched/steal.cpp", "steal_from"}, {"sched/steal.cpp", "stays_as_it_is"}, {"core/run_queue.h", "steal_next"}});
  d.on.let_pass(4);
  d.on.await_at(4, gate::steal);
  d.on.let_pass(3);
  d.on.await_at(3, gate::steal);
  d.step({"M3 and M4 spin. With four busy Ps two may: 2 x 2 < 4 does not hold, so a third M would not spin.",
          "M3 和 M4 自旋。四个忙碌的 P 最多允许两个：2 x 2 < 4 不成立，第三个 M 不会再自旋。"},
         {{"sched/find_runnable.cpp", "may_spin"}, {"sched/find_runnable.cpp", "search_as_spinner"}});
}

}  // namespace thrum::scenes
