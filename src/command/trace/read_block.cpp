#include "command/trace/read_block.h"

#include "command/trace/text.h"

#include <span>

namespace thrum::command {
namespace {

using ull = unsigned long long;
using words = std::span<std::uint64_t const>;

constexpr std::size_t words_of_module = 4;  // without the texts
constexpr std::size_t words_of_site = 2;

std::uint32_t low_half(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
std::uint32_t high_half(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32U); }
std::uint8_t byte_of(std::uint64_t word, unsigned i) noexcept { return static_cast<std::uint8_t>(word >> (8 * i)); }

std::string_view bytes_of(words from) noexcept { return {reinterpret_cast<char const*>(from.data()), from.size() * 8}; }

// Two texts that stand one behind the other, with zeros up to a whole word. Returns false if they are longer than
// `from`.
bool take_two_texts(words& from, std::uint64_t first_bytes, std::uint64_t second_bytes, std::string& first,
                    std::string& second) {
  std::uint64_t const length = (first_bytes + second_bytes + 7) / 8;
  if (length > from.size()) return false;
  first = clean_text(bytes_of(from).substr(0, first_bytes));
  second = clean_text(bytes_of(from).substr(first_bytes, second_bytes));
  from = from.subspan(length);
  return true;
}

class block_reader {
 public:
  block_reader(trace_file& file, block_header const& header, words contents, bool is_whole)
      : file_(file), header_(header), contents_(contents), is_whole_(is_whole) {}

  std::string read(clock_points& clock) {
    if (header_.kind != block_kind::events && (header_.stream != 0 || header_.number != 0)) {
      file_.violations.add([&] {
        return text("a block of kind %u has the stream %u and the number %u, and both must be 0",
                    static_cast<unsigned>(header_.kind), header_.stream, header_.number);
      });
    }
    switch (header_.kind) {
      case block_kind::events: return read_events();
      case block_kind::clock: return read_clock(clock);
      case block_kind::modules: return read_modules();
      case block_kind::sites: return read_sites();
      case block_kind::end: return read_end();
      case block_kind::complete_from: return read_complete_from();
    }
    ++file_.unknown_blocks;
    return {};
  }

 private:
  std::string read_events() {
    stream& into = file_.streams[header_.stream];
    if (!take_number(into)) return {};
    std::uint64_t base = header_.ticks;
    while (!contents_.empty()) {
      std::uint64_t const first = contents_.front();
      auto const kind = static_cast<record_kind>(byte_of(first, 0));
      std::uint8_t const length = byte_of(first, 1);
      if (kind == record_kind::none) return "a record has the kind 0";
      if (length == 0) return text("a record of kind %u has the length 0", static_cast<unsigned>(kind));
      if (length > contents_.size()) {
        if (!is_whole_) return {};
        return text("a record of kind %u has %u words, and the block ends after %zu", static_cast<unsigned>(kind),
                    length, contents_.size());
      }
      if (kind == record_kind::clock && length >= 2) {
        base = contents_[1];
      } else {
        record const one{.ns = static_cast<std::int64_t>(base + high_half(first)),
                         .words = contents_.data(),
                         .kind = kind,
                         .length = length,
                         .sequence = byte_of(first, 2),
                         .detail = byte_of(first, 3),
                         .stream = header_.stream};
        if (is_usable(one)) into.records.push_back(one);
      }
      ++file_.records;
      contents_ = contents_.subspan(length);
    }
    return {};
  }

  // Whether the block is the next one of its stream, or a later one. An earlier one was read already, or is too late.
  bool take_number(stream& into) {
    if (into.has_blocks && header_.number <= into.last_block) {
      file_.violations.add([&] {
        return text("block %u of stream %u stands behind block %u, and is ignored", header_.number, header_.stream,
                    into.last_block);
      });
      return false;
    }
    std::uint32_t const missing = into.has_blocks ? header_.number - into.last_block - 1 : header_.number;
    if (!file_.header.is_flight_record) {
      into.lost_blocks += missing;
    } else if (missing != 0) {  // the recorder has used the memory of the missing blocks again
      into.records_before_gap = into.records.size();
    }
    if (missing != 0) into.first_block = header_.number;
    into.has_blocks = true;
    into.last_block = header_.number;
    if (header_.lost_events < into.lost_events) {
      file_.violations.add([&] {
        return text("block %u of stream %u counts %llu lost events, and the block before counts %llu", header_.number,
                    header_.stream, ull{header_.lost_events}, ull{into.lost_events});
      });
    } else {
      into.lost_events = header_.lost_events;
    }
    return true;
  }

