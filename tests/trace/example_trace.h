// A small trace on which all numbers can be computed by hand. Times are in nanoseconds since the beginning.
//
//   goroutine 1  main, existed before the trace, runs on P 0
//   goroutine 2  created by main at 0x1100 (serve), waits for a channel, is readied by main, runs on P 1
//   goroutine 3  created by main at 0x1200 (log_writer), makes a long call
#pragma once

#include "trace/trace_builder.h"

#include <cstdint>
#include <string>

namespace thrum::test {

inline constexpr std::uint64_t serve = 0x1100, log_writer = 0x1200, in_main = 0x1300;
inline constexpr std::uint64_t channel = 0x7f00;
inline constexpr std::uint8_t reason_mutex = 2, reason_chan_receive = 9, reason_io = 19;

// Everything but the names and the end.
inline trace_builder example_records() {
  trace_builder b;
  b.m(0, 0, 1, 3, 100).s(0, 10, kind::take, {1});
  b.m(1, 0, 2, 3, 101).s(1, 20, kind::take, {2});
  b.g(0, 1'000, kind::create, 2, {serve, 1});
  b.s(1, 1'100, kind::spin, {2}).s(1, 1'500, kind::steal, {0, 1}).s(1, 1'600, kind::spun, {2}, 1);
  b.g(1, 2'000, kind::start, 2);                                 // first start: 1,000
  b.g(1, 5'000, kind::stop, 2, {channel}, reason_chan_receive);  // ran 3,000
  b.g(0, 8'000, kind::ready, 2, {1, in_main});                   // waited 3,000
  b.g(1, 8'500, kind::start, 2);                                 // latency: 500
  b.g(1, 9'500, kind::stop, 2, {channel}, reason_chan_receive);  // ran 1,000
  b.g(0, 10'000, kind::ready, 2, {1, in_main}, 2);               // waited 500
  b.g(1, 14'000, kind::start, 2);                                // latency: 4,000
  b.g(0, 15'000, kind::create, 3, {log_writer, 1});
  b.g(1, 16'000, kind::end, 2);    // ran 2,000
  b.g(1, 16'500, kind::start, 3);  // first start: 1,500
  b.g_text(1, 16'600, kind::name, {3}, "the log \"writer\" <1>");
  b.g(1, 17'000, kind::call, 3, {0x1250}, 1);  // ran 500
  b.s(1, 17'200, kind::release, {2}, 1);       // hand-off: 200
  b.s(1, 17'300, kind::take, {3}).m(1, 17'300, 3, 3, 102);
  b.g(1, 19'000, kind::return_, 3, {}, 1);  // in call 2,000
  b.g_text(1, 19'100, kind::region, {3}, "rotate");
  b.g_text(1, 19'300, kind::region, {3}, "rotate", 1);
  b.g_text(1, 19'400, kind::log, {3, 0}, "rotated");
  b.s(0, 19'450, kind::preempt, {3});
  b.g(1, 19'500, kind::yield, 3, {}, 2);  // ran 500
  b.s(0, 19'600, kind::stop_world).s(0, 19'650, kind::world_stopped).s(0, 19'700, kind::start_world, {2});
  b.g(0, 20'000, kind::stop, 1, {5 * 2}, reason_io);  // main ran since the beginning: 20,000
  return b;
}

inline trace_builder example_trace() {
  trace_builder b = example_records();
  b.site(serve, "serve", "/home/user/server.cpp:40").site(in_main, "main", "/home/user/server.cpp:12");
  b.module(0x1000, 0x2000, 0xc00, "/usr/lib/libserver.so");
  b.end();
  return b;
}

}  // namespace thrum::test
