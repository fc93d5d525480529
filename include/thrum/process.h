// process: other programs, as goroutines see them.
//
//   auto [status, out, err] = thrum::output({"git", "rev-parse", "HEAD"});
//   if (!status.ok()) std::fprintf(stderr, "git: %s", err.c_str());
//
//   auto sort = thrum::process::start({"sort", "-n"}, {.in = thrum::stdio::pipe, .out = thrum::stdio::pipe});
//   auto writer = thrum::spawn([&] { sort.in().write_all(numbers); sort.in().close(); });   // a pipe holds but 64 KiB
//   while (auto n = sort.out().read_some(bytes)) ...;
//   writer.join();                                                                          // it uses `sort`
//   thrum::exit_status how = sort.wait();
//
// wait parks its goroutine and no thread: thousands may wait. It costs a descriptor while it waits; where there is none left, or
// before Linux 5.4, it keeps a thread instead, as an announced call (blocking.h), and one with a time limit looks now and then.
// start keeps its thread until the child has become the program (some 100 us), announced as well. A waiting child is no deadlock.
//
// A child gets the three standard streams and no other descriptor, no blocked signal, and the default action of SIGPIPE. A
// program that cannot be started is an error of start (no_such_file_or_directory, permission_denied, ...), not an exit code.
//
// Errors: each call has a form that throws std::system_error and one with a std::error_code. no_child_process: how it ended is
// not known, because the program ignores SIGCHLD or somebody else waits for all children. Signals never go to a stranger: once
// the child's end was collected its number means nothing here. (Before Linux 5.4, where a child is known by its number alone, that
// holds unless somebody else collects the end at this very moment.)
//
// Outside a run start, wait and kill work too, and keep their thread. What reads or writes pipes, output among it, throws
// std::logic_error there, and who is dropped there is collected by the system, when this program ends.
//
// Dropping a process leaves the child alone, as in Go and unlike std::thread: a program that was started has a life of its own.
// Its pipes are closed, and a goroutine collects its end when it comes, so that it does not stay a zombie (should the run end
// first, the system does when this program ends). Whoever wants it ended says so: kill or terminate.
//
// Thread safety: wait in all its forms, kill, terminate and the pipes may be used by any number of goroutines at a time. Moving,
// assigning and destroying it are for one alone.
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

// How a child ended: with a code, or by a signal.
class exit_status {
 public:
  exit_status() noexcept = default;  // a code of 0
  [[nodiscard]] static exit_status of_code(int code) noexcept { return {code, 0, false}; }
  [[nodiscard]] static exit_status of_signal(int signal, bool dumped_core) noexcept { return {0, signal, dumped_core}; }

  [[nodiscard]] bool exited() const noexcept { return signal_ == 0; }
  [[nodiscard]] bool ok() const noexcept { return exited() && code_ == 0; }
  [[nodiscard]] int code() const noexcept { return exited() ? code_ : -1; }  // -1: a signal ended it
  [[nodiscard]] int signal() const noexcept { return signal_; }              // 0: none did
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
  inherited,  // this program's own
  null,       // nothing to read, and what is written is lost
  pipe,       // process::in, out, err have the other end
  as_output,  // for err: wherever out goes
};

// One of those, or a descriptor, which stays the caller's. One that is open as a thrum::fd does not block in the child either.
class child_stream {
 public:
  child_stream(stdio what = stdio::inherited) noexcept : what_(what) {}  // NOLINT(google-explicit-constructor)
  explicit child_stream(int descriptor) noexcept : descriptor_(descriptor) {}

  [[nodiscard]] bool is(stdio what) const noexcept { return !descriptor_ && what_ == what; }
  [[nodiscard]] stdio what() const noexcept { return what_; }  // unless there is a descriptor
  [[nodiscard]] std::optional<int> descriptor() const noexcept { return descriptor_; }

 private:
  stdio what_ = stdio::inherited;
  std::optional<int> descriptor_;
};

struct process_options {
  child_stream in = {};
  child_stream out = {};
  child_stream err = {};
  std::string directory = {};  // where it runs; empty: where this program does
  // "NAME=value", nothing else; without it this program's own. Of several with one name the last counts.
  std::optional<std::vector<std::string>> environment = {};
  std::vector<std::string> extra_environment = {};  // beside those or in their place
  bool close_descriptors = true;  // false: those without close-on-exec are inherited, as with fork and exec
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

  // The first word is the program, searched in PATH unless it has a slash, the others are its arguments. A path that does not
  // begin with a slash begins in the directory where the child runs.
  static process start(std::vector<std::string> const& command, process_options const& chosen = {}) {
    return detail::or_throw(detail::call_to{"start", detail::program_of(command)},
                            [&](std::error_code& e) { return start(command, chosen, e); });
  }
  static process start(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error);

  explicit operator bool() const noexcept { return child_ != nullptr; }
  [[nodiscard]] int id() const noexcept;  // its number in the system; 0: none

  // Our ends of the pipes; not open if there is none. Close in() to let the child see the end.
  [[nodiscard]] fd& in() noexcept { return streams_[0]; }
  [[nodiscard]] fd& out() noexcept { return streams_[1]; }
  [[nodiscard]] fd& err() noexcept { return streams_[2]; }

  // Until it has ended. As often as you like.
  exit_status wait() {
    return detail::or_throw("process::wait", [&](std::error_code& e) { return wait(e); });
  }
  exit_status wait(std::error_code& error) { return wait_until_ns(never, nullptr, error).value_or(exit_status()); }
  // Or until the context is done: then the error is the context's, and the child goes on.
  exit_status wait(context const& ctx) {
    return detail::or_throw("process::wait", [&](std::error_code& e) { return wait(ctx, e); });
  }
  exit_status wait(context const& ctx, std::error_code& error) {
    return wait_until_ns(never, &ctx, error).value_or(exit_status());
  }
  // Empty: it has not ended. An error is one of waiting; the time that is over is none.
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
  // Does not wait.
  std::optional<exit_status> try_wait() {
    return detail::or_throw("process::try_wait", [&](std::error_code& e) { return try_wait(e); });
  }
  std::optional<exit_status> try_wait(std::error_code& error) noexcept;

  // Sends a signal; nothing happens if the child has ended. Does not wait.
  void kill(int signal = SIGKILL) {
    detail::or_throw("process::kill", [&](std::error_code& e) { kill(signal, e); });
  }
  void kill(int signal, std::error_code& error) noexcept;

  // Asks it to end by SIGTERM, waits so long, then ends it by SIGKILL.
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

// Starts it, gathers what it writes to both streams at once, and waits for its end. It has nothing to read. A stream for which
// something else than `inherited` was chosen is that instead. When the context is done the child is killed: the error is
// the context's, and what it has written by then is there. One that was done before starts nothing; a child that may not be
// killed (it runs as another user) is left alone. An exception (no memory) kills the child as well. Returns when the pipes are
// closed: programs that the child has started and left behind may keep them open.
process_output output(std::vector<std::string> const& command, process_options const& chosen = {});
process_output output(std::vector<std::string> const& command, process_options const& chosen, std::error_code& error);
process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen = {});
process_output output(context const& ctx, std::vector<std::string> const& command, process_options const& chosen,
                      std::error_code& error);

}  // namespace thrum
