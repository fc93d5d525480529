// dump_goroutines and dump_leaks: notes all goroutines with the world stopped, and writes the dump when the world runs
// again.
#include "core/current.h"
#include "core/forked.h"
#include "debug/dump.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/dump.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace thrum {
namespace {

struct dump {
  rt::M* m = nullptr;
  rt::dump_form form;
  std::FILE* file = nullptr;
  rt::goroutine_list all = {};
  std::exception_ptr error = {};

  static void note(void* self) noexcept {
    auto& its = *static_cast<dump*>(self);
    its.all.note(its.m->sched, rt::goroutine_list::frames::noted);
  }
  static void write(rt::symbols& known, void* self) noexcept {
    auto& its = *static_cast<dump*>(self);
    try {
      auto const to_file = [](void* to, char const* text, std::size_t bytes) {
        static_cast<void>(std::fwrite(text, 1, bytes, static_cast<std::FILE*>(to)));
      };
      rt::dump_output out(to_file, its.file);
      rt::write_dump(its.all, its.form, known, out);
    } catch (...) {
      its.error = std::current_exception();
    }
  }
};

void write_to(std::FILE* out, rt::dump_form form, char const* caller) {
  dump made{.m = rt::callers_m(), .form = form, .file = out};
  if (made.m == nullptr)
    throw std::logic_error(std::string("thrum: ") + caller + " needs a runtime, but " + rt::why_no_runtime());
  rt::enter_runtime(*made.m);
  {
    rt::stopped_world const world(*made.m);
    rt::call_with_context(made.m->current->saved, dump::note, &made);  // the caller is shown in its own dump
  }
  rt::leave_runtime(*made.m);
  blocking([&] { rt::with_symbols(dump::write, &made); }, blocking_hint::long_call);
  if (made.error) std::rethrow_exception(made.error);
}

rt::dump_view view_of(dump_stacks stacks) noexcept {
  switch (stacks) {
    case dump_stacks::automatic: return rt::dump_view::automatic;
    case dump_stacks::each: return rt::dump_view::each;
    case dump_stacks::grouped: return rt::dump_view::grouped;
  }
  return rt::dump_view::automatic;
}

}  // namespace

void dump_goroutines(std::FILE* out, dump_options how) {
  write_to(out, {.view = view_of(how.stacks), .is_json = how.format == dump_format::json}, "dump_goroutines");
}

void dump_leaks(std::FILE* out, dump_format format) {
  write_to(out, {.view = rt::dump_view::leaks, .is_json = format == dump_format::json}, "dump_leaks");
}

}  // namespace thrum
