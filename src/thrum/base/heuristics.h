// The numbers by which the scheduler guesses: how long a wait pays off, how often a look does, how much is taken at
// once. Each has its origin, which is Go or thrum ("ours": it was the best of those that were tried), and the rows of
// bench/ or the tests (by suite) in which a change of it should show.
//
// A wrong number costs time and breaks nothing. Bounds and the sizes of stacks are in base/limits.h. Deadlines after
// which a thread is given up, the pace at which such a wait looks, the sizes of arrays, and numbers that follow from
// another one stand where they are used.
// base/ablation.h names the mechanisms that these numbers belong to, and can leave each of them out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

// --- turns and batches (sched/pick.h, sched/runnable.*, sched/steal.cpp, sched/records.*) ---

// Go's value, prime, so that loops of the user do not fall into step with it. Every 61st tick the global queue has its
// turn, and after 61 runs a P looks at its timers. Tests limits, S10; rows chan_spsc, sleep
inline constexpr std::uint32_t global_tick = 61;
// Go's value; a victim's runnext is stolen in the last round only. Row chan_mpmc
inline constexpr int steal_rounds = 4;
inline constexpr std::uint32_t free_g_cache_max = 64;  // Go's gfput: above this, half go to the global list. Row spawn
inline constexpr std::uint32_t sudog_cache_max = 128;  // Go's sudog cache of a P. Row select
inline constexpr std::uint32_t stack_cache_max = 32;   // ours: an idle one costs at least one page. Row yield_many
inline constexpr std::uint64_t goroutine_ids_at_once = 16;  // Go's value: so many ids a P takes at once. Row spawn
// Ours: how many new stacks a cache gets at once. Each costs a guard and a page, 1.5 us together, so the lock hardly
// counts if it is taken for four of them. Sixteen would cost a program with one goroutine 64 KiB per P. Row spawn_deep
inline constexpr std::uint32_t stacks_carved_at_once = 4;
// Ours; more would make others wait for the lock of the heap, and for their turn. Row sleep_many
inline constexpr std::uint32_t timers_at_once = 64;
// Ours: how many waiters a broadcast takes out of a bucket before it releases the lock for a moment. Tests broadcast
inline constexpr std::uint32_t woken_at_once = 64;
// Ours: the same for a close. A waiter lies on its goroutine's stack, which is usually in no cache, so each costs up to
// a microsecond while other threads spin for the lock. Test close_many
inline constexpr std::size_t closed_at_once = 16;
// Ours: how many entries of the global queue are looked at for a plain one, under sched.lock. Row unannounced
inline constexpr std::uint32_t plain_looked_at_max = 32;

// --- the search for work (sched/find_runnable.cpp) ---

// Ours. Four empty polls in a row, and then one poll in eight searches. Rows echo, chan_mpmc
inline constexpr std::uint32_t polls_in_vain_max = 4;
inline constexpr std::uint32_t searches_per_poll = 8;
// Ours: how often an M looks again before it rests. The largest takes some ten microseconds with two Ps. Rows pingpong,
// chan_spsc, spawn_deep
inline constexpr std::uint32_t search_patience_first = 8;
inline constexpr std::uint32_t search_patience_max = 256;

// --- stealing (sched/steal.cpp) ---

// Ours; Go sleeps for 3 us, and the kernel makes 50 us of that. Rows pingpong, chan_ring
inline constexpr std::int64_t age_to_steal_ns = 2'000;
// Ours: a steal that kept its M busy for less time was poor, and after four of these a handful is left alone. Rows
// chan_mpmc, select
inline constexpr std::int64_t worth_stealing_ns = 4'000;
inline constexpr std::uint32_t poor_steals_max = 4;
inline constexpr std::uint32_t steal_handful = 8;

// --- events (sched/poll.cpp, core/pace.h); decision 016 ---

