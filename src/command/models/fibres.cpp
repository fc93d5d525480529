#include "command/models/fibres.h"

#include "command/models/give_up.h"
#include "os/thread.h"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace thrum::command {
namespace {

constexpr std::size_t guard_bytes = 65536;         // a multiple of every page size
constexpr std::size_t stack_bytes = 256UL * 1024;  // as thrum's goroutines have
constexpr std::size_t mapped_bytes = guard_bytes + stack_bytes;
constexpr std::size_t record_bytes = (sizeof(fibre) + 63) / 64 * 64;

// The stacks begin at different lines of a page, as those of thrum do. Otherwise their most used parts would be in a
// few sets of the CPU's cache.
char* place_of_record(char* memory, std::size_t number) {
  return memory + mapped_bytes - record_bytes - number % 16 * 64;
}

}  // namespace

struct fibre_scheduler::worker {
  fibre_scheduler& scheduler;
  rt::context own{};
  fibre* running = nullptr;
  std::function<void()> const* when_parked = nullptr;  // null: the fibre has ended
};

// A fibre may be on another thread after each switch. So the function is never inlined, and the asm keeps compilers
// from merging two calls, which clang does with functions that have no effect.
THRUM_OPAQUE fibre_scheduler::worker*& fibre_scheduler::here() noexcept {
  thread_local constinit worker* of_thread = nullptr;
  worker** address = &of_thread;
  asm volatile("" : "+r"(address));
  return *address;
}

fibre_scheduler& fibre_scheduler::current() noexcept { return here()->scheduler; }

fibre* fibre_scheduler::running() noexcept { return here()->running; }

fibre_scheduler::fibre_scheduler(unsigned threads) : limit_(threads) {}

fibre_scheduler::~fibre_scheduler() {
  for (fibre* const each : all_) {
    rt::forget_context(each->own);
    char* const memory = each->memory;
    std::destroy_at(each);
    ::munmap(memory, mapped_bytes);
  }
}

void fibre_scheduler::run(std::function<void()> main) {
  bool has_ended = false;
  fibre* const first = make_fibre();
  first->body = [&, body = std::move(main)] {
    body();
    std::scoped_lock const held(mutex_);
    has_ended = is_over_ = true;
    work_came_.notify_all();
    main_ended_.notify_one();
  };
  queue_.push_back(first);
  std::unique_lock held(mutex_);
  for (unsigned i = 0; i < limit_; ++i) add_thread();
  main_ended_.wait(held, [&] { return has_ended; });
  // No thread is added any more, because all fibres have ended.
  std::vector<std::thread> threads = std::move(threads_);
  held.unlock();
  for (std::thread& each : threads) each.join();
}

void fibre_scheduler::add_thread() {
  start_or_give_up([this] { threads_.emplace_back([this] { work(); }); });
}

void fibre_scheduler::prepare(fibre& one) {
  rt::make_context(one.own, one.memory + guard_bytes, reinterpret_cast<char*>(&one), enter);
}

fibre* fibre_scheduler::make_fibre() {
  if (!ended_.empty()) {
    fibre* const used = ended_.back();
    ended_.pop_back();
    rt::forget_context(used->own);
    prepare(*used);
    return used;
  }
  void* const memory =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const low = static_cast<char*>(memory);
  ::madvise(memory, mapped_bytes, MADV_NOHUGEPAGE);
  if (::mprotect(memory, guard_bytes, PROT_NONE) != 0) {
    ::munmap(memory, mapped_bytes);
    throw std::bad_alloc();
  }
  fibre* const made = ::new (place_of_record(low, all_.size())) fibre;
  made->memory = low;
  all_.push_back(made);
  prepare(*made);
  return made;
}

void fibre_scheduler::start(std::function<void()> body) {
  auto const held = lock();
  fibre* const made = make_fibre();
  made->body = std::move(body);
  put(*made);
}

// The first function of each fibre.
void fibre_scheduler::enter() {
  running()->body();
  running()->body = nullptr;
  worker& mine = *here();
  mine.when_parked = nullptr;
  rt::switch_context(mine.running->own, mine.own, rt::departure::for_good);
}

// The caller holds the lock.
void fibre_scheduler::put(fibre& one) {
  queue_.push_back(&one);
  if (idle_ != 0 && busy_ < limit_) work_came_.notify_one();
}

void fibre_scheduler::ready(fibre& waiter) {
  auto const held = lock();
  put(waiter);
}

void fibre_scheduler::park(std::function<void()> const& when_parked) {
  worker& mine = *here();
  mine.when_parked = &when_parked;
  rt::switch_context(mine.running->own, mine.own, rt::departure::comes_back);
}

void fibre_scheduler::blocking(std::function<void()> const& call) {
  if (has_one_thread()) {
    call();
    return;
  }
  {
    std::scoped_lock const held(mutex_);
    --busy_;
    if (idle_ != 0) {
      work_came_.notify_one();
    } else {
      add_thread();
    }
  }
  call();
  {
    std::scoped_lock const held(mutex_);
    if (busy_ < limit_) {
      ++busy_;
      return;
    }
  }
  // The thread has no right to run fibres, so the fibre queues for one that has. work() subtracts this thread from the
  // busy ones again, and then looks at the queue itself.
  park([this] {
    std::scoped_lock const held(mutex_);
    ++busy_;
    queue_.push_back(running());
  });
}

// Returns null when all is over.
fibre* fibre_scheduler::next(std::unique_lock<std::mutex>& held) {
  auto const may_run = [this] { return is_over_ || (!queue_.empty() && busy_ < limit_); };
  if (!may_run() && has_one_thread()) held.lock();  // only to sleep, which happens if the fibres are deadlocked
  while (!may_run()) {
    ++idle_;
    work_came_.wait(held);
    --idle_;
  }
  if (queue_.empty()) return nullptr;
  fibre* const found = queue_.front();
  queue_.pop_front();
  ++busy_;
  return found;
}

void fibre_scheduler::work() {
  worker mine{*this};
  here() = &mine;
  auto const bounds = rt::os::current_thread_stack();
  rt::adopt_thread_stack(mine.own, bounds.low, bounds.high);
  {
    std::scoped_lock const started(mutex_);  // pairs with run(), which still holds it while it adds threads
  }
  auto held = lock();
  while ((mine.running = next(held)) != nullptr) {
    if (held.owns_lock()) held.unlock();
    rt::switch_context(mine.own, mine.running->own, rt::departure::comes_back);
    bool const has_ended = mine.when_parked == nullptr;
    if (!has_ended) (*mine.when_parked)();
    if (!has_one_thread()) held.lock();
    if (has_ended) ended_.push_back(mine.running);
    --busy_;
  }
}

}  // namespace thrum::command
