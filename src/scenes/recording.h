// A recording: a list of parts, each of which is a list of steps with the complete machine after each step. It is what
// the page of `thrum scenes` draws (docs/recording.md describes its JSON form).
//
// Goroutines, Ms and Ps are numbered as the story numbers them. -1 stands for "none".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace thrum::scenes {

struct words {
  std::string en{};
  std::string zh{};
};

// A function of our source, with its lines.
struct source_lines {
  std::string file{};
  std::string function{};
  int line = 0;  // of the first of `lines`, from 1
  std::vector<std::string> lines{};
};

struct p_state {
  int id = 0;
  char const* status = "";
  int m = -1;
  int running = -1;
  int next = -1;
  std::vector<int> ring{};
};

struct m_state {
  int id = 0;
  char const* state = "";
  int p = -1;
  int g = -1;
};

struct g_state {
  int id = 0;
  char const* state = "";
};

// Where goroutines wait outside of the queues. In the scenes that is a system call.
struct waiting_place {
  std::string id{};
  char const* kind = "";
  std::string label{};
  std::vector<int> gs{};
};

struct machine {
  std::vector<int> global{};
  std::vector<p_state> procs{};
  std::vector<m_state> ms{};
  std::vector<g_state> gs{};
  std::vector<waiting_place> waiting{};
};

struct place {
  char const* kind = "none";
  int p = -1;
  std::string id{};
};

struct event {
  char const* kind = "";
  int g = -1;
  int p = -1;
  int m = -1;
  int by = -1;
  place from{};
  place to{};
  std::vector<int> gs{};
  words text{};
};

struct step {
  int t = 0;
  words text{};
  std::vector<source_lines> source{};
  std::vector<event> events{};
  machine state{};
};

struct part {
  std::string id{};
  words title{};
  words story{};
  std::vector<step> steps{};
};

struct recording {
  words title{};
  int procs = 0;
  int queue_size = 0;
  std::vector<part> parts{};
};

}  // namespace thrum::scenes
