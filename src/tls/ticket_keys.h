// The keys with which a server encrypts its session tickets (RFC 5077). They change every day.
//
// OpenSSL by itself makes the key once for an SSL_CTX. In TLS 1.2 a ticket carries the keys of its connection, so a
// single leaked key would decrypt every recorded connection of the server's whole life. Here the first ticket after a
// day makes a new key, and an old key is accepted for seven more days. Both are Go's values. Then another key takes its
// slot.
//
// The functions run on any thread, inside calls of OpenSSL, where a goroutine must not park. The end of a run may stop
// their caller for good at any instruction. So there is no lock. Each slot has a version, which is odd while its key is
// written. A reader that meets a writer finds no key, and the connection goes on without a ticket. A writer that was
// stopped halfway leaves its slot unusable until the slot's next turn.
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

  // Returns the key for a new ticket at this time of the monotonic clock. Returns false if there is none; the
  // connection goes on without a ticket.
  [[nodiscard]] bool newest(std::int64_t now_ns, ticket_key& to) noexcept {
    std::int64_t due_ns = next_ns_.load(acquire);
    // The caller that wins the exchange makes the key. acq_rel orders it after the caller that made the key before.
    if (now_ns >= due_ns && next_ns_.compare_exchange(due_ns, now_ns + day_ns, acq_rel, acquire)) make(now_ns);
    return read(slots_[made_.load(acquire) % slots_.size()], now_ns, to);  // pairs with make
  }

  enum class key_age : std::uint8_t { none, newest, older };
  [[nodiscard]] key_age find(unsigned char const* name, std::int64_t now_ns, ticket_key& to) noexcept {
    std::size_t const newest = made_.load(acquire) % slots_.size();  // pairs with make
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!read(slots_[i], now_ns, to) || std::memcmp(to.name.data(), name, to.name.size()) != 0) continue;
      return i == newest && now_ns < next_ns_.load(relaxed) ? key_age::newest
                                                            : key_age::older;  // relaxed: publishes no other data
    }
    return key_age::none;
  }

 private:
  static constexpr std::size_t words_max = sizeof(ticket_key) / sizeof(std::uint64_t);
  static_assert(sizeof(ticket_key) % sizeof(std::uint64_t) == 0);

  struct slot {
    atomic<std::uint64_t> version{0};  // 0: the slot never had a key
    atomic<std::int64_t> until_ns{0};
    std::array<atomic<std::uint64_t>, words_max> words{};
  };

  void make(std::int64_t now_ns) noexcept {
    ticket_key fresh;
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&fresh), sizeof fresh) != 1) {
      next_ns_.store(now_ns, release);  // the next caller tries; pairs with newest
      return;
    }
    std::array<std::uint64_t, words_max> words;
    std::memcpy(words.data(), static_cast<void const*>(&fresh), sizeof fresh);
    std::uint64_t const number = made_.load(relaxed) + 1;  // relaxed: one caller at a time makes a key
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
  atomic<std::uint64_t> made_{0};    // how many keys were made
};

}  // namespace thrum::detail
