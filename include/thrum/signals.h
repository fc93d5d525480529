// signals: receives the signals of the program from a channel (Go's os/signal).
//
//   auto stop = thrum::signals(SIGINT, SIGTERM);
//   thrum::select(thrum::on_recv(stop, [&](auto) { server.close(); }), ...);
//   thrum::stop_signals(stop);   // the signals have their previous effect again
//
//  - A signal with a subscription does not end the program. Each subscriber receives it. If it comes several times
//    before the runtime has delivered it, the subscribers receive it once.
//  - The channel holds 16 signals. If it is full, a further signal is dropped for that subscriber.
//  - A subscriber that closes its channel is unsubscribed.
//  - While there is a subscription that was made in this run, the program does not count as deadlocked, because a
//    signal may come.
//  - A runtime must be alive. SIGKILL, SIGSTOP, the runtime's preemption signal and signals that report a fault are
//    invalid_argument.
//
// Errors: there is a form that throws std::system_error and one with a std::error_code.
#pragma once

#include <thrum/chan.h>
#include <thrum/fd.h>

#include <concepts>
#include <initializer_list>
#include <system_error>

namespace thrum {

// The numbers are in braces, because the error comes last: signals({SIGINT, SIGTERM}, error). Subscribes to all of them
// or to none. With an error the channel is nil.
[[nodiscard]] chan<int> signals(std::initializer_list<int> numbers, std::error_code& error);
template <std::same_as<int>... Numbers>
requires(sizeof...(Numbers) > 0) [[nodiscard]] chan<int> signals(Numbers... numbers) {
  return detail::or_throw("signals", [&](std::error_code& e) { return signals({numbers...}, e); });
}

void stop_signals(chan<int> const& subscribed);

}  // namespace thrum
