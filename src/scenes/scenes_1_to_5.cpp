#include "scenes/scenes_1_to_5.h"

namespace thrum::scenes {

void play_scene_1(director& d) {
  d.begin_part(
      "S37_01_g1_creates_g2", {"Scene 1: G1 creates G2", "场景 1：G1 创建 G2"},
      {"P1 is held by M1, which runs G1. G1 creates G2. The new goroutine stays on the P of its creator, because "
       "the caches are warm there: it goes into runnext, the place of the goroutine that runs next. M0 is the "
       "thread that called run; its main goroutine waits in a system call throughout the scenes.",
       "M1 持有 P1，正在运行 G1。G1 创建 G2。为了局部性，新的 G 留在创建者的 P 上：它进入 runnext，即下一个要运行的位置。"
       "M0 是调用 run 的线程，它的 main goroutine 在所有场景中都停在一次系统调用里。"},
      {"M1 holds P1 and runs G1. The other Ms rest, and three Ps are idle.",
       "M1 持有 P1 并运行 G1。其他 M 在休眠，另外三个 P 空闲。"});
  d.on.tell_to_create(1, 2);
  d.on.await_command_of(1);
  d.step({"G1 creates G2. G2 goes into runnext of P1; the ring stays empty.",
          "G1 创建 G2。G2 进入 P1 的 runnext，环形队列仍为空。"},
         {{"sched/runnable.h", "make_unstarted_runnable"}, {"sched/queues.h", "put_next"}});
}

void play_scene_2(director& d) {
  d.begin_part("S37_02_g1_ends", {"Scene 2: G1 ends", "场景 2：G1 执行完毕"},
               {"G1 returns from its function. Its M does not end: it takes the next goroutine from its P and runs it. "
                "G2 has not started, so it takes over even the stack of G1, without a switch.",
                "G1 的函数返回。M 并不结束，而是从 P 取出下一个 goroutine 继续运行，这就是线程的复用。"
                "G2 还没有开始过，所以它连 G1 的栈也直接接管，无需切换。"},
               {"M1 runs G1, and G2 waits in runnext.", "M1 运行 G1，G2 在 runnext 中等待。"});
  d.on.tell_to_end(1);
  d.on.await_command_of(2);
  d.step({"G1 ends. M1 takes G2 from runnext and runs it. M1 is reused, and so is the stack.",
          "G1 结束。M1 从 runnext 取出 G2 并运行。M1 被复用，栈也被复用。"},
         {{"sched/goroutine.cpp", "end_goroutine"},
          {"sched/pick.h", "take_local"},
          {"sched/goroutine.cpp", "take_stack_over"}});
}

void play_scene_3(director& d) {
  d.begin_part("S37_03_g2_creates_four", {"Scene 3: G2 creates more goroutines", "场景 3：G2 创建多个 G"},
               {"The ring of each P holds only 4 goroutines here (256 as a rule). G2 creates four. Each new one takes "
                "runnext and kicks the one before it out, to the tail of the ring. So after four the ring holds three, "
                "and the newest is in runnext.",
                "这里每个 P 的环形队列只能放 4 个 G（通常是 256 个）。G2 创建四个 G。每个新的 G 占据 runnext，"
                "并把原来在那里的 G 挤到环形队列的队尾。所以创建四个之后，环里有三个，最新的一个在 runnext。"},
               {"M1 runs G2. The run queue of P1 is empty.", "M1 运行 G2。P1 的本地队列为空。"});
  d.on.tell_to_create(2, 3);
  d.on.await_command_of(2);
  d.step({"G2 creates G3, which goes into runnext.", "G2 创建 G3，G3 进入 runnext。"},
         {{"sched/queues.h", "put_next"}, {"core/run_queue.h", "swap_next"}});
  d.on.tell_to_create(2, 4);
  d.on.await_command_of(2);
  d.step({"G4 takes runnext and kicks G3 out, to the tail of the ring.", "G4 占据 runnext，把 G3 挤到环形队列的队尾。"},
         {{"sched/queues.h", "put_next"}, {"core/run_queue.h", "put"}});
  d.on.tell_to_create(2, 5);
  d.on.await_command_of(2);
  d.step({"G5 takes runnext, and G4 goes to the ring.", "G5 占据 runnext，G4 进入环形队列。"},
         {{"sched/queues.h", "put_next"}, {"core/run_queue.h", "put"}});
  d.on.tell_to_create(2, 6);
  d.on.await_command_of(2);
  d.step({"G6 takes runnext, and G5 goes to the ring, which holds G3, G4 and G5.",
          "G6 占据 runnext，G5 进入环形队列，环里现在是 G3、G4、G5。"},
         {{"sched/queues.h", "put_next"}, {"core/run_queue.h", "put"}});
}

void play_scene_4(director& d) {
  d.begin_part("S37_04_the_ring_is_full", {"Scene 4: G7 fills the ring", "场景 4：G7 使队列变满"},
               {"G2 creates G7. In the documents, which leave runnext out, the queue is full by now and G7 overflows. "
                "With runnext a P with a ring of 4 has room for five goroutines that wait: G7 still fits.",
                "G2 创建 G7。文档的图没有画 runnext，所以那里队列此时已满，G7 会溢出。"
                "有了 runnext，环为 4 的 P 可以容纳五个等待的 G，G7 还放得下。"},
               {"G6 is in runnext, and the ring has room for one more.", "G6 在 runnext，环形队列还有一个空位。"});
  d.on.tell_to_create(2, 7);
  d.on.await_command_of(2);
  d.step({"G7 takes runnext. G6 goes to the ring, which is full: G3, G4, G5, G6.",
          "G7 占据 runnext。G6 进入环形队列，环满了：G3、G4、G5、G6。"},
         {{"sched/queues.h", "put_next"}, {"core/run_queue.h", "put"}});
}

void play_scene_5(director& d) {
  d.begin_part(
      "S37_05_half_goes_to_the_global_queue", {"Scene 5: G8 finds the ring full", "场景 5：G8 遇到满队列"},
      {"G2 creates G8. G8 takes runnext and kicks G7 out, but the ring has no room for G7. So the older half of "
       "the ring, G3 and G4, moves to the tail of the global queue together with G7, in one batch and in order. "
       "Other Ms can take them there. G8, the newest, stays with its creator.",
       "G2 创建 G8。G8 占据 runnext 并挤出 G7，但环里没有 G7 的位置。于是环中较老的一半 G3、G4 连同 G7 "
       "作为一批、按顺序移到全局队列的队尾，其他 M 可以在那里取走它们。最新的 G8 留在创建者的 P 上。"},
      {"The ring of P1 is full, and G7 is in runnext.", "P1 的环形队列已满，G7 在 runnext。"});
  d.on.let_wake_ups_through();
  d.on.hold_next_wake_up();
  d.on.tell_to_create(2, 8);
  d.on.await_at(1, rt::trace::gate::wake);
  d.step({"G8 is in runnext. G3, G4 and G7 are in the global queue; G5 and G6 stay in the ring.",
          "G8 在 runnext。G3、G4、G7 进入全局队列，G5、G6 留在环形队列。"},
         {{"sched/queues.h", "put_next"},
          {"sched/queues.cpp", "put_tail_slow"},
          {"core/run_queue.h", "claim_older_half"}});
}

}  // namespace thrum::scenes