  bool is_usable(record const& one) {
    record_format const* const format = format_of(one.kind);
    if (!is_known(one.kind)) {
      ++file_.unknown_records;
      return format != nullptr && one.length > format->numbers;
    }
    auto const at = [&] { return text("the record `%s` at byte %llu", format->name, ull{file_.byte_of(one)}); };
    std::size_t expected = 1 + format->numbers;
    if (format->has_text) {
      if (one.length <= expected) {
        file_.violations.add([&] { return at() + " has no text, and is ignored"; });
        return false;
      }
      std::uint64_t const bytes = one.argument(format->numbers);
      expected += 1 + bytes / 8 + (bytes % 8 != 0 ? 1 : 0);
    }
    if (one.length < expected) {
      file_.violations.add(
          [&] { return at() + text(" has %u words instead of %zu, and is ignored", one.length, expected); });
      return false;
    }
    if (one.length > expected) {
      file_.violations.add([&] { return at() + text(" has %u words instead of %zu", one.length, expected); });
    }
    if (one.detail >= format->details) {
      file_.violations.add(
          [&] { return at() + text(" has the detail %u, which version 1 does not have", one.detail); });
    }
    return true;
  }

  std::string read_clock(clock_points& clock) {
    if (contents_.size() < 2) return is_whole_ ? "a `clock` block has less than two words" : "";
    std::int64_t const ns =
        static_cast<std::int64_t>(contents_[1] - static_cast<std::uint64_t>(file_.header.monotonic_ns));
    if (!clock.add({contents_[0], ns})) {
      file_.violations.add([&] {
        return text("the `clock` block with %llu ticks is ignored, because one of its clocks has gone back",
                    ull{contents_[0]});
      });
    }
    return {};
  }

  std::string read_modules() {
    while (contents_.size() >= words_of_module) {
      words rest = contents_.subspan(words_of_module);
      module_range module{contents_[0], contents_[1], contents_[2], {}};
      std::string build_id;
      if (!take_two_texts(rest, low_half(contents_[3]), high_half(contents_[3]), build_id, module.path)) break;
      file_.modules.push_back(std::move(module));
      contents_ = rest;
    }
    return rest_is_cut("modules");
  }

  std::string read_sites() {
    while (contents_.size() >= words_of_site) {
      words rest = contents_.subspan(words_of_site);
      site_name site;
      if (!take_two_texts(rest, low_half(contents_[1]), high_half(contents_[1]), site.function, site.place)) break;
      file_.sites.insert_or_assign(contents_[0], std::move(site));
      contents_ = rest;
    }
    return rest_is_cut("sites");
  }

  std::string read_end() {
    if (contents_.empty()) return is_whole_ ? "an `end` block is empty" : "";
    file_.has_end = true;
    file_.lost_events = contents_[0];
    return {};
  }

  std::string read_complete_from() {
    if (contents_.empty()) return is_whole_ ? "a `complete from` block is empty" : "";
    if (file_.complete_from) {
      file_.violations.add([] { return std::string("a second `complete from` block"); });
    } else if (file_.header.is_flight_record) {
      file_.complete_from = static_cast<std::int64_t>(contents_[0]);  // in ticks, until all clock points are known
    } else {
      file_.violations.add([] { return std::string("a `complete from` block in a file that is no flight record"); });
    }
    return {};
  }

  [[nodiscard]] std::string rest_is_cut(char const* kind) const {
    if (contents_.empty() || !is_whole_) return {};
    return text("an entry in a `%s` block is longer than the block", kind);
  }

  trace_file& file_;
  block_header const& header_;
  words contents_;
  bool is_whole_;
};

}  // namespace

std::string read_block(trace_file& file, clock_points& clock, block_header const& header, std::uint64_t begin,
                       std::uint64_t bytes) {
  return block_reader(file, header, {file.contents.get() + begin / 8, bytes / 8}, bytes == header.length).read(clock);
}

}  // namespace thrum::command
