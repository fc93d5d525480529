// Which goroutine or thread ends the program, and what the others do meanwhile.
//
// A program that crashes has one ender, the first goroutine or thread that asks. The ender makes a report, then a
// function of the program may run, and then the program ends:
//
//   what has happened   ender                  report is made on      function of the program   the program ends by
//   ------------------  ---------------------  ---------------------  ------------------------  -------------------
//   panic               goroutine              its stack              on_panic function         die()
//   misuse              goroutine              its stack              none                      die()
//   std::terminate      goroutine              its stack              terminate handler         SIGABRT
//   fault, abort()      goroutine              the signal stack       none                      that signal
//   stack overflow      goroutine, or thread   the signal stack, or   none                      die()
//                       that runs none         its stack
//
// The ender is a goroutine and not its thread, because the functions of the program may park and continue on another
// thread, while the first thread runs other goroutines. Only a thread that runs no goroutine is an ender itself.
//
// Each goroutine or thread that has to end the program asks for its turn (ask_to_end) and gets one of four answers:
// - first: it is the ender.
// - again: it has been the ender for some time. A crash in the on_panic function or in the terminate handler ends the
//   program at once, without a report of its own. A stack overflow is reported there as well.
// - after_another: another goroutine or thread is the ender, and must not be cut off. A goroutine that panics parks for
//   good, and a thread made for it sleeps. In all other cases the thread sleeps (wait_for_end_of_program), also if it
//   is a foreign thread, whose crashes are not reported. If the ender makes no step for twenty seconds, it ends the
//   program without a report.
// - in_child: the caller runs in a child of fork, _Fork or vfork. It is neither the ender, nor does it wait for one,
//   because the ender is not in the child and the end of the child is not the end of the program. A child of vfork runs
//   in the memory of its parent and must leave no trace there.
//
// Four things end the program at once, without asking: fatal(), because the thread may hold locks that the ender needs;
// a deadlock, because no goroutine can go on; SIGQUIT and exit(), because they are asked for.
//
// The return of main does not end the program at once. The end of the run waits for the ender, with the same limit
// (boot/run_services.cpp), and goroutines run meanwhile. If a goroutine becomes the ender later, when the run is about
// to stop scheduling, the run does not stop it in user code (sys/pause.cpp) and waits for it as well. But then no M
// runs it after any of these, and the end of the run ends the program in its place:
// - Its function waits.
// - Its function wakes another goroutine.
// - Its function uses the runtime after its thread has lost its P, or comes back from an announced call.
// So a run with an ender does not return.
//
// A goroutine that its run has left behind may become the ender when the run is over. Then the program has that ender
// for good, also in later runs. The end of a later run waits for it in the same way.
//
// No locks, no allocation. All functions may be called in a signal handler.
#pragma once

#include <cstdint>

namespace thrum::rt {

struct G;
struct Sched;

enum class ender_turn : std::uint8_t { first, again, after_another, in_child };

// What the ender does after its report.
struct way_to_end {
  int signal = 0;                  // the signal that ends the program; 0: die()
  char const* function = nullptr;  // what runs before that and may park, for a message
};

[[nodiscard]] ender_turn ask_to_end(way_to_end how) noexcept;

// Whether the calling goroutine or thread is the ender.
[[nodiscard]] bool is_ender() noexcept;
// Whether the goroutine is. False in a child.
[[nodiscard]] bool is_ender(G const& g) noexcept;
// Whether another goroutine or thread is the ender. False in a child.
[[nodiscard]] bool another_is_ender() noexcept;
// The run of the goroutine that is the ender. It may be an earlier one, which has left the goroutine behind and
// therefore stays in memory. nullptr: there is no ender, it has only just become the ender, or it is a thread that runs
// no goroutine. Such a thread is not stopped when a run ends. Also nullptr in a child.
[[nodiscard]] Sched const* run_of_ender() noexcept;

[[nodiscard]] bool has_ender() noexcept;
// How the ender ends the program, if there is one.
[[nodiscard]] way_to_end how_program_ends() noexcept;

// Returns when no report has made a step (base/report_limits.h) for twenty seconds, and after two minutes in any case.
// The first limit also holds for the program's function. Without a limit, all threads might wait for each other.
void wait_for_end_of_program() noexcept;
// The same, but also returns when `is_in_vain(argument)` is true. It is called every ten milliseconds.
void wait_for_end_of_program(bool (*is_in_vain)(void const* argument) noexcept, void const* argument) noexcept;
// Ends the program as the ender would have. For a thread that has waited for the ender for too long.
[[noreturn]] void end_in_place_of_ender() noexcept;

// Called when a run begins. The process of the caller is the one that an ender ends. In a child of fork, the ender of
// the parent is forgotten.
void note_process_of_run() noexcept;

}  // namespace thrum::rt
