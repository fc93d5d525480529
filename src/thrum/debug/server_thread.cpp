#include "debug/server_thread.h"

#include "debug/helper_thread.h"

namespace thrum::rt::debug {

bool server_thread::start(int& error) {
  int ends[2] = {-1, -1};
  error = -os::open_pipe(ends);
  own_.keep(end_at, ends[0]);
  own_.keep(ask_at, ends[1]);
  if (error == 0) error = make_helper_thread(sched_, thread_, thread_main, this);
  return error == 0;
}

void server_thread::close_descriptors_in_child() const noexcept {
  close_own_descriptors_in_child();
  own_.close_in_child();
}

void server_thread::ask_to_end() noexcept {
  is_to_end_.store(true, release);  // pairs with is_to_end
  char const any = 0;
  static_cast<void>(os::write(own_.at(ask_at), &any, 1));  // a full pipe wakes the thread, too
}

// The server's thread may not have seen yet that the program has closed the listener.
void server_thread::stop_listening() noexcept {
  os::file_identity now;
  if (os::identity_of(own_.at(listener_at), now) == 0 && now == listener_) {
    own_.replace(listener_at, own_.at(end_at));
  } else {
    own_.keep(listener_at, -1);
  }
}

void server_thread::end(server_thread* its, std::int64_t patience_ns) noexcept {
  its->ask_to_end();
  its->stop_listening();
  if (!its->ended_.sleep_for(patience_ns)) {
    Sched::threads_asleep_for_good.fetch_add(1, relaxed);  // before the thread can subtract it
    os::thread left = its->thread_;  // the thread may have deleted the server before it is detached
    // acq_rel: the side that comes second deletes what the other side has used
    if (its->at_.exchange(stage::is_left, acq_rel) == stage::serves) {
      os::detach_thread(left);
      return;
    }
    Sched::threads_asleep_for_good.fetch_sub(1, relaxed);
    its->ended_.sleep();
  }
  join_helper_thread(its->sched_, its->thread_, its->tid_);
  delete its;
}

void* server_thread::thread_main(void* self) {
  auto* const me = static_cast<server_thread*>(self);
  os::set_thread_name(me->name_);
  me->tid_ = os::current_tid();
  me->serve();
  me->disconnect_all();
  me->is_empty_.store(true, release);
  if (me->at_.exchange(stage::has_ended, acq_rel) == stage::is_left) {
    delete me;
    Sched::threads_asleep_for_good.fetch_sub(1, relaxed);  // relaxed: a hint for deadlock detection
  } else {
    me->ended_.wake();
  }
  return nullptr;
}

}  // namespace thrum::rt::debug
