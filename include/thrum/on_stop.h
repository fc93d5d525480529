// on_stop: a case of select that is ready as soon as a stop is requested.
//
//   thrum::select(thrum::on_recv(jobs, work), thrum::on_stop(token, [&] { finished = true; }));
//
// Use it for a token that comes from elsewhere, such as that of a std::jthread. Inside thrum a context does the same at
// lower cost: on_recv(ctx.done(), ...) allocates nothing, while an on_stop allocates a channel and a callback. A token
// that can never be stopped is never ready. The stop may be requested on any thread.
#pragma once

#include <thrum/context.h>
#include <thrum/select.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

namespace thrum {

template <class F = detail::do_nothing>
[[nodiscard]] auto on_stop(std::stop_token token, F f = {}) {
  context until_stopped(std::move(token));
  context::done_channel done = until_stopped.done();
  return on_recv(std::move(done), [held = std::move(until_stopped),
                                   f = std::move(f)](std::optional<std::monostate> const&) mutable { std::invoke(f); });
}

}  // namespace thrum
