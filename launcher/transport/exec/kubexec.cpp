// Finds the line of kubexec.sh that runs kubectl, and replaces its variables by tokens.
#include "launcher/transport/exec/kubexec.h"

#include <algorithm>

namespace ds::launcher {

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
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

bool is_kubexec(std::string_view path) { return path.ends_with("/kubexec.sh"); }

std::optional<std::vector<std::string>> kubexec_words(std::string_view script) {
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    std::vector<std::string> line = words_of(script.substr(0, end));
    script.remove_prefix(std::min(end + 1, script.size()));
    if (!line.empty() && line.front() == "exec") line.erase(line.begin());
    if (line.size() > 2 && line[0].ends_with("kubectl") && line[1] == "exec")
      return kubectl_words(line);
  }
  return std::nullopt;
}

}  // namespace ds::launcher
