#include "debug/debugger_table.h"

#include "chan/cancel_node.h"
#include "chan/channel.h"
#include "core/poll_table.h"
#include "core/sched.h"
#include "core/status_names.h"
#include "core/sudog.h"
#include "stack/stack.h"
#include <thrum/detail/holder.h>
#include <thrum/mutex.h>
#include <thrum/shared_mutex.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace thrum::rt {

// A member and its offset, a record and its size, or a state and its number.
struct debugger_row {
  char name[48];
  std::uint64_t value;
};

namespace {

// Evaluated by the compiler, which refuses a name without room for its terminating zero.
constexpr debugger_row named(std::string_view name, std::uint64_t value) {
  debugger_row result{{}, value};
  if (name.size() >= sizeof result.name) throw "the name is too long";
  name.copy(result.name, name.size());
  return result;
}

template <class State>
constexpr debugger_row state(std::string_view type, State which) {
  debugger_row result = named(type, static_cast<std::uint64_t>(which));
  std::string_view const text = text_of(which);
  if (type.size() + 1 + text.size() >= sizeof result.name) throw "the name is too long";
  result.name[type.size()] = '=';
  text.copy(result.name + type.size() + 1, text.size());
  return result;
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define THRUM_MEMBER(type, member) named(#type "." #member, offsetof(type, member))
#define THRUM_SIZE(type) named(#type, sizeof(type))

// A class, because the classes name it as their friend.
struct debugger_rows {
  using g_slab = slab<G>;
  using poll_desc_slab = slab<poll_desc>;
  using channel = detail::channel;
  using channel_waiter = detail::channel_waiter;
  using waiter_queue = detail::waiter_queue;
  using context_node = detail::context_node;
  using cancel_node = detail::cancel_node;
  using wait_bucket_in_table = wait_table::padded;

  static constexpr debugger_row all[] = {
      THRUM_SIZE(G),
      THRUM_MEMBER(G, saved.sp),
      THRUM_MEMBER(G, saved.fp),
      THRUM_MEMBER(G, saved.pc),
      THRUM_MEMBER(G, status),
      THRUM_MEMBER(G, on),
      THRUM_MEMBER(G, id),
      THRUM_MEMBER(G, detour.is_locked),
      THRUM_MEMBER(G, is_at_home),
      THRUM_MEMBER(G, attention),
      THRUM_MEMBER(G, waits_for),
      THRUM_MEMBER(G, task),
      THRUM_MEMBER(G, task.step),
      THRUM_MEMBER(G, task.created_at),
      THRUM_MEMBER(G, task.created_by),
      THRUM_MEMBER(G, join),
      THRUM_MEMBER(G, name),
      THRUM_MEMBER(G, only_m),
      THRUM_MEMBER(G, waits_since_ns),

      THRUM_SIZE(M),
      THRUM_MEMBER(M, id),
      THRUM_MEMBER(M, tid),
      THRUM_MEMBER(M, current),
      THRUM_MEMBER(M, p),
      THRUM_MEMBER(M, in_runtime),
      THRUM_MEMBER(M, attention),
      THRUM_MEMBER(M, is_foreign),
      THRUM_MEMBER(M, spinning),
      THRUM_MEMBER(M, status),
      THRUM_MEMBER(M, all_link),
      THRUM_MEMBER(M, idle_since_ns),

      THRUM_SIZE(P),
      THRUM_MEMBER(P, queue.head_),
      THRUM_MEMBER(P, queue.tail_),
      THRUM_MEMBER(P, queue.next_),
      THRUM_MEMBER(P, queue.mask_),
      THRUM_MEMBER(P, queue.slots_),
      THRUM_MEMBER(P, id),
      THRUM_MEMBER(P, m),
      THRUM_MEMBER(P, schedtick),
      THRUM_MEMBER(P, status),
      THRUM_MEMBER(P, seen.tick_since_ns),

      THRUM_MEMBER(Sched, epoch),
      THRUM_MEMBER(Sched, procs.size_),
      THRUM_MEMBER(Sched, procs.made_),
      THRUM_MEMBER(Sched, procs.all_),
      THRUM_MEMBER(Sched, global_size.entries_),
      THRUM_MEMBER(Sched, ms.all_),
      THRUM_MEMBER(Sched, records.gs_),
      THRUM_MEMBER(Sched, waiters.buckets_),

      THRUM_MEMBER(g_slab, chunks_),
      named("g_slab.chunk.next", offsetof(g_slab::chunk, next)),
      named("g_slab.chunk.used", offsetof(g_slab::chunk, used)),
      named("g_slab.chunk.records", sizeof(g_slab::header)),
      THRUM_MEMBER(poll_desc_slab, chunks_),
      named("poll_desc_slab.chunk.next", offsetof(poll_desc_slab::chunk, next)),
      named("poll_desc_slab.chunk.used", offsetof(poll_desc_slab::chunk, used)),
      named("poll_desc_slab.chunk.records", sizeof(poll_desc_slab::header)),

      THRUM_SIZE(poll_desc),
      named("poll_desc.read.word", offsetof(poll_desc, sides) + offsetof(poll_side, word)),
      named("poll_desc.write.word", offsetof(poll_desc, sides) + sizeof(poll_side) + offsetof(poll_side, word)),
      named("poll_desc.payload_mask", poll_words::payload_mask),
      named("poll_desc.arriving", poll_words::arriving),
      THRUM_MEMBER(poll_desc, fd),

      THRUM_SIZE(wait_bucket_in_table),
      THRUM_MEMBER(wait_bucket_in_table, bucket.root_),
      named("wait_bucket_in_table.count", wait_table::bucket_count),
      THRUM_SIZE(sudog),
      THRUM_MEMBER(sudog, g),
      THRUM_MEMBER(sudog, address),
      THRUM_MEMBER(sudog, next),
      THRUM_MEMBER(sudog, left),
      THRUM_MEMBER(sudog, right),

      THRUM_SIZE(stack),
      THRUM_MEMBER(stack, low),
      THRUM_MEMBER(stack, top),
      THRUM_MEMBER(stack, goroutine_id),

      THRUM_SIZE(channel),
      THRUM_MEMBER(channel, closed),
      THRUM_MEMBER(channel, count),
      THRUM_MEMBER(channel, head),
      named("channel.receivers", offsetof(channel, receivers) + offsetof(waiter_queue, first_)),
      named("channel.senders", offsetof(channel, senders) + offsetof(waiter_queue, first_)),
      THRUM_MEMBER(channel, capacity),
      THRUM_MEMBER(channel, parcel_bytes),
      THRUM_SIZE(channel_waiter),
      THRUM_MEMBER(channel_waiter, on),
      THRUM_MEMBER(channel_waiter, sends),
      THRUM_MEMBER(channel_waiter, is_select),
      THRUM_MEMBER(channel_waiter, is_queued),
      THRUM_MEMBER(channel_waiter, g),
      THRUM_MEMBER(channel_waiter, next),

      THRUM_MEMBER(context_node, canceled_with),
      THRUM_MEMBER(cancel_node, parent),
      THRUM_MEMBER(cancel_node, deadline),
      named("cancel_node.has_deadline", offsetof(cancel_node, deadline) + sizeof(std::int64_t)),
      THRUM_MEMBER(cancel_node, state),
      THRUM_MEMBER(cancel_node, reason),
      THRUM_MEMBER(cancel_node, done_channel),
      named("done_state.channel", static_cast<std::uint64_t>(detail::done_state::channel)),
      named("done_state.done", static_cast<std::uint64_t>(detail::done_state::done)),
      named("cancel_reason.error", offsetof(detail::cancel_reason, error)),
      named("context_errc.deadline_exceeded", static_cast<std::uint64_t>(context_errc::deadline_exceeded)),

      THRUM_MEMBER(mutex, state_),
      THRUM_MEMBER(mutex, holder_),
      named("mutex.locked", mutex::locked),
      named("mutex.promised", mutex::promised),
      named("mutex.epoch_shift", mutex::epoch_shift),
      THRUM_MEMBER(shared_mutex, state_),
      THRUM_MEMBER(shared_mutex, holder_),
      named("shared_mutex.held", shared_mutex::held),
      named("stack_mark_shift", detail::stack_mark_shift),

      named("g_attend.aged", g_attend::aged),
      named("m_attend.away", m_attend::away),
      named("m_attend.unannounced", m_attend::unannounced),

      state("g_status", g_status::idle),
      state("g_status", g_status::dead),
      state("g_status", g_status::unstarted),
      state("g_status", g_status::runnable),
      state("g_status", g_status::running),
      state("g_status", g_status::waiting),
      state("g_status", g_status::syscall),
      state("g_status", g_status::hosting),

      state("p_status", p_status::stopped),
      state("p_status", p_status::idle),
      state("p_status", p_status::running),
      state("p_status", p_status::syscall),
      state("p_status", p_status::dead),

      state("m_status", m_status::threadless),
      state("m_status", m_status::starting),
      state("m_status", m_status::starting_without_p),
      state("m_status", m_status::awake),
      state("m_status", m_status::idle),
      state("m_status", m_status::timekeeper),
      state("m_status", m_status::roused),
      state("m_status", m_status::in_place),
      state("m_status", m_status::queued),
      state("m_status", m_status::paused),
      state("m_status", m_status::paused_in_libc),
      state("m_status", m_status::resuming),
      state("m_status", m_status::waits_for_end),
      state("m_status", m_status::dismissed),
      state("m_status", m_status::let_go),

      state("wait_reason", wait_reason::none),
      state("wait_reason", wait_reason::semaphore),
      state("wait_reason", wait_reason::mutex),
      state("wait_reason", wait_reason::wait_group),
      state("wait_reason", wait_reason::once),
      state("wait_reason", wait_reason::join),
      state("wait_reason", wait_reason::stack_memory),
      state("wait_reason", wait_reason::sleep),
      state("wait_reason", wait_reason::chan_send),
      state("wait_reason", wait_reason::chan_receive),
      state("wait_reason", wait_reason::send_on_nil),
      state("wait_reason", wait_reason::receive_on_nil),
      state("wait_reason", wait_reason::select),
      state("wait_reason", wait_reason::empty_select),
      state("wait_reason", wait_reason::read_lock),
      state("wait_reason", wait_reason::write_lock),
      state("wait_reason", wait_reason::condition_variable),
      state("wait_reason", wait_reason::latch),
      state("wait_reason", wait_reason::barrier),
      state("wait_reason", wait_reason::io),
  };
};

#undef THRUM_MEMBER
#undef THRUM_SIZE
#pragma GCC diagnostic pop

struct debugger_table {
  char magic[16];
  std::uint32_t version;
  std::uint32_t row_bytes;
  std::uint32_t rows_offset;
  std::uint32_t row_count;
  // written when a run begins and when it ends
  atomic<Sched const*> run{nullptr};
  atomic<slab<poll_desc> const*> poll_descs{nullptr};
  std::array<debugger_row, std::size(debugger_rows::all)> rows;
};

}  // namespace thrum::rt

// `used`, because only a debugger reads it.
extern "C" {
[[gnu::used, gnu::visibility("default"),
  gnu::section(".thrum_debugger")]] constinit thrum::rt::debugger_table thrum_debugger_table{
    .magic = "thrum debugger",
    .version = 1,
    .row_bytes = sizeof(thrum::rt::debugger_row),
    .rows_offset = offsetof(thrum::rt::debugger_table, rows),
    .row_count = std::size(thrum::rt::debugger_rows::all),
    .rows = std::to_array(thrum::rt::debugger_rows::all),
};
}

namespace thrum::rt {

void tell_debugger_of(Sched const* run) noexcept {
  // relaxed: a debugger reads them while all threads stand still
  thrum_debugger_table.poll_descs.store(&all_poll_descs(), relaxed);
  thrum_debugger_table.run.store(run, relaxed);
}

}  // namespace thrum::rt
