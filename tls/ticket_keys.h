// The keys with which a server seals its session tickets (RFC 5077), changed every day.
//
// OpenSSL makes them once for an SSL_CTX. In TLS 1.2 a ticket carries the keys of its connection, so one key that leaks would open every
// recorded connection of the server's whole life. A new key is made by the first ticket after a day, Go's value, and an old one is
// accepted for seven more days, which are Go's too; then its place is taken.
//
// It is asked inside calls of OpenSSL, where nothing may park, on any thread, and its user may be stopped for good at any instruction by the
// end of a run. So there is no lock. Each place has a version: odd while its key is written, so that a reader that meets a writer finds
// no key and the connection begins without a ticket. A writer that was stopped halfway leaves one such place behind until its next turn.
#pragma once

#include <thrum/detail/atomic.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace thrum::detail {

struct ticket_key {
  std::array<unsigned char, 16> name{};
  std::array<unsigned char, 32> cipher{};
  std::array<unsigned char, 32> mac{};

  ticket_key() noexcept = default;
  ticket_key(ticket_key const&) = delete;
  ticket_key& operator=(ticket_key const&) = delete;
  ~ticket_key() { OPENSSL_cleanse(this, sizeof *this); }
};

class ticket_keys {
 public:
  static constexpr std::int64_t day_ns = std::chrono::nanoseconds(std::chrono::hours(24)).count();
  static constexpr std::int64_t accepted_ns = 8 * day_ns;

  // To seal a ticket at this moment of the monotonic clock. False: there is none, and the connection goes without.
  [[nodiscard]] bool newest(std::int64_t now_ns, ticket_key& to) noexcept {
    std::int64_t due_ns = next_ns_.load(acquire);
    // acq_rel: one makes it, after the one before it was made
    if (now_ns >= due_ns && next_ns_.compare_exchange(due_ns, now_ns + day_ns, acq_rel, acquire)) make(now_ns);
    return read(slots_[made_.load(acquire) % slots_.size()], now_ns, to);  // pairs with make
  }

  enum class found : std::uint8_t { none, newest, older };
  [[nodiscard]] found find(unsigned char const* name, std::int64_t now_ns, ticket_key& to) noexcept {
    std::size_t const newest = made_.load(acquire) % slots_.size();  // pairs with make
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!read(slots_[i], now_ns, to) || std::memcmp(to.name.data(), name, to.name.size()) != 0) continue;
      return i == newest && now_ns < next_ns_.load(relaxed) ? found::newest
                                                            : found::older;  // relaxed: nothing depends on it
    }
    return found::none;
  }

 private:
  static constexpr std::size_t words_max = sizeof(ticket_key) / sizeof(std::uint64_t);
  static_assert(sizeof(ticket_key) % sizeof(std::uint64_t) == 0);

  struct slot {
    atomic<std::uint64_t> version{0};  // 0: it never had a key
    atomic<std::int64_t> until_ns{0};
    std::array<atomic<std::uint64_t>, words_max> words{};
  };

  void make(std::int64_t now_ns) noexcept {
    ticket_key fresh;
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&fresh), sizeof fresh) != 1) return;
    std::array<std::uint64_t, words_max> words;
    std::memcpy(words.data(), static_cast<void const*>(&fresh), sizeof fresh);
    std::uint64_t const number = made_.load(relaxed) + 1;  // relaxed: one makes keys at a time
    slot& s = slots_[number % slots_.size()];
    std::uint64_t const version = s.version.load(relaxed) | 1U;
    s.version.store(version, relaxed);
    // release pairs with read's acquire: a reader that sees any of these sees the odd version too
    s.until_ns.store(now_ns + accepted_ns, release);
    for (std::size_t i = 0; i < words_max; ++i) s.words[i].store(words[i], release);
    s.version.store(version + 1, release);  // pairs with read
    made_.store(number, release);           // pairs with newest and find
    OPENSSL_cleanse(words.data(), sizeof words);
  }

  [[nodiscard]] static bool read(slot const& s, std::int64_t now_ns, ticket_key& to) noexcept {
    std::uint64_t const version = s.version.load(acquire);  // pairs with make
    if (version == 0 || version % 2 != 0 || now_ns >= s.until_ns.load(acquire)) return false;
    std::array<std::uint64_t, words_max> words;
    for (std::size_t i = 0; i < words_max; ++i) words[i] = s.words[i].load(acquire);  // pairs with make
    std::memcpy(static_cast<void*>(&to), words.data(), sizeof to);
    OPENSSL_cleanse(words.data(), sizeof words);
    return s.version.load(relaxed) == version;  // relaxed: ordered by the loads before
  }

  std::array<slot, 8> slots_{};
  atomic<std::int64_t> next_ns_{0};  // when the next key is due
  atomic<std::uint64_t> made_{0};    // how many there were
};

}  // namespace thrum::detail