// Ours: hardly longer than another M needs to wake up and fetch its share. Two goroutines of this pace are slow enough
// to start an M on an idle P. Rows kv, echo
inline constexpr std::int64_t slow_run_ns = 50'000;
// Ours: a quarter, so that the last few batches determine the mean. Test pace
inline constexpr std::int64_t pace_decay = 4;
// Ours: an M that has not slept for this long is not enough for the events that come. Row echo_5000
inline constexpr std::int64_t not_enough_after_ns = 1'000'000;

// --- residents (core/residents.cpp) ---

// Ours: the inbox is also looked at after so many turns while the queue is not empty. The lock that a look takes costs
// little beside 16 turns. Tests home
inline constexpr std::uint8_t turns_between_inbox_looks = 16;

// --- wake-ups that are put off (sys/put_off_watch.cpp); decision 006 ---

namespace late_wakeups {
// Ours. The kernel may add 50 us, so half a millisecond is kept with room to spare. Row wake_busy
inline constexpr std::int64_t pace_ns = 250'000;
// Ours: long enough for a waker that is about to block. Row wake_busy
inline constexpr std::int64_t second_look_ns = 20'000;
// Ours: within this time a P that makes progress comes to the goroutine in its runnext. Row wake
inline constexpr std::int64_t moment_ns = 3'000;
// Ours. Each look that finds something soon after another one that did allows two more looks in vain. 8: at most 2 ms
// of looks in vain. Rows wake, idle
inline constexpr int patience_gained = 2;
inline constexpr int patience_max = 8;
inline constexpr std::int64_t soon_after_ns = 500'000;
// Ours. Each wake-up in vain, as at the limit of threads, doubles the time until the next look, up to 2 ms. Test
// put_off_watch
inline constexpr unsigned in_vain_max = 3;
// Ours: how many wake-ups a P does not put off after a mistake. A mistake is rare after `rare_after` times so many
// wake-ups without one. Rows wake_busy, parallel_sum
inline constexpr std::uint32_t at_once_first = 16;
inline constexpr std::uint32_t at_once_max = 1024;
inline constexpr std::uint64_t rare_after = 8;
// Ours: the same for events. Their pace is known too, and on a busy machine a thread that is kept from running looks
// like one that computes. Test late_polls
inline constexpr std::uint32_t spreads_at_once_after_slow_event = 16;
}  // namespace late_wakeups

// --- sysmon (sys/sysmon.cpp, sys/limit_watch.cpp) ---

namespace watching {
// Go's range and number of looks. Row idle
inline constexpr std::int64_t pause_min_ns = 20'000;
inline constexpr std::int64_t pause_max_ns = 10'000'000;
inline constexpr int looks_before_slower = 50;
inline constexpr std::int64_t retake_after_ns = 10'000'000;  // Go's value. Row blocking
inline constexpr std::int64_t poll_after_ns = 10'000'000;    // Go's value. Tests of sysmon
// Ours: while a P runs events alone and timers are left to sysmon. Rows kv, idle
inline constexpr std::int64_t pause_beside_put_off_ns = 500'000;
// Ours: twice the time that a batch of events may take on one P (slow_run_ns). Row kv
inline constexpr std::int64_t unwatched_for_ns = 100'000;
// Ours: for how long sysmon looks often after an event has waited beside an idle P. Where such events come more often
// than this, only the first one waits for long. The looks take some hundredths of a CPU. Test late_polls
inline constexpr std::int64_t poll_care_ns = 1'000'000'000;
// Ours: a P that runs quick goroutines looks at its timers itself, so sysmon wakes up for these timers at most this
// often. Row sleep
inline constexpr std::int64_t timer_pace_ns = 1'000'000;
// Ours: three, because a pause may be longer than it should be. Row kv
inline constexpr std::int64_t pauses_until_near = 3;
// Ours: how often sysmon looks whether the program stands still at the limit of threads. That takes seconds in any
// case. Tests limit_watch
inline constexpr std::int64_t limit_looks_apart_ns = 10'000'000;
}  // namespace watching

// --- time slices (sys/slices.cpp). Decision 008 ---

