#include "command/trace/names.h"

namespace thrum::command {
namespace {

std::string const created_before = "(before the trace)";
std::string const not_known = "(unknown)";
std::string const without_goroutine = "(timer, poller or a thread outside)";

}  // namespace

std::string const& names::of_creation(goroutine_life const& goroutine) {
  if (!goroutine.was_created) return created_before;
  return goroutine.site == 0 ? not_known : of_site(goroutine.site);
}

std::string const& names::of_site(std::uint64_t site) {
  auto const [found, is_new] = of_sites_.try_emplace(site);
  if (is_new && site != 0) found->second = file_.name_of_site(site);
  return found->second;
}

std::string names::of_goroutine(goroutine_life const& goroutine) {
  if (!goroutine.name.empty()) return goroutine.name;
  return goroutine.was_created ? file_.short_name_of_site(goroutine.site) : created_before;
}

std::string const& names::of_waker(std::uint64_t number) {
  if (number == 0) return without_goroutine;
  goroutine_life const* const waker = past_.find(number);
  return waker == nullptr ? created_before : of_creation(*waker);
}

}  // namespace thrum::command
