// The thread of a server that answers requests from outside while a run is alive: that of the debug socket and that of
// the live view. What such a server does on the thread is up to the class that derives from this one.
//
// It needs no P, and it wakes no goroutine, so it does not hide a deadlock, and it answers whatever the goroutines do.
//
// The owner makes the server, starts it, and calls end(). A request that is being answered may take long: it may look
// names up, or wait for the loader's lock. Then the thread is left behind, and deletes the server when it comes to its
// end. What a request uses of the run has to be guarded (boot/run_gate.h).
//
// The server has a socket that listens. end() closes it, also if the thread is left behind, so its address is free.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "core/timer_heap.h"
#include "os/clock.h"
#include "os/note.h"
#include "os/private_socket.h"
#include "os/socket.h"
#include "os/thread.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace thrum::rt::debug {

// How long a server waits for descriptors or memory when the process has none left.
inline constexpr std::int64_t without_resources_ns = 1'000'000'000;

// A fast client of a long answer gets at most so many parts of it before the other clients have their turn.
inline constexpr int parts_at_once = 16;

[[nodiscard]] inline bool would_wait(long result) noexcept { return result == -EAGAIN || result == -EWOULDBLOCK; }

// The descriptors of a server, by their places. The server's thread changes them, and a child of fork closes them.
template <std::size_t Count>
class server_descriptors {
 public:
  server_descriptors() noexcept {
    for (auto& fd : all_) fd.store(-1, relaxed);
  }
  server_descriptors(server_descriptors const&) = delete;
  server_descriptors& operator=(server_descriptors const&) = delete;
  ~server_descriptors() {
    for (std::size_t where = 0; where < Count; ++where) close(where);
  }

  void keep(std::size_t where, int fd) noexcept { all_[where].store(fd, relaxed); }
  // A child of fork that is made between the two steps keeps the descriptor. In the other order it would close another
  // file that has the same number by then.
  void close(std::size_t where) noexcept {
    if (int const open = all_[where].exchange(-1, relaxed); open >= 0) os::close(open);
  }
  // On another thread than the server's. That one may be using the number, so the number stays in use, for a file of
  // the server that is open already.
  void replace(std::size_t where, int by) const noexcept {
    if (int const open = at(where); open >= 0) os::replace(open, by);
  }
  [[nodiscard]] int at(std::size_t where) const noexcept { return all_[where].load(relaxed); }
  void close_in_child() const noexcept {
    for (auto const& fd : all_) {
      if (int const open = fd.load(relaxed); open >= 0) os::close(open);
    }
  }

 private:
  std::array<atomic<int>, Count> all_;
};

class server_thread {
 public:
  server_thread(server_thread const&) = delete;
  server_thread& operator=(server_thread const&) = delete;

  // Begins to serve. Returns false, with the errno in `error`, if the thread cannot be made.
  [[nodiscard]] bool start(int& error);
  // After this no request is begun, and clients are disconnected. Waits for the request that is being answered for
  // `patience_ns` at most. The server is destroyed, or left to its thread.
  static void end(server_thread* its, std::int64_t patience_ns) noexcept;

  // No request is begun from now on. Any thread, also in a signal handler.
  void ask_to_end() noexcept;
  // Whether the thread serves no client any more, and what clients had begun has ended. Any thread, after ask_to_end.
  [[nodiscard]] bool has_disconnected_all() const noexcept {
    return is_empty_.load(acquire);  // pairs with thread_main
  }
  // In a child of fork, which has none of the server's threads: closes its descriptors there.
  void close_descriptors_in_child() const noexcept;

 protected:
  // The name of the thread has at most 15 characters. The listener is the server's from now on.
  server_thread(Sched& s, char const* name, int listener) noexcept : sched_(s), name_(name) {
    own_.keep(listener_at, listener);
    static_cast<void>(os::identity_of(listener, listener_));
  }
  virtual ~server_thread() = default;
  friend std::default_delete<server_thread>;

  // On the thread. Returns when is_to_end() is true, and only then, because the check for deadlocks counts the thread.
  virtual void serve() = 0;
  // On the thread, behind serve(): disconnects all clients.
  virtual void disconnect_all() noexcept = 0;
  virtual void close_own_descriptors_in_child() const noexcept = 0;

  [[nodiscard]] bool is_to_end() const noexcept { return is_to_end_.load(acquire); }  // pairs with ask_to_end
  // A descriptor that can be read from when the server is to end.
  [[nodiscard]] pollfd end_to_poll() const noexcept { return {own_.at(end_at), POLLIN, 0}; }

  // --- new clients. On the thread ---

  // What to poll for them. The listener is left out while the process has no descriptor left for them.
  [[nodiscard]] pollfd listener_to_poll(std::int64_t now_ns) const noexcept {
    return {accepts_from_ns_ <= now_ns ? own_.at(listener_at) : -1, POLLIN, 0};
  }
  // When to poll for them although they were left out.
  [[nodiscard]] std::int64_t accepts_from_ns(std::int64_t now_ns) const noexcept {
    return accepts_from_ns_ <= now_ns ? never_ns : accepts_from_ns_;
  }
  // Calls admit(fd) for each client that waits, and for `most` at once, if poll has found these events.
  template <class Admit>
  void take_clients(short events, std::size_t most, Admit admit) {
    if (events == 0) return;
    if ((events & POLLIN) == 0) return forget_listener();
    accepts_from_ns_ = 0;
    for (std::size_t i = 0; i < most && !is_to_end(); ++i) {
      int const fd = os::accept(own_.at(listener_at));
      if (fd >= 0) {
        admit(fd);
      } else if (would_wait(fd)) {
        return;
      } else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS) {
        accepts_from_ns_ = os::monotonic_ns() + without_resources_ns;
        return;
      } else if (fd == -EINVAL || fd == -ENOTSOCK || fd == -EOPNOTSUPP || fd == -EBADF) {
        return forget_listener();
      }
    }
  }

 private:
  // The program has closed it, and the number may be that of another file by now. After end() it is the server's.
  void forget_listener() noexcept {
    if (!is_to_end()) own_.keep(listener_at, -1);
  }
  void stop_listening() noexcept;
  enum class stage : std::uint8_t { serves, has_ended, is_left };
  static void* thread_main(void* self);

  Sched& sched_;
  char const* const name_;
  os::file_identity listener_;
  os::thread thread_{};
  int tid_ = 0;
  os::note ended_;
  atomic<stage> at_{stage::serves};
  atomic<bool> is_to_end_{false};
  atomic<bool> is_empty_{false};
  enum : std::size_t { end_at, ask_at, listener_at, own_count };  // a pipe, and the listener
  server_descriptors<own_count> own_;
  std::int64_t accepts_from_ns_ = 0;  // of the thread
};

}  // namespace thrum::rt::debug
