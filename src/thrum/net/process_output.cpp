// thrum::output (thrum/process.h): runs a program and collects its output. A second goroutine reads standard error
// while the caller reads standard output, because the program would block if it filled a pipe that is not read.
#include "core/current.h"
#include "core/forked.h"
#include <thrum/context.h>
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/process.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum {
namespace {

// Reads to the end of the pipe. Errors end the reading and are not reported, because they occur only after give_up has
// closed the pipe; gather reports the context's error then.
std::string read_all(fd& from) {
  constexpr std::size_t part = 64UL * 1024;
  std::string all;
  std::error_code error;
  for (std::size_t more = 1; more != 0 && from.is_open();) {
    std::size_t const had = all.size();
    all.resize(had + part);
    more = from.read_some({all.data() + had, part}, error);
    all.resize(had + more);
  }
  return all;
}

child_stream unless_chosen(child_stream const& chosen, stdio otherwise) noexcept {
  return chosen.is(stdio::inherited) ? child_stream(otherwise) : chosen;
}

void give_up(process& running) noexcept {
  std::error_code ignored;
  running.kill(SIGKILL, ignored);
  running.out().close(ignored);
  running.err().close(ignored);
}

// Waits for the child. When the context is done it kills the child, waits for its end and returns the context's error.
// If this process may not kill the child, it does not wait for it.
exit_status wait_or_kill(process& running, context const& ctx, std::error_code& error) {
  exit_status const ended = running.wait(ctx, error);
  if (!error || error != ctx.err()) return ended;
  std::error_code denied;
  running.kill(SIGKILL, denied);  // the context's callback (give_up) may not have run yet
  return denied ? ended : running.wait(denied);
}

process_output gather(context const* ctx, std::vector<std::string> const& command, process_options chosen,
                      std::error_code& error) {
  if (rt::callers_m() == nullptr)
    throw std::logic_error(std::string("thrum: output would have to wait, but ") + rt::why_no_runtime());
  if (ctx != nullptr && ctx->err()) {
    error = ctx->err();
    return {};
  }
  chosen.in = unless_chosen(chosen.in, stdio::null);
  chosen.out = unless_chosen(chosen.out, stdio::pipe);
  chosen.err = unless_chosen(chosen.err, stdio::pipe);
  // Shared, because the goroutine that reads and the context's callback may outlive this call if it throws.
  auto const running = std::make_shared<process>(process::start(command, chosen, error));
  if (error) return {};
  std::optional<context_callback> on_done;
  bool has_ended = false;
  defer const unless_ended = [&] {
    if (has_ended) return;
    if (on_done) static_cast<void>(on_done->stop());
    give_up(*running);
  };
  if (ctx != nullptr) on_done.emplace(after_func(*ctx, [running] { give_up(*running); }));
  process_output result;
  auto other = spawn([running] { return read_all(running->err()); });
  result.out = read_all(running->out());
  result.err = other.join();
  result.status = ctx == nullptr ? running->wait(error) : wait_or_kill(*running, *ctx, error);
  has_ended = true;
  if (on_done && !on_done->stop() && ctx->err()) error = ctx->err();
  return result;
}

}  // namespace

process_output output(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error) {
  return gather(nullptr, command, chosen, error);
}

process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen,
                      std::error_code& error) {
  return gather(&ctx, command, chosen, error);
}

process_output output(std::vector<std::string> const& command, process_options const& chosen) {
  return detail::or_throw(detail::call_to{"output", detail::program_of(command)},
                          [&](std::error_code& e) { return output(command, chosen, e); });
}

process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen) {
  return detail::or_throw(detail::call_to{"output", detail::program_of(command)},
                          [&](std::error_code& e) { return output(ctx, command, chosen, e); });
}

}  // namespace thrum
