// dump_goroutines: notes all goroutines with the world stopped, and writes the dump when the world runs again.
#include "core/current.h"
#include "core/forked.h"
#include "debug/dump.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/runtime.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace thrum {
namespace {

struct dump {
  rt::M* m = nullptr;
  rt::goroutine_list all;
  std::string text;
  std::exception_ptr error;

  static void note(void* self) noexcept {
    auto& its = *static_cast<dump*>(self);
    its.all.note(its.m->sched, rt::goroutine_list::frames::noted);
  }
  static void write(rt::symbols& known, void* self) noexcept {
    auto& its = *static_cast<dump*>(self);
    try {
      its.all.write(known, its.text);
    } catch (...) {
      its.error = std::current_exception();
    }
  }
};

}  // namespace

void dump_goroutines(std::FILE* out) {
  dump made;
  made.m = rt::callers_m();
  if (made.m == nullptr)
    throw std::logic_error(std::string("thrum: dump_goroutines needs a runtime, but ") + rt::why_no_runtime());
  rt::enter_runtime(*made.m);
  {
    rt::stopped_world const world(*made.m);
    rt::call_with_context(made.m->current->saved, dump::note, &made);  // the caller is shown in its own dump
  }
  rt::leave_runtime(*made.m);
  blocking(
      [&] {
        rt::with_symbols(dump::write, &made);
        if (!made.error) std::fwrite(made.text.data(), 1, made.text.size(), out);
      },
      blocking_hint::long_call);
  if (made.error) std::rethrow_exception(made.error);
}

}  // namespace thrum
