// signals: the program's signals as a channel (Go's os/signal).
//
//   auto stop = thrum::signals(SIGINT, SIGTERM);
//   thrum::select(thrum::on_recv(stop, [&](auto) { server.close(); }), ...);
//   thrum::stop_signals(stop);   // from now on they do again what they did before
//
// A signal that somebody subscribed to does not end the program. Each subscriber gets it, once for several that came before he
// looked; the channel holds 16, and what finds it full is dropped for him. While anybody is subscribed in this run, the program
// does not count as deadlocked: a signal may come. Needs a runtime that is alive. Not for SIGKILL, SIGSTOP, the runtime's
// preemption signal, or signals that tell of a fault.
#pragma once

#include <thrum/chan.h>

#include <concepts>
#include <initializer_list>
#include <system_error>

namespace thrum {

namespace detail {
// Throws std::system_error.
[[nodiscard]] chan<int> subscribe_to_signals(std::initializer_list<int> numbers);
}  // namespace detail

template <std::same_as<int>... Numbers>
requires(sizeof...(Numbers) > 0) [[nodiscard]] chan<int> signals(Numbers... numbers) {
  return detail::subscribe_to_signals({numbers...});
}

void stop_signals(chan<int> const& subscribed);

}  // namespace thrum
