#include "command/trace/trace_file.h"

#include "command/trace/text.h"

#include <algorithm>

namespace thrum::command {
namespace {

std::string last_part(std::string const& path) { return path.substr(path.rfind('/') + 1); }

std::string in_module(trace_file const& file, std::uint64_t address) {
  auto const behind =
      std::upper_bound(file.modules.begin(), file.modules.end(), address,
                       [](std::uint64_t searched, module_range const& module) { return searched < module.begin; });
  if (behind == file.modules.begin() || address >= (behind - 1)->end) return hex(address);
  return last_part((behind - 1)->path) + "+" + hex(address - (behind - 1)->difference);
}

}  // namespace

std::string record::text() const {
  std::size_t const at = 1U + format_of(kind)->numbers;
  std::size_t const bytes = std::min<std::uint64_t>(words[at], (length - at - 1) * 8);
  return clean_text({reinterpret_cast<char const*>(words + at + 1), bytes});
}

std::string trace_file::short_name_of_site(std::uint64_t address) const {
  if (address == 0) return "(unknown)";
  auto const site = sites.find(address);
  return site == sites.end() || site->second.function.empty() ? in_module(*this, address) : site->second.function;
}

std::string trace_file::name_of_site(std::uint64_t address) const {
  std::string name = short_name_of_site(address);
  auto const site = sites.find(address);
  if (site != sites.end() && !site->second.place.empty()) name += " (" + last_part(site->second.place) + ")";
  return name;
}

}  // namespace thrum::command
