// Reads the lines of ssh_config files, with Include, into blocks of directives.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

void config_error(const TextPlace& place, std::string_view what, std::string hint) {
  throw Error(ErrorKind::config,
              fmt::format("{}:{}: {}", place.file, place.line, printable_text(what, 300)),
              std::move(hint));
}

namespace {

constexpr int kMaxIncludeDepth = 16;  // as ssh

constexpr const char* kBlanks = " \t\r\f";

void skip_blanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
}

std::string next_word(std::string_view& rest, const TextPlace& place) {
  std::string word;
  char quote = 0;
  while (!rest.empty()) {
    const char c = rest.front();
    if (quote == 0 && std::string_view(kBlanks).find(c) != rest.npos) break;
    rest.remove_prefix(1);
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && !rest.empty() &&
               (rest.front() == '"' || rest.front() == '\'' || rest.front() == '\\')) {
      word += rest.front();
      rest.remove_prefix(1);
    } else {
      word += c;
    }
  }
  if (quote != 0) config_error(place, "a quote is not closed");
  return word;
}

/// Keywords whose value is a shell command: quotes and # are left to the shell.
bool takes_the_rest(std::string_view keyword) {
  return keyword == "proxycommand" || keyword == "remotecommand" || keyword == "localcommand" ||
         keyword == "knownhostscommand";
}

}  // namespace

ConfigLine parse_config_line(std::string_view line, const TextPlace& place) {
  ConfigLine parsed;
  skip_blanks(line);
  parsed.keyword = to_lower(line.substr(0, line.find_first_of(" \t\r\f=#")));
  line.remove_prefix(parsed.keyword.size());
  if (parsed.keyword.empty()) return parsed;
  skip_blanks(line);
  if (line.starts_with('=')) line.remove_prefix(1);
  skip_blanks(line);
  if (takes_the_rest(parsed.keyword)) {
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!line.empty()) parsed.words.emplace_back(line);
    return parsed;
  }
  while (!line.empty() && line.front() != '#') {
    parsed.words.push_back(next_word(line, place));
    skip_blanks(line);
  }
  return parsed;
}

namespace {

using Block = SshConfig::Block;
using Condition = SshConfig::Condition;

/// Reads one file into blocks; `outer` are the conditions under which it was included.
class FileReader {
 public:
  FileReader(const SshConfig::Sources& sources, std::vector<Block>& blocks)
      : sources_(sources), blocks_(blocks) {}

  void read(std::string_view text, const std::string& file, const std::vector<Condition>& outer,
            int depth) {
    blocks_.push_back({outer, {}});
    for (TextPlace place{file, 1, 1}; !text.empty(); ++place.line)
      take(parse_config_line(take_line(text), place), place, outer, depth);
  }

 private:
  void take(ConfigLine line, const TextPlace& place, const std::vector<Condition>& outer,
            int depth) {
    if (line.keyword.empty()) return;
    if (line.keyword == "host" || line.keyword == "match") {
      if (line.words.empty()) config_error(place, line.keyword + " without a pattern");
      std::vector<Condition> conditions = outer;
      const auto kind = line.keyword == "host" ? Condition::Kind::host : Condition::Kind::match;
      conditions.push_back({kind, std::move(line.words), place});
      blocks_.push_back({std::move(conditions), {}});
    } else if (line.keyword == "include") {
      include(line.words, place, depth);
    } else {
      blocks_.back().directives.push_back({std::move(line.keyword), std::move(line.words), place});
    }
  }

  void include(const std::vector<std::string>& patterns, const TextPlace& place, int depth) {
    if (patterns.empty()) config_error(place, "Include without a file");
    if (depth >= kMaxIncludeDepth) config_error(place, "too many Includes inside each other");
    const std::vector<Condition> conditions = blocks_.back().conditions;
    for (std::string pattern : patterns) {
      if (pattern.starts_with("~/")) pattern = sources_.home + pattern.substr(1);
      if (!pattern.starts_with('/')) pattern = sources_.include_base + "/" + pattern;
      for (const std::string& path : sources_.glob(pattern))
        if (const auto text = sources_.read(path)) read(*text, path, conditions, depth + 1);
    }
    // Lines after the Include belong to the including block again.
    blocks_.push_back({conditions, {}});
  }

  const SshConfig::Sources& sources_;
  std::vector<Block>& blocks_;
};

}  // namespace

void SshConfig::add(std::string_view text, const std::string& file_name, const Sources& sources) {
  FileReader(sources, blocks_).read(text, file_name, {}, 0);
}

}  // namespace ds::launcher
