// signals: the program's signals as a channel (Go's os/signal).
//
//   auto stop = thrum::signals(SIGINT, SIGTERM);
//   thrum::select(thrum::on_recv(stop, [&](auto) { server.close(); }), ...);
//   thrum::stop_signals(stop);   // from now on they do again what they did before
//
// A signal to which there is a subscription does not end the program. Each subscriber gets it, once for several that came before it
// looked. The channel holds 16 signals, and one that finds it full is dropped for that subscriber. A subscriber that closes its channel is
// subscribed no more. While there is a subscription that was made in this run, the program does not count as deadlocked, because a
// signal may come. Needs a runtime that is alive. Not for SIGKILL, SIGSTOP, the runtime's preemption signal, or signals that tell of a
// fault: these are invalid_argument. Errors: a form that throws std::system_error and one with a std::error_code.
#pragma once

#include <thrum/chan.h>
#include <thrum/fd.h>

#include <concepts>
#include <initializer_list>
#include <system_error>

namespace thrum {

// In braces, since the error comes last: signals({SIGINT, SIGTERM}, error). All of them or none; with an error the channel is nil.
[[nodiscard]] chan<int> signals(std::initializer_list<int> numbers, std::error_code& error);
template <std::same_as<int>... Numbers>
requires(sizeof...(Numbers) > 0) [[nodiscard]] chan<int> signals(Numbers... numbers) {
  return detail::or_throw("signals", [&](std::error_code& e) { return signals({numbers...}, e); });
}

void stop_signals(chan<int> const& subscribed);

}  // namespace thrum
