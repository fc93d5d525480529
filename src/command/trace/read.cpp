#include "command/trace/clock_points.h"
#include "command/trace/read_block.h"
#include "command/trace/text.h"
#include "command/trace/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace thrum::command {
namespace {

using ull = unsigned long long;

constexpr std::string_view magic_of_file = "thrumtrc";
constexpr std::string_view magic_of_block = "THRB";
constexpr std::uint32_t flag_flight_record = 1;

template <class T>
T number_at(trace_file const& file, std::uint64_t byte) noexcept {
  T result;
  std::memcpy(&result, reinterpret_cast<char const*>(file.contents.get()) + byte, sizeof result);
  return result;
}

std::string_view bytes_at(trace_file const& file, std::uint64_t byte, std::size_t length) noexcept {
  return {reinterpret_cast<char const*>(file.contents.get()) + byte, length};
}

void read_header(trace_file& file) {
  if (file.bytes < magic_of_file.size() || bytes_at(file, 0, magic_of_file.size()) != magic_of_file) {
    throw unreadable_file("this is no trace file: it does not begin with \"thrumtrc\"");
  }
  if (file.bytes < bytes_of_file_header) {
    throw unreadable_file(text("the file ends in its header: it has %llu bytes, and the header has %zu",
                               ull{file.bytes}, bytes_of_file_header));
  }
  if (auto const version = number_at<std::uint32_t>(file, 8); version != format_version) {
    throw unreadable_file(
        text("the file has version %u of the trace format, and this program reads version %u: use the "
             "`thrum` of the same release as the library that wrote the file",
             version, format_version));
  }
  if (auto const length = number_at<std::uint32_t>(file, 12); length != bytes_of_file_header) {
    throw unreadable_file(
        text("the header claims to have %u bytes, and a header of version 1 has %zu", length, bytes_of_file_header));
  }
  file_header& header = file.header;
  header.ticks_per_second = number_at<std::uint64_t>(file, 16);
  header.ticks = number_at<std::uint64_t>(file, 24);
  header.monotonic_ns = number_at<std::int64_t>(file, 32);
  header.real_time_ns = number_at<std::int64_t>(file, 40);
  header.process = number_at<std::uint32_t>(file, 48);
  header.architecture = number_at<std::uint32_t>(file, 52);
  header.is_flight_record = (number_at<std::uint32_t>(file, 56) & flag_flight_record) != 0;
  header.ps = number_at<std::uint32_t>(file, 60);
  if (header.ticks_per_second == 0) throw unreadable_file("the header says that the counter has 0 ticks per second");
  // Each P has a stream of its own.
  if (header.ps > first_stream_without_p) {
    throw unreadable_file(text("the header says that there were %u Ps when the trace began, and a trace has at most %u",
                               header.ps, unsigned{first_stream_without_p}));
  }
}

class reader {
 public:
  explicit reader(trace_file& file) : file_(file), clock_({file.header.ticks, 0}, file.header.ticks_per_second) {}

  void read_all() {
    std::uint64_t at = bytes_of_file_header;
    while (at < file_.bytes && file_.damage.empty() && file_.cut_off.empty()) at = read_block_at(at);
    if (file_.damage.empty() && file_.cut_off.empty() && !file_.has_end) note_cut(file_.bytes);
    finish();
  }

