// yield, the public one: as hot as a switch can be.
#include "sched/park.h"
#include <thrum/go.h>

#include <stdexcept>

namespace thrum {

void yield() {
  rt::M* const m = rt::current_m();
  if (m == nullptr || m->current == nullptr) throw std::logic_error("thrum::yield: only a goroutine can yield");
  rt::enter(*m);
  rt::leave(rt::yield(*m));
}

}  // namespace thrum
