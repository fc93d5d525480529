#include "command/completion/completion.h"

#include <cstddef>
#include <vector>

namespace thrum::command {
namespace {

// What may follow an option, or stand for a positional argument.
enum class value { none, file, process, number, words };

struct option {
  std::vector<std::string> names;  // with dashes; empty: positional
  std::string description;
  value takes = value::none;
  std::string words{};  // with blanks between them, if it takes one of them
};

struct subcommand {
  std::string name;  // empty: the command itself
  std::string description;
  std::vector<option> options;
};

std::string words_of_value(std::string_view name) {
  if (name == "SHELL") return "bash zsh fish";
  if (name == "WHAT") return "models";
  if (name == "KIND") return "cpu goroutines blocks mutexes";
  return "";
}

std::string name_of_value(CLI::Option const& from) {
  return from.get_positional() ? from.get_name() : from.get_type_name();
}

value value_of(CLI::Option const& from) {
  if (from.get_items_expected_max() == 0) return value::none;
  std::string const name = name_of_value(from);
  if (name == "PID") return value::process;
  if (name == "FILE" || name == "OUT") return value::file;
  if (!words_of_value(name).empty()) return value::words;
  return value::number;
}

option option_of(CLI::Option const& from) {
  option made;
  for (std::string const& name : from.get_snames()) made.names.push_back('-' + name);
  for (std::string const& name : from.get_lnames()) made.names.push_back("--" + name);
  made.description = from.get_description();
  made.takes = value_of(from);
  made.words = words_of_value(name_of_value(from));
  return made;
}

subcommand subcommand_of(CLI::App const& from, std::string name) {
  subcommand made{std::move(name), from.get_description(), {}};
  for (CLI::Option const* const each : from.get_options()) made.options.push_back(option_of(*each));
  return made;
}

// The command itself comes first.
std::vector<subcommand> all_of(CLI::App const& app) {
  std::vector<subcommand> all{subcommand_of(app, "")};
  for (CLI::App const* const each : app.get_subcommands([](CLI::App const*) { return true; })) {
    all.push_back(subcommand_of(*each, each->get_name()));
  }
  return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes of a shell.
std::string quoted_for_zsh(std::string_view text) {
  std::string result = "'";
  result += replaced(std::string(text), "'", "'\\''");
  return result + '\'';
}

// The same for fish, which knows \' between single quotes.
std::string quoted_for_fish(std::string_view text) {
  std::string result = "'";
  result += replaced(replaced(std::string(text), "\\", "\\\\"), "'", "\\'");
  return result + '\'';
}

// The process ids of sockets, where the command looks for them. Sockets of processes that are gone are left out.
constexpr std::string_view list_processes =
    "for each in \"${XDG_RUNTIME_DIR:-/run/user/$(id -u)}\"/thrum/*.sock /tmp/thrum-\"$(id -u)\"/*.sock; do\n"
    "    pid=$(basename \"$each\" .sock)\n"
    "    [ -S \"$each\" ] && kill -0 \"$pid\" 2>/dev/null && echo \"$pid\"\n"
    "  done";

// --- bash ---

std::string words_of(subcommand const& from) {
  std::string words;
  for (option const& each : from.options) {
    for (std::string const& name : each.names) words += (words.empty() ? "" : " ") + name;
  }
  return words;
}

std::string bash_reply(option const& one) {
  switch (one.takes) {
    case value::file: return "COMPREPLY=($(compgen -f -- \"$word\"))";
    case value::process: return "COMPREPLY=($(compgen -W \"$(_thrum_processes)\" -f -- \"$word\"))";
    case value::words: return "COMPREPLY=($(compgen -W '" + one.words + "' -- \"$word\"))";
    case value::number:
    case value::none: break;
  }
  return "COMPREPLY=()";
}

option positional_of(subcommand const& from) {
  for (option const& each : from.options) {
    if (each.names.empty()) return each;
  }
  return {};
}

std::string bash_script(std::vector<subcommand> const& all) {
  std::string text =
      "# bash completion for thrum; made by: thrum completion bash\n_thrum_processes() {\n  local each pid\n  ";
  text += list_processes;
  text += "\n}\n_thrum() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n";
  text += "  local subcommand=${COMP_WORDS[1]}\n  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '";
  for (subcommand const& each : all) text += each.name.empty() ? words_of(each) : ' ' + each.name;
  text += "' -- \"$word\"))\n    return\n  fi\n  case $subcommand in\n";
  for (subcommand const& each : all) {
    if (each.name.empty()) continue;
    text += "    " + each.name + ")\n      case $before in\n";
    for (option const& one : each.options) {
      if (one.names.empty() || one.takes == value::none) continue;
      std::string names;
      for (std::string const& name : one.names) names += (names.empty() ? "" : "|") + name;
      text += "        " + names + ") " + bash_reply(one) + "; return ;;\n";
    }
    text += "      esac\n      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '" + words_of(each) +
            "' -- \"$word\")); else " + bash_reply(positional_of(each)) + "; fi ;;\n";
  }
  return text + "  esac\n}\ncomplete -o filenames -F _thrum thrum\n";
}

// --- zsh ---

std::string zsh_action(option const& one) {
  switch (one.takes) {
    case value::file: return ":file:_files";
    case value::process: return ":process:_thrum_processes";
    case value::words: return ":word:(" + one.words + ')';
    case value::number: return ":number:";
    case value::none: break;
  }
  return "";
}

// A description in an argument of _arguments, where brackets and colons have a meaning.
std::string zsh_description(std::string const& from) {
  return replaced(replaced(replaced(from, "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string zsh_argument(option const& one) {
  if (one.names.empty()) return ' ' + quoted_for_zsh(":" + zsh_action(one).substr(1));
  std::string text;
  for (std::string const& name : one.names)
    text += ' ' + quoted_for_zsh(name + '[' + zsh_description(one.description) + ']' + zsh_action(one));
  return text;
}

std::string zsh_script(std::vector<subcommand> const& all) {
  std::string text = "#compdef thrum\n# made by: thrum completion zsh\n_thrum_processes() {\n  local each pid\n";
  text += "  local -a found\n  found=(${(f)\"$(\n  ";
  text += list_processes;
  text += "\n  )\"})\n  compadd -a found\n  _files\n}\n_thrum() {\n  local -a subcommands\n  subcommands=(\n";
  for (subcommand const& each : all) {
    if (!each.name.empty())
      text += "    " + quoted_for_zsh(each.name + ':' + replaced(each.description, ":", "\\:")) + '\n';
  }
  text += "  )\n  if ((CURRENT == 2)); then\n    _describe subcommand subcommands\n    _arguments";
  for (option const& one : all.front().options) text += zsh_argument(one);
  text += "\n    return\n  fi\n  local subcommand=$words[2]\n  shift words\n  ((CURRENT--))\n  case $subcommand in\n";
  for (subcommand const& each : all) {
    if (each.name.empty()) continue;
    text += "    " + each.name + ") _arguments";
    for (option const& one : each.options) text += zsh_argument(one);
    text += " ;;\n";
  }
  return text + "  esac\n}\n_thrum \"$@\"\n";
}

// --- fish ---

std::string fish_value(option const& one) {
  switch (one.takes) {
    case value::file: return " -rF";
    case value::process: return " -xa '(__thrum_processes)'";
    case value::words: return " -xa '" + one.words + '\'';
    case value::number: return " -x";
    case value::none: break;
  }
  return "";
}

std::string fish_line(std::string const& when, option const& one) {
  std::string text = "complete -c thrum -n '" + when + '\'';
  for (std::string const& name : one.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!one.names.empty()) text += " -d " + quoted_for_fish(one.description);
  return text + fish_value(one) + '\n';
}

std::string fish_script(std::vector<subcommand> const& all) {
  std::string text =
      "# fish completion for thrum; made by: thrum completion fish\nfunction __thrum_processes\n  sh -c ";
  text += quoted_for_fish(list_processes);
  text += "\nend\ncomplete -c thrum -f\n";
  for (option const& one : all.front().options) text += fish_line("__fish_use_subcommand", one);
  for (subcommand const& each : all) {
    if (each.name.empty()) continue;
    text += "complete -c thrum -n __fish_use_subcommand -a " + each.name + " -d " + quoted_for_fish(each.description);
    text += '\n';
    for (option const& one : each.options) text += fish_line("__fish_seen_subcommand_from " + each.name, one);
  }
  return text;
}

}  // namespace

std::string completion_script(CLI::App const& app, std::string_view shell) {
  std::vector<subcommand> const all = all_of(app);
  if (shell == "zsh") return zsh_script(all);
  if (shell == "fish") return fish_script(all);
  return bash_script(all);
}

}  // namespace thrum::command
