// A name server for tests, on a port of this machine. While it lives, c-ares asks it instead of the machine's name
// servers. It has to be made on a goroutine.
#pragma once

#include "net/query.h"
#include <thrum/mutex.h>
#include <thrum/tcp.h>
#include <thrum/udp.h>
#include <thrum/wait_group.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum::test {

// It answers by the first label of the name:
//  - "two" has an address of each family, and "four" has an IPv4 address.
//  - "big" has an answer that is too long for a datagram.
//  - "silent" is never answered, and "late" is answered only after answer_late_ones().
//  - All other names do not exist.
class name_server {
 public:
  name_server() : tcp_(tcp_listener::listen("127.0.0.1:0")), udp_(udp_socket::bind(tcp_.local_endpoint().to_string())) {
    rt::set_name_servers(tcp_.local_endpoint().to_string());
    serving_.go([this] { serve_datagrams(); });
    serving_.go([this] { serve_streams(); });
  }
  ~name_server() {
    udp_.close();
    tcp_.close();
    serving_.wait();
    rt::set_name_servers("");
  }

  [[nodiscard]] int asked_by_stream() const { return asked_by_stream_; }
  [[nodiscard]] int asked_too_early() const { return asked_too_early_; }

  void answer_late_ones() {
    std::scoped_lock const hold(late_lock_);
    late_is_known_ = true;
    for (auto const& [question, from] : late_) reply(question, from);
  }

 private:
  enum class transport : std::uint8_t { datagram, stream };
  static constexpr std::size_t head_bytes = 12;

  static void put16(std::string& to, unsigned value) {
    to += static_cast<char>(value >> 8U);
    to += static_cast<char>(value & 0xffU);
  }

  // The answer to a question. Empty if the server does not answer.
  static std::string answer(std::string_view question, transport how) {
    if (question.size() < head_bytes + 5) return {};
    std::size_t end = head_bytes;
    std::string const first(question.substr(head_bytes + 1, static_cast<unsigned char>(question[head_bytes])));
    while (end < question.size() && question[end] != '\0') end += 1U + static_cast<unsigned char>(question[end]);
    auto const type = static_cast<unsigned char>(question[end + 2]);
    end += 5;
    if (first == "silent") return {};
    bool const is_known = first == "two" || first == "four" || first == "big" || first == "late";
    bool const is_cut = first == "big" && how == transport::datagram;
    std::string address;
    if (type == 1 && is_known) address = std::string("\x7f\0\0\x01", 4);
    if (type == 28 && first == "two") {
      address.assign(16, '\0');
      address.back() = '\x01';
    }
    bool const has_answer = !address.empty() && !is_cut;
    std::string said(question.substr(0, 2));
    put16(said, 0x8180U | (is_cut ? 0x0200U : 0U) | (is_known ? 0U : 3U));
    for (unsigned const count : {1U, has_answer ? 1U : 0U, 0U, 0U}) put16(said, count);
    said += question.substr(head_bytes, end - head_bytes);
    if (!has_answer) return said;
    for (unsigned const field : {0xc00cU, unsigned{type}, 1U, 0U, 60U, static_cast<unsigned>(address.size())}) {
      put16(said, field);
    }
    return said + address;
  }

  void serve_datagrams() {
    std::array<char, 1500> bytes{};
    endpoint from;
    std::error_code error;
    for (;;) {
      std::size_t const n = udp_.recv_from(bytes, from, error);
      if (error) return;
      std::string_view const question(bytes.data(), n);
      if (question.find("\4late") == head_bytes) {
        std::scoped_lock const hold(late_lock_);
        if (!late_is_known_) {
          late_.emplace_back(question, from);
          ++asked_too_early_;
          continue;
        }
      }
      reply(question, from);
    }
  }

  void reply(std::string_view question, endpoint const& to) {
    std::string const said = answer(question, transport::datagram);
    std::error_code ignored;
    if (!said.empty()) udp_.send_to(said, to, ignored);
  }

  void serve_streams() {
    for (;;) {
      std::error_code error;
      auto conn = tcp_.accept(error);
      if (error) return;
      serving_.go([this, conn = std::move(conn)]() mutable {
        std::array<unsigned char, 2> length{};
        std::error_code broken;
        while (conn.read_full(length, broken) == length.size()) {
          std::string question(length[0] * 256U + length[1], '\0');
          conn.read_full(question, broken);
          ++asked_by_stream_;
          std::string said = answer(question, transport::stream);
          std::string head;
          put16(head, static_cast<unsigned>(said.size()));
          conn.write_all(head + said, broken);
        }
      });
    }
  }

  tcp_listener tcp_;
  udp_socket udp_;
  std::atomic<int> asked_by_stream_{0};
  std::atomic<int> asked_too_early_{0};
  mutex late_lock_;
  bool late_is_known_ = false;
  std::vector<std::pair<std::string, endpoint>> late_;
  wait_group serving_;
};

}  // namespace thrum::test
