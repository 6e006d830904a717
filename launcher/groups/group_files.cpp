#include "launcher/groups/group_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/split.h"
#include "engine/base/text_error.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kFileBlanks = " \t\r";

std::string_view stripped(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kFileBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kFileBlanks) + 1);  // npos + 1 is 0.
}

/// Calls `take(name, nodes)` for each line `name: nodes`.
template <class Take>
void for_named_lines(std::string_view text, Take take) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line = line.substr(0, line.find('#'));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      take(stripped(line.substr(0, colon)), line.substr(colon + 1));
  }
}

/// One line of YAML without its comment: `key: value` or `- value`.
struct YamlLine {
  std::size_t indent = 0;
  bool item = false;
  std::string key{};
  std::string value{};
};

class YamlReader {
 public:
  explicit YamlReader(const SourceLine& line)
      : line_(line), at_(line.text.find_first_not_of(' ')) {}

  /// Returns nothing for a line without content.
  std::optional<YamlLine> read() {
    if (at_ == std::string_view::npos || line_.text[at_] == '#') return std::nullopt;
    if (line_.text.starts_with("---") && stripped(line_.text) == "---") return std::nullopt;
    YamlLine found{.indent = at_};
    if (rest().starts_with("- ")) {
      found.item = true;
      at_ += 2;
      skip();
    }
    std::string first = scalar();
    if (rest().starts_with(':') && (rest().size() == 1 || rest()[1] == ' ')) {
      if (found.item) fail("a list may only contain nodes");
      found.key = std::move(first);
      ++at_;
      skip();
      if (!at_end()) found.value = scalar();
    } else if (found.item) {
      found.value = std::move(first);
    } else {
      fail("expected 'name: nodes'");
    }
    if (!at_end()) fail("nothing may follow a value");
    return found;
  }

 private:
  [[nodiscard]] std::string_view rest() const { return line_.text.substr(at_); }
  void skip() { at_ = std::min(line_.text.find_first_not_of(' ', at_), line_.text.size()); }
  [[nodiscard]] bool at_end() const {
    return rest().empty() || (rest().front() == '#' && line_.text[at_ - 1] == ' ');
  }
  std::string scalar() {
    if (rest().empty()) fail("a value is missing");
    const char first = rest().front();
    if (first == '\'' || first == '"') return in_quotes(first);
    // '@' and '`' are reserved in YAML; the others begin what is not a plain text.
    if (std::string_view("[]{}&*!|>%?@`,-\t").find(first) != std::string_view::npos)
      fail("this YAML is not supported here; put the value in single quotes");
    std::size_t end = at_;
    while (end < line_.text.size()) {
      const bool colon =
          line_.text[end] == ':' && (end + 1 == line_.text.size() || line_.text[end + 1] == ' ');
      const bool comment = line_.text[end] == '#' && line_.text[end - 1] == ' ';
      if (colon || comment) break;
      ++end;
    }
    const std::string_view text = line_.text.substr(at_, end - at_);
    at_ = end;
    return std::string(stripped(text));
  }
  std::string in_quotes(char quote) {
    std::string text;
    for (++at_; !rest().empty(); ++at_) {
      if (rest().front() == '\\' && quote == '"') fail("escapes are not supported here");
      if (rest().front() != quote) {
        text += rest().front();
        continue;
      }
      ++at_;
      if (quote != '\'' || !rest().starts_with('\'')) {
        skip();
        return text;
      }
      text += '\'';
    }
    fail("the closing quote is missing");
  }
  [[noreturn]] void fail(std::string_view why) const {
    throw text_error(line_, std::min(at_, line_.text.size()), why,
                     "a group file looks like: source: / group: 'node[1-4]', one a line, groups "
                     "indented");
  }

  const SourceLine& line_;
  std::size_t at_;
};

}  // namespace

std::optional<std::string> named_nodes(std::string_view text, std::string_view name) {
  std::optional<std::string> nodes;
  for_named_lines(text, [&](std::string_view its, std::string_view list) {
    if (its == name) nodes = nodes.value_or("") + std::string(list) + "\n";
  });
  return nodes;
}

std::vector<std::string> names_of_lines(std::string_view text) {
  std::vector<std::string> names;
  for_named_lines(text, [&](std::string_view its, std::string_view) { names.emplace_back(its); });
  return names;
}

void read_groups_conf(std::string_view text, std::string_view file, ConfSections& into) {
  std::map<std::string, std::string>* section = nullptr;
  std::string* value = nullptr;
  for (int number = 1; !text.empty(); ++number) {
    const SourceLine line{file, number, take_line(text)};
    const std::string_view content = stripped(line.text);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (kFileBlanks.find(line.text.front()) != std::string_view::npos && value != nullptr) {
      *value += "\n" + std::string(content);
      continue;
    }
    if (content.front() == '[') {
      if (!content.ends_with(']')) throw text_error(line, 0, "a ']' is missing", "");
      section = &into[std::string(content.substr(1, content.size() - 2))];
      value = nullptr;
      continue;
    }
    const std::size_t separator = content.find_first_of(":=");
    if (section == nullptr || separator == std::string_view::npos)
      throw text_error(line, 0, "expected [source] or 'key: value'",
                       "see groups.conf(5) of ClusterShell");
    std::string key(stripped(content.substr(0, separator)));
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
    value = &(*section)[key];
    *value = stripped(content.substr(separator + 1));
  }
}

GroupTable read_group_yaml(std::string_view text, std::string_view file) {
  GroupTable table;
  std::map<std::string, std::string>* source = nullptr;
  std::string* group = nullptr;  // of a list that may follow
  std::size_t indent = 0;        // of the groups of this source
  std::string last;              // the source's name
  for (int number = 1; !text.empty(); ++number) {
    const SourceLine line{file, number, take_line(text)};
    const std::optional<YamlLine> found = YamlReader(line).read();
    if (!found) continue;
    const auto fail = [&](std::string_view why) {
      throw text_error(line, found->indent, why, "see groups.d/README of ClusterShell");
    };
    if (found->item) {
      if (group == nullptr) fail("this item belongs to no group");
      if (!group->empty()) *group += ",";
      *group += found->value;
    } else if (found->indent == 0) {
      if (!found->value.empty()) fail("a source contains groups, not nodes");
      if (!table.try_emplace(found->key).second) fail("this source exists already");
      last = found->key;
      source = &table[last];
      group = nullptr;
      indent = 0;
    } else {
      if (source == nullptr) fail("this group belongs to no source");
      if (indent == 0) indent = found->indent;
      if (found->indent != indent) fail("groups of a source are indented equally");
      const auto [known, is_new] = source->try_emplace(found->key, found->value);
      if (!is_new) fail("this group exists already");
      group = found->value.empty() ? &known->second : nullptr;
    }
  }
  return table;
}

std::string fill_template(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$') {
      filled += text[at];
      continue;
    }
    if (text.substr(at).starts_with("$$")) {
      filled += '$';
      ++at;
      continue;
    }
    const bool braces = text.substr(at).starts_with("${");
    const std::size_t begin = at + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const auto known = values.find(std::string(text.substr(begin, end - begin)));
    const bool closed = !braces || text.substr(end).starts_with('}');
    if (known == values.end() || !closed) {
      filled += '$';
      continue;
    }
    filled += known->second;
    at = end - (braces ? 0 : 1);
  }
  return filled;
}

}  // namespace ds::launcher