 private:
  std::uint64_t read_block_at(std::uint64_t at) {
    if (file_.bytes - at < bytes_of_block_header) {
      note_cut(at);
      return file_.bytes;
    }
    if (bytes_at(file_, at, magic_of_block.size()) != magic_of_block) {
      note_damage(at, "no block begins there");
      return file_.bytes;
    }
    block_header const header{.kind = static_cast<block_kind>(number_at<std::uint16_t>(file_, at + 4)),
                              .stream = number_at<std::uint16_t>(file_, at + 6),
                              .length = number_at<std::uint32_t>(file_, at + 8),
                              .number = number_at<std::uint32_t>(file_, at + 12),
                              .ticks = number_at<std::uint64_t>(file_, at + 16),
                              .lost_events = number_at<std::uint64_t>(file_, at + 24)};
    if (header.length % 8 != 0) {
      note_damage(at, text("a block claims to have %u bytes, which is no multiple of 8", header.length));
      return file_.bytes;
    }
    if (number_at<std::uint64_t>(file_, at + 32) != 0) {
      file_.violations.add([&] { return text("the last word of the block at byte %llu is not 0", ull{at}); });
    }
    if (file_.has_end) {
      file_.violations.add([&] { return text("a block begins at byte %llu, behind the `end` block", ull{at}); });
    }
    std::uint64_t const begin = at + bytes_of_block_header;
    std::uint64_t const available = std::min<std::uint64_t>(header.length, file_.bytes - begin);
    std::string const damage = read_block(file_, clock_, header, begin, available);
    if (!damage.empty()) {
      note_damage(at, damage);
    } else if (available < header.length) {
      note_cut(file_.bytes);
    }
    return begin + available;
  }

  void note_cut(std::uint64_t at) {
    file_.cut_off = text("the trace was cut off at byte %llu; %llu whole records before that were read", ull{at},
                         ull{file_.records});
  }

  void note_damage(std::uint64_t at, std::string const& why) {
    file_.damage = text("the file is damaged in the block at byte %llu: %s; %llu whole records before that were read",
                        ull{at}, why.c_str(), ull{file_.records});
  }

  void finish() {
    std::stable_sort(file_.modules.begin(), file_.modules.end(),
                     [](module_range const& a, module_range const& b) { return a.begin < b.begin; });
    std::uint64_t lost = 0;
    for (auto& [number, each] : file_.streams) {
      for (record& one : each.records) one.ns = clock_.ns_of(static_cast<std::uint64_t>(one.ns));
      lost += each.lost_events;
      file_.lost_blocks += each.lost_blocks;
    }
    if (auto& moment = file_.complete_from) moment = clock_.ns_of(static_cast<std::uint64_t>(*moment));
    if (file_.has_end && lost > file_.lost_events) {
      file_.violations.add([&] {
        return text("the `end` block counts %llu lost events, and the streams count %llu", ull{file_.lost_events},
                    ull{lost});
      });
    }
    file_.lost_events = std::max(file_.lost_events, lost);
  }

  trace_file& file_;
  clock_points clock_;
};

trace_file parsed(std::unique_ptr<std::uint64_t[]> contents, std::uint64_t bytes) {
  trace_file file;
  file.contents = std::move(contents);
  file.bytes = bytes;
  read_header(file);
  reader(file).read_all();
  return file;
}

std::unique_ptr<std::uint64_t[]> room_for(std::uint64_t bytes) {
  return std::make_unique<std::uint64_t[]>(bytes / 8 + 1);
}

[[noreturn]] void throw_errno(char const* what, std::string const& path) {
  throw unreadable_file(text("%s %s: %s", what, path.c_str(), std::generic_category().message(errno).c_str()));
}

}  // namespace

trace_file read_trace(std::string_view bytes) {
  auto contents = room_for(bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(contents.get()));
  return parsed(std::move(contents), bytes.size());
}

trace_file read_trace_file(std::string const& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw_errno("cannot open", path);
  std::streamoff const size = file.tellg();
  // A folder can be opened, and has the largest size that there is.
  if (size < 0 || size > std::streamoff{1} << 46) throw unreadable_file("this is no trace file: " + path);
  auto contents = room_for(static_cast<std::uint64_t>(size));
  file.seekg(0);
  errno = 0;
  if (!file.read(reinterpret_cast<char*>(contents.get()), size)) throw_errno("cannot read", path);
  return parsed(std::move(contents), static_cast<std::uint64_t>(size));
}

}  // namespace thrum::command
