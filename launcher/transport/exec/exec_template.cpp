#include "launcher/transport/exec/exec_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/split.h"

namespace ds::launcher {

namespace {

constexpr std::array<std::string_view, 5> kTokens = {"{host}", "{addr}", "{user}", "{port}",
                                                     "{command}"};
constexpr const char* kForm =
    "exec:'PROGRAM ARGS...' with {host}, {addr}, {user}, {port} and {command} in its words, such "
    "as exec:'ssh {host}'";

[[noreturn]] void bad_template(const std::string& what) {
  throw Error(ErrorKind::usage, "--transport exec: " + what, kForm);
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Removes the first word from `rest`, which does not begin with a blank, and returns it.
std::string take_word(std::string_view& rest) {
  std::string word;
  char quote = 0;
  for (; !rest.empty() && (quote != 0 || !is_blank(rest.front())); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && rest.size() > 1) {
      rest.remove_prefix(1);
      word += rest.front();
    } else {
      word += c;
    }
  }
  if (quote != 0) bad_template("a quote is not closed");
  return word;
}

void check_tokens(const std::string& word) {
  for (std::size_t at = word.find('{'); at != std::string::npos; at = word.find('{', at + 1)) {
    const bool known = std::ranges::any_of(kTokens, [&](std::string_view token) {
      return word.compare(at, token.size(), token) == 0;
    });
    if (known) continue;
    const std::size_t end = word.find('}', at);
    bad_template(fmt::format("'{}' is not a token", end == std::string::npos
                                                        ? word.substr(at)
                                                        : word.substr(at, end - at + 1)));
  }
}

/// Replaces each token of kTokens by the value at its place.
std::string replace_tokens(std::string_view word,
                           const std::array<std::string, kTokens.size()>& values) {
  std::string out;
  while (!word.empty()) {
    const auto* token =
        std::ranges::find_if(kTokens, [&](std::string_view t) { return word.starts_with(t); });
    const bool found = token != kTokens.end();
    out += found ? std::string_view(values[token - kTokens.begin()]) : word.substr(0, 1);
    word.remove_prefix(found ? token->size() : 1);
  }
  return out;
}

/// Returns a word of the script as a word of a template; nothing if only a shell could expand it.
std::optional<std::string> template_word(std::string word) {
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
    word = word.substr(1, word.size() - 2);
  if (word == "${POD_NAME}" || word == "$POD_NAME" || word == "$1") return "{host}";
  if (word == "$*" || word == "$@") return "{command}";
  if (word.find_first_of("$`\"'\\;&|<>(){}*?~#") != std::string::npos) return std::nullopt;
  return word;
}

bool passes_input(const std::string& word) {
  return word == "--stdin" || word.starts_with("--stdin=") ||
         (word.starts_with('-') && !word.starts_with("--") && word.find('i') != std::string::npos);
}

std::optional<std::vector<std::string>> kubectl_words(const std::vector<std::string>& line) {
  std::vector<std::string> words;
  bool options = true;
  for (const std::string& shell_word : line) {
    options = options && shell_word != "--";
    if (options && passes_input(shell_word)) return std::nullopt;
    auto word = template_word(shell_word);
    if (!word) return std::nullopt;
    words.push_back(std::move(*word));
    if (words.size() == 2) words.emplace_back("-i");  // after `exec`
  }
  const bool complete = std::ranges::count(words, "{host}") == 1 &&
                        std::ranges::count(words, "--") == 1 && words.back() == "{command}";
  return complete ? std::optional(std::move(words)) : std::nullopt;
}

}  // namespace

std::vector<std::string> parse_exec_template(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.empty()) break;
    words.push_back(take_word(text));
    check_tokens(words.back());
  }
  if (words.empty() || words.front().empty()) bad_template("the program is missing");
  return words;
}

std::vector<std::string> fill_exec_template(const std::vector<std::string>& words, const Host& host,
                                            const std::string& local_user,
                                            const std::string& command) {
  const auto uses = [&](std::string_view token) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return word.find(token) != std::string::npos; });
  };
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::config, fmt::format("{}: {}", host.name, what), kForm);
  };
  if (!host.user.empty() && !uses("{user}"))
    fail(fmt::format("the hostfile gives it user {}, but --transport exec has no {{user}}",
                     host.user));
  if (host.port != 0 && !uses("{port}"))
    fail(fmt::format("the hostfile gives it port {}, but --transport exec has no {{port}}",
                     host.port));
  if (!host.address.empty() && !uses("{addr}"))
    fail("the hostfile gives it an address, but --transport exec has no {addr}");
  const std::string address = host.address.empty() ? host.name : host.address;
  const std::string user = host.user.empty() ? local_user : host.user;
  for (const std::string& value : {host.name, address, user})
    if (value.starts_with('-')) fail(fmt::format("'{}' would be an option", value));
  const std::string port = std::to_string(host.port == 0 ? 22 : host.port);
  std::vector<std::string> filled;
  for (const std::string& word : words)
    filled.push_back(replace_tokens(word, {host.name, address, user, port, command}));
  const bool as_rsh = std::ranges::none_of(kTokens, uses);
  if (as_rsh) filled.push_back(host.name);
  if (!uses("{command}")) filled.push_back(command);
  return filled;
}

bool is_kubexec(std::string_view path) { return path.ends_with("/kubexec.sh"); }

std::optional<std::vector<std::string>> kubexec_words(std::string_view script) {
  while (!script.empty()) {
    std::istringstream text{std::string(take_line(script))};
    std::vector<std::string> line(std::istream_iterator<std::string>(text), {});
    if (!line.empty() && line.front() == "exec") line.erase(line.begin());
    if (line.size() > 2 && line[0].ends_with("kubectl") && line[1] == "exec")
      return kubectl_words(line);
  }
  return std::nullopt;
}

}  // namespace ds::launcher
