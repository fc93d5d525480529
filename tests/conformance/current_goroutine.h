// CP-01: who am I, asked before and after a switch in one function. Compiled by several files, at several levels of
// optimisation: a compiler that keeps a thread's address, or a thread-local's, across the switch answers for the thread
// that the goroutine has left.
//
// To be included once per file, inside a namespace of the file's own.

// Everything is asked for through the same inline accessor that the library uses, so that it is this file's code that the
// optimiser sees.
struct answers {
  thrum::rt::M* m;
  thrum::rt::G* g;
  int tid;
};

inline answers ask() {
  thrum::rt::M* const m = thrum::rt::current_m();
  return {m, m->current, m->tid};
}

// Yields `rounds` times and answers how often it came back on another thread, or -1 if an answer was wrong.
inline std::int64_t wander(std::int64_t rounds) {
  std::int64_t moves = 0;
  std::uint64_t const id = thrum::this_goroutine::id();
  thrum::rt::G* const me = ask().g;
  for (std::int64_t i = 0; i < rounds; ++i) {
    answers const before = ask();
    thrum::yield();
    answers const after = ask();
    if (after.g != me || before.g != me || after.g->id != id) return -1;
    if (after.tid != thrum::rt::os::current_tid()) return -1;
    if (after.m->current != me || thrum::this_goroutine::id() != id) return -1;
    if ((after.m == before.m) != (after.tid == before.tid)) return -1;
    moves += after.m != before.m ? 1 : 0;
    // And in one expression, with the switch in the middle.
    if (ask().g != (thrum::yield(), ask().g)) return -1;
  }
  return moves;
}

// Main's first wait moves it off the first thread, always.
inline bool moves_with_main() {
  answers const before = ask();
  thrum::test::leave_the_first_thread();
  answers const after = ask();
  return after.g == before.g && after.m != before.m && after.tid != before.tid &&
         after.tid == thrum::rt::os::current_tid();
}

inline void expect_right_answers(int procs, std::int64_t rounds) {
  thrum::test::run_at(procs, [&] {
    EXPECT_TRUE(moves_with_main());
    thrum::wait_group ended;
    thrum::rt::atomic<std::int64_t> moves{0};
    thrum::rt::atomic<int> wrong{0};
    for (int i = 0; i < 2 * procs + 2; ++i) {
      ended.go([&, rounds] {
        std::int64_t const mine = wander(rounds);
        if (mine < 0) wrong.fetch_add(1, thrum::rt::relaxed);
        moves.fetch_add(mine, thrum::rt::relaxed);
      });
    }
    ended.wait();
    EXPECT_EQ(wrong.load(thrum::rt::relaxed), 0);
    testing::Test::RecordProperty("moves", static_cast<int>(moves.load(thrum::rt::relaxed)));
  });
}
