// goexit (DL-08) unwinds one goroutine and runs its destructors. The destructors see no exception, and no handler can
// stop it.
#include "base/atomic.h"
#include "support/baton.h"
#include "support/child_test.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// Notes its name when it is destroyed, and that no exception is in sight then.
class witness {
 public:
  witness(std::string& log, char const* name) : log_(log), name_(name) {}
  witness(witness const&) = delete;
  witness& operator=(witness const&) = delete;
  ~witness() {
    log_ += name_;
    EXPECT_EQ(std::uncaught_exceptions(), 0) << name_;
    EXPECT_EQ(std::current_exception(), nullptr) << name_;
  }

 private:
  std::string& log_;
  char const* const name_;
};

class goexit_ : public at_every_width {
 protected:
  // Runs body as a goroutine, started and joined, and answers what it logged; "!" at the end if it came back.
  template <class F>
  static std::string log_of(F body) {
    std::string log;
    run([&] {
      wait_group ended;
      ended.go([&] {
        body(log);
        log += '!';
      });
      ended.wait();
      // Hosted, the same.
      std::string again;
      EXPECT_THROW(spawn([&] {
                     body(again);
                     again += '!';
                   }).join(),
                   goroutine_exited);
      EXPECT_EQ(again, log);
    });
    return log;
  }
};
THRUM_AT_EVERY_WIDTH(goexit_);

TEST_P(goexit_, DL08_destructors_run_innermost_first) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              auto const inner = [&] {
                witness const b(log, "b");
                auto const on_heap = std::make_unique<witness>(log, "h");
                witness const c(log, "c");
                goexit();
              };
              witness const d(log, "d");
              inner();
            }),
            "chbda");
}

TEST_P(goexit_, DL08_destructors_may_yield_wait_throw_and_join) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              defer const busy = [&] {
                yield();
                wait_group waits;
                waits.go([] { yield(); });
                waits.wait();
                try {
                  throw std::runtime_error("inside");
                } catch (std::runtime_error const&) {
                  yield();
                  log += "t";
                }
                log += spawn([] { return "j"; }).join();
                try {
                  spawn([] { goexit(); }).join();
                } catch (goroutine_exited const&) {
                  log += "x";
                }
              };
              witness const b(log, "b");
              goexit();
            }),
            "btjxa");
}

TEST_P(goexit_, DL08_catch_all_that_rethrows) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                witness const b(log, "b");
                goexit();
              } catch (...) {
                log += "1";
                throw;
              }
            }),
            "b1a");
}

TEST_P(goexit_, DL08_catch_all_cannot_swallow_it) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                witness const b(log, "b");
                goexit();
              } catch (...) {
                log += "1";
              }
              log += "never";
            }),
            "b1a");
}

TEST_P(goexit_, DL08_catch_all_that_returns_cannot_swallow_it) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              [&] {
                try {
                  goexit();
                } catch (...) {
                  return;
                }
              }();
              log += "never";
            }),
            "a");
}

TEST_P(goexit_, DL08_nested_catch_alls_with_and_without_rethrow) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                witness const b(log, "b");
                try {
                  witness const c(log, "c");
                  try {
                    goexit();
                  } catch (...) {
                    log += "1";
                    throw;
                  }
                } catch (...) {
                  log += "2";
                }
                log += "never";
              } catch (...) {
                log += "3";
                yield();
                throw;
              }
            }),
            "1c2b3a");
}

TEST_P(goexit_, DL08_handlers_of_other_types_do_not_see_it) {
  EXPECT_EQ(log_of([](std::string& log) {
              try {
                witness const b(log, "b");
                goexit();
              } catch (std::exception const&) {
                log += "never";
              } catch (int) {
                log += "never";
              }
            }),
            "b");
}

// An exception that counts its instances. goexit inside a handler must destroy the exception that the handler caught.
class counted_error : public std::runtime_error {
 public:
  explicit counted_error(rt::atomic<int>& alive) : std::runtime_error("counted"), alive_(&alive) {
    alive_->fetch_add(1, rt::relaxed);
  }
  counted_error(counted_error const& other) noexcept : std::runtime_error(other), alive_(other.alive_) {
    alive_->fetch_add(1, rt::relaxed);
  }
  counted_error& operator=(counted_error const&) = delete;
  ~counted_error() override { alive_->fetch_sub(1, rt::relaxed); }

 private:
  rt::atomic<int>* alive_;
};

TEST_P(goexit_, DL08_inside_handlers) {
  static rt::atomic<int> alive{0};
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                throw counted_error(alive);
              } catch (counted_error const&) {
                witness const b(log, "b");
                try {
                  throw counted_error(alive);
                } catch (...) {
                  witness const c(log, "c");
                  goexit();
                }
              }
            }),
            "cba");
  EXPECT_EQ(alive.load(rt::relaxed), 0);
}

