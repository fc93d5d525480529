#include "boot/trace_signal.h"

#include "base/atomic.h"
#include "boot/start_error.h"
#include "debug/helper_thread.h"
#include "os/futex.h"
#include "os/request_signal.h"
#include "os/signal.h"

#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum::rt {
namespace {

// The handler may run on any thread, also on one that outlives the run, so it touches only this word. The highest bit
// asks the thread to end, and the others count signals.
constinit atomic<std::uint32_t> word{0};
constexpr std::uint32_t end_bit = std::uint32_t{1} << 31U;

void on_signal() noexcept {
  word.fetch_add(1U, release);
  static_cast<void>(os::futex_wake(word, 1));
}

struct named_signal {
  std::string_view name;
  int number;
};
// Those whose other use in a program is its own.
constexpr named_signal names[] = {{"HUP", SIGHUP},     {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                  {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR}};

}  // namespace

int signal_number_of(char const* text) {
  std::string_view name = text;
  int number = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc{} && end == name.data() + name.size() && number > 0 && number <= SIGRTMAX) return number;
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (named_signal const& each : names) {
    if (name == each.name) return each.number;
  }
  throw std::invalid_argument(std::string("thrum: THRUM_TRACE_SIGNAL=") + text +
                              " is no signal: use USR1, USR2, HUP, WINCH, IO, PWR or a number");
}

trace_signal::trace_signal(Sched& s, int number, void (*answer)(void*) noexcept, void* argument)
    : sched_(s), answer_(answer), argument_(argument) {
  word.store(0, relaxed);  // the handler is not installed yet
  if (int const error = make_helper_thread(s, thread_, thread_main, this)) {
    throw_system_error(error, "cannot make a thread for THRUM_TRACE_SIGNAL");
  }
  if (os::install_request_signal(os::request::trace, number, on_signal)) return;
  word.fetch_or(end_bit, release);
  static_cast<void>(os::futex_wake(word, 1));
  join_helper_thread(s, thread_, tid_);
  throw std::runtime_error("thrum: THRUM_TRACE_SIGNAL: the program has an action of its own for signal " +
                           std::to_string(number) + "; choose another signal");
}

trace_signal::~trace_signal() {
  os::remove_request_signal(os::request::trace);
  if (os::process_id() != process_) return;  // a child of fork has no such thread
  word.fetch_or(end_bit, release);           // pairs with answer_until_end
  static_cast<void>(os::futex_wake(word, 1));
  join_helper_thread(sched_, thread_, tid_);
}

void* trace_signal::thread_main(void* self) {
  os::set_thread_name("thrum-signal");
  auto& me = *static_cast<trace_signal*>(self);
  me.tid_ = os::current_tid();
  me.answer_until_end();
  return nullptr;
}

void trace_signal::answer_until_end() {
  for (std::uint32_t answered = 0;;) {
    std::uint32_t const seen = word.load(acquire);  // pairs with the handler and with the end
    if ((seen & end_bit) != 0) return;
    if (seen == answered) {
      static_cast<void>(os::futex_wait(word, seen));
    } else {
      ++answered;
      answer_(argument_);
    }
  }
}

}  // namespace thrum::rt
