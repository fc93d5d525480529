// process: starts other programs and waits for them.
//
//   auto [status, out, err] = thrum::output({"git", "rev-parse", "HEAD"});
//   if (!status.ok()) std::fprintf(stderr, "git: %s", err.c_str());
//
//   auto sort = thrum::process::start({"sort", "-n"}, {.in = thrum::stdio::pipe, .out = thrum::stdio::pipe});
//   auto writer = thrum::spawn([&] { sort.in().write_all(numbers); sort.in().close(); });   // a pipe holds only 64 KiB
//   while (auto n = sort.out().read_some(bytes)) ...;
//   writer.join();                                                                          // it uses `sort`
//   thrum::exit_status how = sort.wait();
//
// Waiting: wait parks its goroutine and keeps no thread, so thousands can wait. It uses one descriptor while it waits.
// If no descriptor is free, or before Linux 5.4, it keeps a thread instead, as an announced call (blocking.h), and a
// wait with a time limit checks at intervals. start keeps its thread, also announced, until the child has become the
// program, which takes some 100 us. A goroutine that waits for a child is no deadlock.
//
// The child gets the three standard streams and no other descriptor, no blocked signals, and the default action for
// SIGPIPE. If the program cannot be started, start reports an error (no_such_file_or_directory, permission_denied,
// ...); it is not an exit code.
//
// Errors: each call has a form that throws std::system_error and one with a std::error_code. no_child_process means
// that the exit status is not known, because the program ignores SIGCHLD or other code in it waits for all children.
// Signals never reach an unrelated process, because the child's process id is not used after its exit status was
// collected. Before Linux 5.4 a child is known by its process id alone; then this holds unless other code collects the
// exit status at the very same moment.
//
// Outside a run start, wait and kill work too, and keep their thread. Calls that read or write pipes, output among
// them, throw std::logic_error there. The exit status of a child whose process object is dropped there is collected by
// the system when this program ends.
//
// Dropping a process object does not affect the child, as in Go. (The destructor of std::thread, in contrast, ends the
// program.) The pipes are closed, and a goroutine collects the exit status when the child ends, so that no zombie is
// left. If the run ends first, the system does that when this program ends. To end the child, call kill or terminate.
//
// Thread safety: all forms of wait, kill, terminate and the pipes may be used by any number of goroutines at the same
// time. Moving, assigning and destroying need exclusive access.
#pragma once

#include <thrum/context.h>
#include <thrum/detail/deadline.h>
#include <thrum/fd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace thrum {

// How a child ended: with an exit code, or by a signal.
class exit_status {
 public:
  exit_status() noexcept = default;  // exit code 0
  [[nodiscard]] static exit_status of_code(int code) noexcept { return {code, 0, false}; }
  [[nodiscard]] static exit_status of_signal(int signal, bool dumped_core) noexcept { return {0, signal, dumped_core}; }

  [[nodiscard]] bool exited() const noexcept { return signal_ == 0; }
  [[nodiscard]] bool ok() const noexcept { return exited() && code_ == 0; }
  [[nodiscard]] int code() const noexcept { return exited() ? code_ : -1; }  // -1 if a signal ended the child
  [[nodiscard]] int signal() const noexcept { return signal_; }              // 0 if no signal ended the child
  [[nodiscard]] bool dumped_core() const noexcept { return dumped_core_; }
  friend bool operator==(exit_status const&, exit_status const&) noexcept = default;

 private:
  exit_status(int code, int signal, bool dumped_core) noexcept
      : code_(code), signal_(signal), dumped_core_(dumped_core) {}
  int code_ = 0;
  int signal_ = 0;
  bool dumped_core_ = false;
};

enum class stdio : std::uint8_t {
  inherited,  // the same as this program's
  null,       // /dev/null: nothing to read, and what is written is discarded
  pipe,       // the other end is process::in, out or err
  as_output,  // for err: the same as out
};

// One of these, or a descriptor. The descriptor stays open and remains the caller's. If it belongs to a thrum::fd, it
// is non-blocking in the child too.
class child_stream {
 public:
  child_stream(stdio what = stdio::inherited) noexcept : what_(what) {}  // NOLINT(google-explicit-constructor)
  explicit child_stream(int descriptor) noexcept : descriptor_(descriptor) {}

  [[nodiscard]] bool is(stdio what) const noexcept { return !descriptor_ && what_ == what; }
  [[nodiscard]] stdio what() const noexcept { return what_; }  // valid if there is no descriptor
  [[nodiscard]] std::optional<int> descriptor() const noexcept { return descriptor_; }

 private:
  stdio what_ = stdio::inherited;
  std::optional<int> descriptor_;
};

struct process_options {
  child_stream in = {};
  child_stream out = {};
  child_stream err = {};
  std::string directory = {};  // the working directory; empty: that of this program
  // The whole environment as "NAME=value". Without it the child gets this program's environment. If a name occurs
  // several times, the last one counts.
  std::optional<std::vector<std::string>> environment = {};
  std::vector<std::string> extra_environment = {};  // added to the environment, or replacing variables of it
  bool close_descriptors = true;  // false: descriptors without close-on-exec are inherited, as with fork and exec
};