// libstdc++ by itself ends the program here: a foreign exception is caught while another is being handled.
TEST_P(goexit_, DL08_inside_a_handler_with_a_catch_all_in_between) {
  in_run_order const undisturbed;
  static rt::atomic<int> alive{0};
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                throw counted_error(alive);
              } catch (counted_error const&) {
                try {
                  witness const b(log, "b");
                  try {
                    goexit();
                  } catch (...) {
                    log += "1";
                  }
                  log += "never";
                } catch (...) {
                  log += "2";
                  throw;
                }
              }
              log += "never";
            }),
            "1b2a");
  EXPECT_EQ(alive.load(rt::relaxed), 0);
}

TEST_P(goexit_, DL08_again_in_a_handler_that_caught_it) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                witness const b(log, "b");
                goexit();
              } catch (...) {
                witness const c(log, "c");
                goexit();
              }
              log += "never";
            }),
            "bca");
}

// A child that is joined while this goroutine leaves is a goroutine like any other.
TEST_P(goexit_, DL08_a_hosted_child_of_one_that_leaves) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              defer const joins = [&] {
                auto child = spawn([&] {
                  try {
                    throw 1;
                  } catch (...) {
                    log += "e";
                  }
                  return std::uncaught_exceptions() == 0 && std::current_exception() == nullptr;
                });
                log += child.join() ? "c" : "-";
              };
              goexit();
            }),
            "eca");
}

TEST_P(goexit_, DL08_a_handler_of_it_may_throw_and_catch) {
  EXPECT_EQ(log_of([](std::string& log) {
              witness const a(log, "a");
              try {
                goexit();
              } catch (...) {
                try {
                  throw 5;
                } catch (int) {
                  log += "i";
                }
                yield();
                log += "1";
              }
              log += "never";
            }),
            "i1a");
}

TEST_P(goexit_, DL08_other_goroutines_go_on) {
  run([&] {
    constexpr int others = 50;
    rt::atomic<int> finished{0};
    rt::atomic<int> unwound{0};
    wait_group ended;
    for (int i = 0; i < others; ++i) {
      ended.go([&] {
        try {
          throw std::runtime_error("mine");
        } catch (std::runtime_error const& e) {
          for (int k = 0; k < 10; ++k) yield();
          EXPECT_STREQ(e.what(), "mine");
          EXPECT_NE(std::current_exception(), nullptr);
        }
        finished.fetch_add(1, rt::relaxed);
      });
      ended.go([&] {
        defer const count = [&] { unwound.fetch_add(1, rt::relaxed); };
        yield();
        goexit();
      });
    }
    ended.wait();
    EXPECT_EQ(finished.load(rt::relaxed), others);
    EXPECT_EQ(unwound.load(rt::relaxed), others);
    ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
  });
}

TEST_P(goexit_, DL08_ten_thousand_times_without_a_leak_of_stacks) {
  auto const with_memory = [] {
    stats const now = read_stats();
    return now.stacks_in_use + now.stacks_cached + now.stacks_free;
  };
  run([&] {
    std::size_t stacks = 0;
    for (int round = 0; round < 10; ++round) {
      wait_group ended;
      for (int i = 0; i < 1000; ++i) {
        ended.go([] {
          if (goexit(); true) return;
        });
      }
      ended.wait();
      ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
      if (round == 0) stacks = with_memory();
    }
    EXPECT_LE(with_memory(), stacks + 64U * static_cast<unsigned>(procs()));
  });
}

// --- main ---

class goexit_of_main : public child_test {};

TEST_F(goexit_of_main, S20_the_others_go_on_and_the_last_one_ends_the_program) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (int const procs : {1, 2, 8, 64}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       go([] {
                         for (int i = 0; i < 100; ++i) yield();
                         std::fputs("the other one goes on\n", stderr);
                       });
                       goexit();
                     },
                     {.max_procs = procs}),
                 "the other one goes on\n.*no goroutines \\(main called goexit\\) - deadlock!");
  }
}

TEST_F(goexit_of_main, S20_alone) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(thrum::run([] { goexit(); }), "fatal error: no goroutines \\(main called goexit\\) - deadlock!");
}

// goexit cannot be turned into an exception. An exception that leaves a handler that caught goexit ends the program,
// whether or not an outer handler would catch it.
TEST_F(goexit_of_main, DL08_an_exception_out_of_a_handler_of_it_cannot_be_caught) {
  EXPECT_FATAL(thrum::run([] {
                 wait_group ended;
                 ended.go([] {
                   try {
                     try {
                       goexit();
                     } catch (...) {
                       throw std::runtime_error("worse");
                     }
                   } catch (std::exception const&) {
                     std::fputs("caught\n", stderr);
                   }
                 });
                 ended.wait();
               }),
               "goroutine [0-9]+: an exception left a catch \\(...\\) that was handling goexit");
}

// A panic inside wins over the exit, as in Go.
TEST_F(goexit_of_main, DL08_an_exception_out_of_a_handler_of_it_is_a_panic) {
  EXPECT_FATAL(thrum::run([] {
                 wait_group ended;
                 ended.go([] {
                   try {
                     goexit();
                   } catch (...) {
                     throw std::runtime_error("worse");
                   }
                 });
                 ended.wait();
               }),
               "panic: worse");
}

}  // namespace
}  // namespace thrum::test
