#include "os/cgroup.h"

#include "os/text_file.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum::rt::os {
namespace {

enum class version { one, two };

struct group {
  version hierarchy;
  std::string_view path;
};

// Removes the text up to `separator`, and the separator, from the front of `rest` and returns the text.
std::string_view cut(std::string_view& rest, char separator) noexcept {
  std::size_t const at = rest.find(separator);
  std::string_view const piece = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return piece;
}

bool list_holds(std::string_view list, std::string_view wanted) noexcept {
  while (!list.empty()) {
    if (cut(list, ',') == wanted) return true;
  }
  return false;
}

// False for a path with "..", such as "/../x". It means that the process is outside the cgroup namespace that it sees,
// so that no file is known to be its own.
bool is_plain(std::string_view path) noexcept {
  if (!path.starts_with('/')) return false;
  while (!path.empty()) {
    if (cut(path, '/') == "..") return false;
  }
  return true;
}

// Each line is "id:controllers:path". The path may contain colons.
std::optional<group> find_group(std::string_view text) noexcept {
  std::optional<group> found;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    std::string_view const id = cut(line, ':');
    std::string_view const controllers = cut(line, ':');
    if (!is_plain(line)) continue;
    if (list_holds(controllers, "cpu")) return group{version::one, line};
    if (id == "0" && controllers.empty()) found = group{version::two, line};
  }
  return found;
}

// mountinfo writes space, tab, newline and backslash as \ooo (octal).
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    char const* const digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() && std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3) {
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

struct mount {
  std::string root;   // the directory of the hierarchy that is mounted
  std::string point;  // the directory at which it is mounted
};

// "36 35 98:0 /root /point options optional... - type source super_options"
std::optional<mount> parse_mount(std::string_view line, version wanted) {
  std::size_t const dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view tail = line.substr(dash + 3);
  std::string_view const type = cut(tail, ' ');
  cut(tail, ' ');  // source
  bool const right_type = wanted == version::two ? type == "cgroup2" : type == "cgroup" && list_holds(tail, "cpu");
  if (!right_type) return std::nullopt;
  for (int skipped = 0; skipped < 3; ++skipped) cut(line, ' ');  // id, parent, device
  mount found;
  found.root = unescape(cut(line, ' '));
  found.point = unescape(cut(line, ' '));
  if (!is_plain(found.root) || !is_plain(found.point)) return std::nullopt;
  return found;
}

// The part of `path` below `root`, such as "" or "/a/b", or nothing if `path` is not below `root`.
std::optional<std::string_view> below(std::string_view path, std::string_view root) noexcept {
  if (root == "/") return path == "/" ? std::string_view{} : path;
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && !path.starts_with('/')) return std::nullopt;
  return path;
}

// If several mounts contain the process's cgroup, takes the one with the shortest root, because it contains the most
// ancestors.
std::optional<mount> find_mount(std::string_view text, group const& ours) {
  std::optional<mount> best;
  while (!text.empty()) {
    std::optional<mount> candidate = parse_mount(cut(text, '\n'), ours.hierarchy);
    if (!candidate || !below(ours.path, candidate->root)) continue;
    if (!best || candidate->root.size() < best->root.size()) best = std::move(candidate);
  }
  return best;
}

// The whole text as a number, or nothing if it is not one.
std::optional<std::int64_t> number(std::string_view text) noexcept {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ratio(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) noexcept {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;  // version 1 writes -1 for no limit
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string first_line(std::string const& path) {
  char text[64];
  if (read_text_file(path.c_str(), text, sizeof text) <= 0) return {};
  std::string_view rest = text;
  return std::string(cut(rest, '\n'));
}

std::optional<double> quota_of(std::string const& directory, version hierarchy) {
  if (hierarchy == version::one) {
    return ratio(number(first_line(directory + "/cpu.cfs_quota_us")),
                 number(first_line(directory + "/cpu.cfs_period_us")));
  }
  std::string const line = first_line(directory + "/cpu.max");  // "max 100000" or "150000 100000"
  std::string_view rest = line;
  std::string_view const quota = cut(rest, ' ');
  return ratio(number(quota), number(rest));  // "max" is not a number, so there is no limit
}

}  // namespace

std::optional<double> cgroup_quota(char const* root, char const* self_cgroup_text, char const* mountinfo_text) {
  std::optional<group> const ours = find_group(self_cgroup_text);
  if (!ours) return std::nullopt;
  std::optional<mount> const where = find_mount(mountinfo_text, *ours);
  if (!where) return std::nullopt;

  std::string const top = std::string(root) + where->point;
  std::string directory = top + std::string(*below(ours->path, where->root));
  std::optional<double> least;
  for (;;) {
    std::optional<double> const quota = quota_of(directory, ours->hierarchy);
    if (quota && (!least || *quota < *least)) least = quota;
    if (directory.size() <= top.size()) return least;
    directory.resize(directory.rfind('/'));
  }
}

}  // namespace thrum::rt::os