namespace detail {
struct child;
struct child_dropper {
  void operator()(child* dropped) const noexcept;
};
[[nodiscard]] inline std::string_view program_of(std::vector<std::string> const& command) noexcept {
  return command.empty() ? std::string_view() : std::string_view(command.front());
}
}  // namespace detail

class process {
 public:
  process() noexcept = default;

  // The first word is the program, which is searched in PATH unless it contains a slash. The other words are its
  // arguments. A relative path is relative to the directory in which the child runs.
  static process start(std::vector<std::string> const& command, process_options const& chosen = {}) {
    return detail::or_throw(detail::call_to{"start", detail::program_of(command)},
                            [&](std::error_code& e) { return start(command, chosen, e); });
  }
  static process start(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error);

  explicit operator bool() const noexcept { return child_ != nullptr; }
  [[nodiscard]] int id() const noexcept;  // the process id; 0 if there is no child

  // This program's ends of the pipes. They are not open if there is no pipe. Close in() so that the child sees the end
  // of its input.
  [[nodiscard]] fd& in() noexcept { return streams_[0]; }
  [[nodiscard]] fd& out() noexcept { return streams_[1]; }
  [[nodiscard]] fd& err() noexcept { return streams_[2]; }

  // Waits until the child has ended. May be called any number of times.
  exit_status wait() {
    return detail::or_throw("process::wait", [&](std::error_code& e) { return wait(e); });
  }
  exit_status wait(std::error_code& error) { return wait_until_ns(never, nullptr, error).value_or(exit_status()); }
  // Waits until the child has ended or the context is done. In the second case the error is the context's, and the
  // child goes on.
  exit_status wait(context const& ctx) {
    return detail::or_throw("process::wait", [&](std::error_code& e) { return wait(ctx, e); });
  }
  exit_status wait(context const& ctx, std::error_code& error) {
    return wait_until_ns(never, &ctx, error).value_or(exit_status());
  }
  // Returns an empty optional if the child has not ended in time. That is not an error.
  template <class Rep, class Period>
  std::optional<exit_status> wait_for(std::chrono::duration<Rep, Period> const& limit) {
    return detail::or_throw("process::wait_for", [&](std::error_code& e) { return wait_for(limit, e); });
  }
  template <class Rep, class Period>
  std::optional<exit_status> wait_for(std::chrono::duration<Rep, Period> const& limit, std::error_code& error) {
    return wait_until_ns(detail::deadline_after(limit), nullptr, error);
  }
  template <class Clock, class Duration>
  std::optional<exit_status> wait_until(std::chrono::time_point<Clock, Duration> const& when) {
    return detail::or_throw("process::wait_until", [&](std::error_code& e) { return wait_until(when, e); });
  }
  template <class Clock, class Duration>
  std::optional<exit_status> wait_until(std::chrono::time_point<Clock, Duration> const& when, std::error_code& error) {
    std::optional<exit_status> ended;
    static_cast<void>(detail::attempt_until(when, [&](std::int64_t when_ns) {
      ended = wait_until_ns(when_ns, nullptr, error);
      return ended || error;
    }));
    return ended;
  }
  // Returns an empty optional if the child has not ended. Does not wait.
  std::optional<exit_status> try_wait() {
    return detail::or_throw("process::try_wait", [&](std::error_code& e) { return try_wait(e); });
  }
  std::optional<exit_status> try_wait(std::error_code& error) noexcept;

  // Sends a signal. Does nothing if the child has ended. Does not wait.
  void kill(int signal = SIGKILL) {
    detail::or_throw("process::kill", [&](std::error_code& e) { kill(signal, e); });
  }
  void kill(int signal, std::error_code& error) noexcept;

  // Sends SIGTERM and waits for the end of the child. If it has not ended after the given time, sends SIGKILL.
  template <class Rep, class Period>
  exit_status terminate(std::chrono::duration<Rep, Period> const& patience) {
    return detail::or_throw("process::terminate", [&](std::error_code& e) { return terminate(patience, e); });
  }
  template <class Rep, class Period>
  exit_status terminate(std::chrono::duration<Rep, Period> const& patience, std::error_code& error) {
    kill(SIGTERM, error);
    if (error) return {};
    auto const ended = wait_for(patience, error);
    if (ended || error) return ended.value_or(exit_status());
    kill(SIGKILL, error);
    return error ? exit_status() : wait(error);
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::optional<exit_status> wait_until_ns(std::int64_t when_ns, context const* ctx, std::error_code& error);

  std::unique_ptr<detail::child, detail::child_dropper> child_;
  std::array<fd, 3> streams_;
};

struct process_output {
  exit_status status;
  std::string out;
  std::string err;
};

// Starts a program, collects what it writes to both streams at the same time, and waits for its end. The program has an
// empty standard input. A stream for which `chosen` says something other than `inherited` is used as chosen. output
// returns when the pipes are closed; programs that the child has left running may keep them open.
//
// When the context is done, the child is killed. The error is then the context's, and what the child has written by
// then is returned. If the context is done before the call, nothing is started. A child that may not be killed, because
// it runs as another user, is left running. An exception (no memory) kills the child as well.
process_output output(std::vector<std::string> const& command, process_options const& chosen = {});
process_output output(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error);
process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen = {});
process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen,
                      std::error_code& error);

}  // namespace thrum
