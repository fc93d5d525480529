// CP-01: a function asks for the current goroutine and thread before and after a switch. Several files compile this
// code, at several levels of optimisation. If a compiler kept the address of a thread or of a thread-local variable
// across the switch, the answers would be about the thread that the goroutine has left.
//
// Each file includes this header once, inside a namespace of its own.

// All answers come from the inline accessor that the library uses, too, so that the optimiser sees it as code of this
// file.
struct answers {
  thrum::rt::M* m;
  thrum::rt::G* g;
  int tid;
};

inline answers ask() {
  thrum::rt::M* const m = thrum::rt::current_m();
  return {m, m->current, m->tid};
}

// Yields `rounds` times. Returns how often it continued on another thread, or -1 if an answer was wrong.
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
    // The same in one expression, with the switch in the middle.
    if (ask().g != (thrum::yield(), ask().g)) return -1;
  }
  return moves;
}

// The first time that the main goroutine parks, it always leaves the first thread.
inline bool moves_with_main() {
  answers const before = ask();
  thrum::test::wait_away_from_the_first_thread();
  answers const after = ask();
  return after.g == before.g && after.m != before.m && after.tid != before.tid &&
         after.tid == thrum::rt::os::current_tid();
}

// Waits `rounds` times for a baton. Counts the changes of thread as wander() does; the result is negative if an answer
// was wrong.
inline std::int64_t hop(thrum::test::baton& b, thrum::rt::atomic<std::int64_t>& answered, std::int64_t rounds) {
  std::int64_t moves = 0;
  thrum::rt::G* const me = ask().g;
  for (std::int64_t i = 1; i <= rounds; ++i) {
    answers const before = ask();
    b.take();
    answers const after = ask();
    if (before.g != me || after.g != me || after.m->current != me) moves = -rounds;
    if (after.tid != thrum::rt::os::current_tid()) moves = -rounds;
    moves += after.m != before.m ? 1 : 0;
    answered.store(i, thrum::rt::release);
  }
  return moves;
}

// In every second round the goroutine that passes the baton keeps its P, so the waiter has to continue on another P. In
// the other rounds it gives its P up, so the waiter continues on that P.
inline std::int64_t hop_to_and_fro(std::int64_t rounds) {
  thrum::test::baton b;
  thrum::rt::atomic<std::int64_t> answered{0};
  auto hopper = thrum::spawn([&] { return hop(b, answered, rounds); });
  for (std::int64_t i = 1; i <= rounds; ++i) {
    b.pass();
    auto const has_answered = [&] { return answered.load(thrum::rt::acquire) == i; };
    bool const in_time = i % 2 == 0 && thrum::max_procs() > 1 ? thrum::test::spin_until(has_answered)
                                                              : thrum::test::wait_until(has_answered);
    if (!in_time) return -1;
  }
  return hopper.join();
}

inline void expect_right_answers(int procs, std::int64_t rounds) {
  thrum::test::run_at(procs, [&] {
    EXPECT_TRUE(moves_with_main());
    thrum::wait_group ended;
    thrum::rt::atomic<int> wrong{0};
    for (int i = 0; i < 2 * procs + 2; ++i) {
      ended.go([&, rounds] { wrong.fetch_add(wander(rounds) < 0 ? 1 : 0, thrum::rt::relaxed); });
    }
    ended.wait();
    EXPECT_EQ(wrong.load(thrum::rt::relaxed), 0);
    std::int64_t moves = 0;
    for (int tries = 0; moves == 0 && tries < (procs > 1 ? 20 : 1); ++tries) moves = hop_to_and_fro(rounds);
    EXPECT_GE(moves, procs > 1 ? 1 : 0);
    testing::Test::RecordProperty("moves", static_cast<int>(moves));
  });
}
