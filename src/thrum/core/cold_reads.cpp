#include "core/cold_reads.h"

#include "os/chaos.h"

#include <utility>

namespace thrum::rt {

void cold_reads::begin(cold_read& r) noexcept {
  os::lock_guard const guard(lock_);
  r.previous = nullptr;
  r.next = std::exchange(under_way_, &r);
  if (r.next != nullptr) r.next->previous = &r;
  begun_.fetch_add(1U, relaxed);
}

void cold_reads::end(cold_read& r) noexcept {
  os::lock_guard const guard(lock_);
  (r.previous != nullptr ? r.previous->next : under_way_) = r.next;
  if (r.next != nullptr) r.next->previous = r.previous;
  begun_.fetch_sub(1U, relaxed);
}

bool cold_reads::are_of(int fd) noexcept {
  // relaxed: a caller that knows of a read is ordered after it by other means
  if (begun_.load(relaxed) == 0) return false;
  os::lock_guard const guard(lock_);
  cold_read const* each = under_way_;
  while (each != nullptr && each->fd != fd) each = each->next;
  return each != nullptr;
}

// relaxed: only a guess
bool cold_reads::are_few() const noexcept { return begun_.load(relaxed) <= few.load(relaxed); }

bool cold_reads::claim_room() noexcept {
  // relaxed: only the number matters
  if (claimed_.fetch_add(1U, relaxed) < os::uring_questions_max) return true;
  claimed_.fetch_sub(1U, relaxed);
  return false;
}

bool cold_reads::put(cold_read& r) noexcept {
  os::lock_guard const guard(lock_);
  r.queued = nullptr;
  bool const is_first = first_queued_ == nullptr;
  (is_first ? first_queued_ : last_queued_->queued) = &r;
  last_queued_ = &r;
  if (is_first) are_queued_.store(1, relaxed);  // relaxed: the thread maker is notified after it
  return is_first;
}

cold_read* cold_reads::take_queued() noexcept {
  if (are_queued_.load(relaxed) == 0) return nullptr;  // relaxed: the thread that sets it notifies the thread maker
  os::lock_guard const guard(lock_);
  are_queued_.store(0, relaxed);
  return std::exchange(first_queued_, nullptr);
}

bool cold_reads::uring_is_open() noexcept {
  // release pairs with take_answered: the uring is completely set up
  if (uring_state_.load(relaxed) == uring_state::untried)
    uring_state_.store(uring_.open() == 0 ? uring_state::open : uring_state::refused, release);
  return uring_state_.load(relaxed) == uring_state::open;
}

void cold_reads::refuse(cold_read& r, g_list& refused) noexcept {
  r.answer = 0;
  claimed_.fetch_sub(1U, relaxed);
  refused.push_back(*r.g);
}

void cold_reads::ask_some(cold_read* const* some, std::uint32_t count, g_list& refused) noexcept {
  {
    os::lock_guard const guard(lock_);
    unanswered_ += count;  // before the first answer can come
  }
  unsigned const left = uring_.hand_in();
  os::chaos_point("cold_reads.asked");
  if (left == 0) return;
  os::lock_guard const guard(lock_);
  unanswered_ -= left;
  for (std::uint32_t i = count - left; i < count; ++i) refuse(*some[i], refused);
}

void cold_reads::ask(cold_read* first, g_list& refused) noexcept {
  // In groups, because a record whose question was handed in may be answered at any moment and then be gone.
  constexpr std::uint32_t at_once = 64;
  cold_read* some[at_once];
  while (first != nullptr) {
    std::uint32_t count = 0;
    for (; first != nullptr && count < at_once; first = first->queued) {
      uring_.ask(first->fd, first->offset, first);
      some[count++] = first;
    }
    ask_some(some, count, refused);
  }
}

void cold_reads::take_answered(g_list& answered) noexcept {
  constexpr int at_once = 64;
  os::uring_answer answers[at_once];
  os::lock_guard const guard(lock_);
  if (uring_state_.load(acquire) != uring_state::open || !uring_.is_open())
    return;  // the uring is being opened, or closed
  for (int count = at_once; count == at_once;) {
    count = uring_.take_answers(answers, at_once);
    for (int i = 0; i < count; ++i) {
      auto& r = *static_cast<cold_read*>(answers[i].tag);
      r.answer = answers[i].result;
      answered.push_back(*r.g);
    }
    unanswered_ -= static_cast<std::uint32_t>(count);
    claimed_.fetch_sub(static_cast<std::uint32_t>(count), relaxed);
  }
}

bool cold_reads::close_if_answered() noexcept {
  os::lock_guard const guard(lock_);
  if (unanswered_ != 0) return false;
  uring_.close();
  return true;
}

void cold_reads::abandon() noexcept {
  os::lock_guard const guard(lock_);
  uring_.abandon();
}

}  // namespace thrum::rt