namespace asking {
inline constexpr std::int64_t ask_again_after_ns = 100'000;  // ours (T03); the next time after twice as long, and so on
inline constexpr std::int64_t ask_again_after_max_ns = 1'000'000;
// Ours: while another thread waits for the P, and perhaps the whole world stands still. Row pauses_stopping
inline constexpr std::int64_t ask_again_soon_ns = 20'000;
inline constexpr int asked_before_insisting = 20;  // ours. Row hog
// Ours. Loops that read the clock are hardly ever found outside the vDSO. Allocators that read the clock are hardly
// ever found there twice. Row hog
inline constexpr int asked_before_insisting_in_vdso = 1;
// Ours. In a stop of the world, all goroutines stand still for a moment only, and no thread needs the C library
// meanwhile (sched/world.h). So a thread may be stopped inside the C library too. Row pauses_stopping
inline constexpr int asked_before_insisting_to_stop = 3;
inline constexpr std::int64_t computing_for_ns = 50'000;         // ours: a thread with so much CPU computes. Row hog
inline constexpr std::int64_t clock_tells_after_ns = 1'000'000;  // ours. Tests of preemption without /proc
inline constexpr std::int64_t no_thread_again_after_ns = 2'000'000;  // ours. Row unannounced
inline constexpr int slices_before_any_sign_will_do = 10;            // ours. Tests of preemption without /proc
// Ours. A timer counts as four requests, because more time passes until the next one: see asked_before_insisting.
inline constexpr int requests_per_timer = 4;
// Ours: how long before the end of a slice its timer is set, in eighths of a kernel tick. With four of them slices
// would end in time on average if they began at any moment. But most begin right behind a tick, because a tick has
// ended the slice before. At 250 Hz, where a slice is two and a half ticks, the timer would then be set right behind a
// tick as well, and would fire nearly a whole tick later, so that slices would take 12 ms. Row hog
inline constexpr int tick_eighths_early = 5;
// Ours. If a timer has not fired after this many kernel ticks in which its thread had a CPU, it is taken as failed.
inline constexpr int ticks_to_answer = 2;
inline constexpr int timers_without_answer_max = 16;
// Ours. After so many timers that failed, signals are used for this long. The next timer is a try. If it is not
// answered either, signals are used for the same time once more.
inline constexpr std::int64_t timers_again_after_ns = 10'000'000'000;
// Ours: a thread that ran so long ago may be asleep by now. Where a look takes longer than that, no look is fresh, so
// after three refusals the signal is sent all the same. Test T04
inline constexpr std::int64_t fresh_look_ns = 10'000;
inline constexpr int refusals_max = 3;
// Ours: after so many answers from elsewhere, a thread counts no longer as one that makes system calls. Row hog
inline constexpr std::uint8_t answers_until_call_is_forgotten = 8;
// Ours: at every fourth end of a slice other goroutines have a turn, although many are paused. Tests T05
inline constexpr std::uint32_t slices_per_turn_of_others = 4;
}  // namespace asking

// --- threads that run user code without a P (sys/without_p.cpp) ---

namespace watching_without_p {
// Ours. The work of one look, counted in records that are passed over, is limited by the time since the last look. A
// record whose thread has no P counts as 16, because reading the CPU clock of a thread is a system call. Row
// unannounced
inline constexpr std::int64_t look_every_ns = 1'000'000;
inline constexpr std::int64_t work_per_clock = 16;
inline constexpr std::int64_t work_per_look = 32 * work_per_clock;
inline constexpr std::int64_t work_max = 8 * work_per_look;
inline constexpr std::int64_t computing_for_ns = 100'000;  // ours: a thread with so much CPU computes. Row unannounced
// Ours: a thread that sleeps so long in a call while residents of it are runnable is reported. Tests of thrum::posix
inline constexpr std::int64_t stuck_for_ns = 1'000'000'000;
}  // namespace watching_without_p

// --- checks for a deadlock that are repeated (sys/deadlock_watch.cpp) ---

namespace repeated_checks {
inline constexpr std::int64_t pause_min_ns = watching::pause_max_ns;  // as long as sysmon's while a P is busy
inline constexpr std::int64_t pause_max_ns = 10'000'000'000;          // ours. Tests of deadlocks
inline constexpr std::int64_t pause_per_check = 20;  // ours: the checks take at most a twentieth of a CPU
}  // namespace repeated_checks

