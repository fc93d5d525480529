// Commands about the connection and the server, which clients send when they start.
#include "client.h"
#include "command.h"
#include "server.h"
#include "store.h"
#include <thrum/runtime.h>

#include <array>
#include <cstdint>
#include <string>

namespace kv {
namespace {

constexpr std::string_view version = "7.0.0";  // clients check the version of Redis, whose commands these are

[[noreturn]] void refuse_subcommand(call const& c) {
  std::string capitals(c.args[0]);
  for (char& letter : capitals)
    letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
  throw command_error("ERR unknown subcommand '" + std::string(c.args[1].substr(0, 128)) + "'. Try " + capitals +
                      " HELP.");
}

void ping(call& c) {
  if (c.args.size() > 2) refuse_arity(c);
  if (c.from.is_subscriber()) {
    c.reply.array(2);
    c.reply.bulk("pong");
    c.reply.bulk(c.args.size() == 2 ? c.args[1] : "");
  } else if (c.args.size() == 2) {
    c.reply.bulk(c.args[1]);
  } else {
    c.reply.status("PONG");
  }
}

void echo(call& c) { c.reply.bulk(c.args[1]); }

void quit(call& c) {
  c.reply.ok();
  c.from.leave();
}

void select(call& c) {
  std::int64_t const index = integer_of(c.args[1]);
  if (index != static_cast<int>(index)) {
    throw command_error("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  if (index != 0) throw command_error("ERR DB index is out of range");
  c.reply.ok();
}

// Clients that ask for version 3 of the protocol use version 2 if they are refused.
void hello(call& c) {
  if (c.args.size() > 1 && integer_of(c.args[1]) != 2) throw command_error("NOPROTO unsupported protocol version");
  if (c.args.size() > 2) refuse_syntax();
  c.reply.array(8);
  c.reply.bulk("server");
  c.reply.bulk("thrum-kv");
  c.reply.bulk("version");
  c.reply.bulk(version);
  c.reply.bulk("proto");
  c.reply.integer(2);
  c.reply.bulk("mode");
  c.reply.bulk("standalone");
}

void client_command(call& c) {
  if (is_word(c.args[1], "SETNAME") && c.args.size() == 3) {
    c.from.name = c.args[2];
    c.reply.ok();
  } else if (is_word(c.args[1], "GETNAME") && c.args.size() == 2) {
    c.from.name.empty() ? c.reply.null() : c.reply.bulk(c.from.name);
  } else if (is_word(c.args[1], "SETINFO") && c.args.size() == 4) {
    c.reply.ok();
  } else {
    refuse_subcommand(c);
  }
}

// The table of commands is empty, and redis-cli works without it.
void command_command(call& c) { c.reply.array(0); }

// redis-benchmark asks for this. Nothing is saved.
void config(call& c) {
  if (!is_word(c.args[1], "GET") || c.args.size() != 3) refuse_subcommand(c);
  bool const is_save = is_word(c.args[2], "SAVE");
  if (!is_save && !is_word(c.args[2], "APPENDONLY")) return c.reply.array(0);
  c.reply.array(2);
  c.reply.bulk(is_save ? "save" : "appendonly");
  c.reply.bulk(is_save ? "" : "no");
}

void info(call& c) {
  std::string text = "# Server\r\nredis_version:" + std::string(version) + "\r\nserver_name:thrum-kv\r\n";
  text += "processors:" + std::to_string(thrum::max_procs()) + "\r\n";
  text += "\r\n# Clients\r\nconnected_clients:" + std::to_string(c.on.client_count()) + "\r\n";
  text += "blocked_clients:" + std::to_string(c.on.waiting_clients.load(std::memory_order_relaxed)) + "\r\n";
  text += "\r\n# Keyspace\r\ndb0:keys=" + std::to_string(c.db.size()) + "\r\n";
  c.reply.bulk(text);
}

// All forms do the same, because nothing is saved. There is no reply; the connection ends.
void shutdown(call& c) {
  static_cast<void>(c.on.stop_asked.try_send({}));  // if it would wait, another client has asked already
  c.from.leave();
}

constexpr std::array commands{
    command{"PING", -1, ping, true},
    command{"ECHO", 2, echo},
    command{"QUIT", -1, quit, true},
    command{"SELECT", 2, select},
    command{"HELLO", -1, hello},
    command{"CLIENT", -2, client_command},
    command{"COMMAND", -1, command_command},
    command{"CONFIG", -2, config},
    command{"INFO", -1, info},
    command{"SHUTDOWN", -1, shutdown},
};

}  // namespace

std::span<command const> connection_commands() { return commands; }

}  // namespace kv
