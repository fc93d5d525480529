// A program with one P and a goroutine in each state, which gdb stops in stop_here(), or which aborts there. Each
// goroutine has a name, by which the tests find it. The functions are named for what they wait for, so a stack tells
// which goroutine it is.
#include "core/current.h"
#include "support/goroutines.h"
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

static bool aborts = false;

extern "C" [[gnu::noinline]] void stop_here() {
  if (aborts) {
    std::signal(SIGABRT, SIG_DFL);  // while thrum wrote its report, other goroutines would run
    std::abort();
  }
  asm volatile("");
}

namespace target {

using namespace std::chrono_literals;
namespace rt = thrum::rt;

// Global, so that a debugger can print them. They outlive the goroutines, because the program does not end by itself.
thrum::chan<int> numbers(4);
thrum::chan<std::string> words(2);
thrum::chan<int> empty;
thrum::chan<int> wakes;
thrum::mutex lock;
thrum::wait_group group;
thrum::cancelable cancelled = thrum::with_cancel(thrum::context());

// The value that each function has in its frame, for the debugger to find. The access at the end of the function also
// keeps the call before it from being the function's last, which would have no frame.
using in_frame = int const volatile;

[[gnu::noinline]] void receive_in_vain(int request) {
  in_frame number = request;
  static_cast<void>(empty.recv());
  static_cast<void>(number);
}
[[gnu::noinline]] void wait_in_select(int request) {
  in_frame number = request;
  thrum::select(thrum::on_recv(empty), thrum::on_send(numbers, 5));
  static_cast<void>(number);
}
[[gnu::noinline]] void hold_the_lock(int request) {
  in_frame number = request;
  lock.lock();
  receive_in_vain(request);
  static_cast<void>(number);
}
[[gnu::noinline]] void want_the_lock(int request) {
  in_frame number = request;
  lock.lock();
  static_cast<void>(number);
}
[[gnu::noinline]] void wait_for_group(int request) {
  in_frame number = request;
  group.wait();
  static_cast<void>(number);
}
[[gnu::noinline]] void sleep_long(int request) {
  in_frame number = request;
  thrum::sleep_for(1h);
  static_cast<void>(number);
}
[[gnu::noinline]] void read_from_socket(int request) {
  in_frame number = request;
  auto [here, there] = thrum::unix_conn::pair();
  std::array<std::byte, 8> bytes{};
  static_cast<void>(here.read_some(thrum::mutable_buffer(bytes.data(), bytes.size())));
  static_cast<void>(number);
}
[[gnu::noinline]] void read_from_pipe(int request) {
  in_frame number = request;
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  char byte = 0;
  if (thrum::blocking([&] { return ::read(ends[0], &byte, 1); }) != 1) std::abort();
  static_cast<void>(number);
}
[[gnu::noinline]] void compute_for_ever(int request) {
  in_frame number = request;
  for (;;) static_cast<void>(number);
}
[[gnu::noinline]] void wait_to_be_woken(int request) {
  in_frame number = request;
  for (;;) {
    static_cast<void>(wakes.recv());
    static_cast<void>(number);
  }
}
[[gnu::noinline]] void wait_on_own_thread(int request) {
  in_frame number = request;
  thrum::os_thread_lock const here;
  receive_in_vain(request);
  static_cast<void>(number);
}
[[gnu::noinline]] void join_the_inner(int request) {
  in_frame number = request;
  auto inner = thrum::spawn([] {
    thrum::this_goroutine::set_name("inner");
    receive_in_vain(3);
  });
  inner.join();
  static_cast<void>(number);
}
[[gnu::noinline]] void join_the_middle(int request) {
  in_frame number = request;
  auto middle = thrum::spawn([] {
    thrum::this_goroutine::set_name("middle");
    join_the_inner(2);
  });
  middle.join();
  static_cast<void>(number);
}

template <void (*f)(int)>
void start(std::string_view name) {
  thrum::go([name] {
    thrum::this_goroutine::set_name(name);
    f(7);
  });
}

rt::G const* named(std::string_view name) {
  rt::runtime_mark const mark;
  rt::G const* found = nullptr;
  thrum::test::this_sched().records.for_each_g([&](rt::G const& g) {
    if (g.name != nullptr && g.name == name) found = &g;
  });
  return found;
}

bool an_outsider_waits() {
  rt::Sched& s = thrum::test::this_sched();
  thrum::test::lock_of_sched const guard(s.lock);
  return s.ms.all().find([](rt::M const& m) {
    return m.is_foreign && m.current != nullptr && m.current->status.load(rt::relaxed) == rt::g_status::waiting;
  }) != nullptr;
}

void yield_until_status(std::string_view name, rt::g_status wanted) {
  auto const has_it = [&] {
    rt::G const* const g = named(name);
    return g != nullptr && g->status.load(rt::relaxed) == wanted;
  };
  while (!has_it()) thrum::yield();
}

void main() {
  rt::Sched& s = thrum::test::this_sched();
  thrum::this_goroutine::set_name("the main one");
  for (int i = 1; i <= 4; ++i) numbers.send(i * 11);
  words.send("first");
  cancelled.cancel();
  group.add(1);

  start<receive_in_vain>("receiver");
  start<wait_in_select>("selector");
  start<hold_the_lock>("holder");
  yield_until_status("holder", rt::g_status::waiting);
  start<want_the_lock>("contender");
  start<wait_for_group>("group waiter");
  start<sleep_long>("sleeper");
  start<read_from_socket>("reader");
  start<read_from_pipe>("caller");
  start<wait_to_be_woken>("woken");
  start<wait_on_own_thread>("locked");
  start<join_the_middle>("host");
  for (int i = 0; i < 20; ++i) start<receive_in_vain>("one of a crowd");
  std::thread([] { static_cast<void>(empty.recv()); }).detach();

  for (auto const* name :
       {"receiver", "selector", "contender", "group waiter", "sleeper", "reader", "locked", "inner", "woken"}) {
    yield_until_status(name, rt::g_status::waiting);
  }
  yield_until_status("caller", rt::g_status::syscall);
  while (thrum::test::waiting_for(rt::wait_reason::chan_receive) < 25) thrum::yield();
  while (!an_outsider_waits()) thrum::yield();
  start<compute_for_ever>("hog");
  while (s.ms.paused() == 0) thrum::yield();

  // Here main must not be preempted, because others would run then.
  for (;;) {
    thrum::go([] { receive_in_vain(4); });
    wakes.send(1);
    rt::runtime_mark const mark;
    if (named("woken")->status.load(rt::relaxed) == rt::g_status::runnable) stop_here();
  }
}

}  // namespace target

// With an argument the program makes a core file, if the machine lets it.
int main(int count, char**) {
  aborts = count > 1;
  return thrum::run(target::main, {.max_procs = 1});
}