// --- what is measured of many (stats.h) ---

// Ours. One in so many is measured, because two looks at the clock cost a tenth of a poll, more than announcing a call,
// and as much as a switch. Rows echo, syscall, yield
namespace one_in {
inline constexpr std::uint64_t polls = 16;
inline constexpr std::uint64_t calls = 64;
inline constexpr std::uint64_t switches_by_g0 = 64;
inline constexpr std::uint32_t looks = 64;           // one look in 61 runs, so about one in 4,000 goroutines that leave
inline constexpr std::uint64_t batches_of_ids = 64;  // one in 1,024 new goroutines
}  // namespace one_in

// --- housekeeping (sys/housekeeping.cpp, sys/parked_stacks.cpp) ---

namespace keeping {
inline constexpr std::int64_t cpus_every_ns = 1'000'000'000;   // Go's sysmon looks for a new number of CPUs as often
inline constexpr std::int64_t ages_every_ns = 10'000'000'000;  // ours. Row memory
// Ours. The memory of a burst of deep recursion should not be kept much longer than the burst lasts. Stacks that are
// used within this time are left alone. Row spawn_deep
inline constexpr std::int64_t trim_every_ns = 100'000'000;
inline constexpr std::size_t stacks_per_look = 32;  // ours: each takes some microseconds. Row memory
inline constexpr std::size_t parked_at_once = 64;  // ours: these goroutines are kept from running meanwhile. Row memory
// Ours. The number of goroutines, parked or not, that are looked at under the pool's lock, which other threads need to
// make goroutines. The ages are looked at more often. Row memory
inline constexpr std::size_t looked_at_for_depths = 4096;
inline constexpr std::size_t looked_at_for_ages = 512;
}  // namespace keeping

// --- locks and mutexes (os/lock.cpp, os/spin_lock.cpp, sync/spin.h, sync/mutex.cpp, thrum::posix_locks) ---

// Ours. One to five microseconds in all, like Go's 4 rounds of 30 pauses. This is longer than most critical sections of
// the runtime and shorter than a sleep and a wake-up. Rows spawn, chan_mpmc
inline constexpr int lock_spins_max = 100;
// Ours: CPU pauses between two loads of a spin lock. They are doubled up to some microseconds. Row chan_mpmc
inline constexpr int lock_pauses_first = 4;
inline constexpr int lock_pauses_max = 128;
// Ours: a park costs some hundreds of nanoseconds here and more on the releasing side. Row mutex
inline constexpr std::int64_t newcomer_spin_ns = 2'000;
// Ours: a waiter that was woken and came too late tries for longer. Row mutex
inline constexpr std::int64_t woken_spin_ns = 30'000;
inline constexpr int spin_pauses_first = 16;  // ours. Row mutex
inline constexpr int spin_pauses_max = 2048;
inline constexpr std::int64_t starvation_threshold_ns = 1'000'000;  // Go's mutex becomes fair after 1 ms. Tests mutexes
// Ours: how many chosen waiters of thrum::posix_locks are asked whether they wait for a thread. Each may be in no
// cache, and the lock of the bucket is held meanwhile. Test posix_locks_crowd
inline constexpr int chosen_looked_at_max = 32;

// --- timers (core/p_timers.*) ---

inline constexpr std::uint32_t timer_sweep_step = 16;  // ours: half a microsecond, mostly for cache misses that overlap
inline constexpr std::uint32_t timer_sweep_whole_max = 512;  // ours: at most some microseconds. Row sleep_many
inline constexpr std::uint32_t timers_dead_min = 32;  // ours: with fewer dead entries a sweep is not worth its set-up
inline constexpr std::uint32_t timers_popped_at_once = 64;  // ours: then the lock is free for a moment. Row sleep_many
// Ours: how many dead entries, beyond those that are due, are dropped at each look. Row sleep_many
inline constexpr std::uint32_t timers_dropped_ahead_max = 1024;

}  // namespace thrum::rt
