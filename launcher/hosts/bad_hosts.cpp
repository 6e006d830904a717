// Table of bad hosts: replaces names and addresses in reasons by gaps, so that equal reasons merge.
#include "launcher/hosts/bad_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/network.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kWideHosts = 40;  // after a wider list, stage and reason go on the next line

constexpr char kNameGap = '\x01';  // cannot occur in the text: control bytes were replaced
constexpr char kAddressGap = '\x02';

bool is_gap(char letter) { return letter == kNameGap || letter == kAddressGap; }

std::string clean(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '-' ||
         letter == '_';
}

/// Reason with gaps, and the values that stood there; empty where hosts differ.
struct Template {
  std::string text;
  std::vector<std::string> values;
};

/// Replaces names and addresses. Words end as names and IPv4 addresses do; IPv6 adds colons.
Template gaps_of(const std::string& reason, const std::string& name, const std::string& dialled) {
  const auto varies = [&](const std::string& word) {
    return word == name || (!word.empty() && word == dialled) || parse_address(word).has_value();
  };
  Template out;
  for (std::size_t at = 0; at < reason.size();) {
    std::size_t end = at;
    while (end < reason.size() && is_word(reason[end])) ++end;
    std::size_t end6 = at;
    while (end6 < reason.size() && (is_word(reason[end6]) || reason[end6] == ':')) ++end6;
    while (end6 > end && reason[end6 - 1] == ':' && (end6 < at + 2 || reason[end6 - 2] != ':'))
      --end6;
    const std::string word = reason.substr(at, end - at);
    const std::string word6 = reason.substr(at, end6 - at);
    const std::string& value = varies(word6) ? word6 : word;
    if (!value.empty() && varies(value)) {
      out.text += value == name ? kNameGap : kAddressGap;
      out.values.push_back(value);
      at += value.size();
      continue;
    }
    const std::size_t length = std::max<std::size_t>(word.size(), 1);
    out.text += reason.substr(at, length);
    at += length;
  }
  return out;
}

/// Parts of "n1 (c-1.x): refused".
struct Parts {
  std::string name;
  std::string dialled;  // empty if equal to the name
  std::string reason;
};

Parts parts_of(const BadHost& host) {
  Parts parts{clean(host.name), {}, clean(host.reason)};
  const std::size_t name = parts.name.size();
  const std::size_t end = parts.reason.find("): ");
  if (parts.reason.starts_with(parts.name + ": ")) {
    parts.reason.erase(0, name + 2);
  } else if (parts.reason.starts_with(parts.name + " (") && end != std::string::npos) {
    parts.dialled = parts.reason.substr(name + 2, end - name - 2);
    parts.reason.erase(0, end + 3);
  }
  return parts;
}

struct Line {
  std::vector<std::string> names;
  std::string shown;  // first host, with the name that was dialed
  std::string stage;
  Template reason;

  [[nodiscard]] std::string hosts() const {
    return names.size() == 1 ? shown : fmt::format("{} ({})", fold_names(names), names.size());
  }
  [[nodiscard]] std::string reason_text() const {
    constexpr std::string_view kColon = ": ";
    std::string text;
    std::string_view left = reason.text;
    for (auto value = reason.values.begin(); !left.empty();) {
      const char letter = left.front();
      left.remove_prefix(1);
      if (!is_gap(letter)) {
        text += letter;
      } else if (!value->empty()) {
        text += *value++;
      } else {
        ++value;
        const bool alone = (text.empty() || text.ends_with(kColon)) && left.starts_with(kColon);
        if (alone)
          left.remove_prefix(kColon.size());
        else
          text += letter == kNameGap ? "HOST" : "ADDRESS";
      }
    }
    return text;
  }
};

std::vector<Line> lines_of(const std::vector<BadHost>& hosts) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> known;
  for (const BadHost& host : hosts) {
    const auto [name, dialled, reason] = parts_of(host);
    Template gaps = gaps_of(reason, name, dialled);
    const auto [entry, is_new] = known.try_emplace(host.stage + '\n' + gaps.text, lines.size());
    if (is_new) {
      const std::string shown = dialled.empty() ? name : fmt::format("{} ({})", name, dialled);
      lines.push_back({{name}, shown, clean(host.stage), std::move(gaps)});
      continue;
    }
    Line& line = lines[entry->second];
    if (std::find(line.names.begin(), line.names.end(), name) == line.names.end())
      line.names.push_back(name);
    auto value = line.reason.values.begin();
    auto other = gaps.values.begin();
    for (const char letter : gaps.text)
      if (is_gap(letter) && *other++ != *value++)
        std::prev(value)->clear();
  }
  return lines;
}

}  // namespace

std::string bad_hosts_table(const std::vector<BadHost>& hosts, std::string_view indent) {
  const std::vector<Line> lines = lines_of(hosts);
  std::size_t wide = 5, stage = 5;  // widths of the header words
  for (const Line& line : lines) {
    const std::size_t width = line.hosts().size();
    if (width <= kWideHosts) wide = std::max(wide, width);
    stage = std::max(stage, line.stage.size());
  }
  std::string text = fmt::format("{}{:{}}  {:{}}  REASON", indent, "HOSTS", wide, "STAGE", stage);
  for (const Line& line : lines) {
    std::string names = line.hosts();
    if (names.size() > wide) {
      text += fmt::format("\n{}{}", indent, names);
      names.clear();
    }
    text += fmt::format("\n{}{:{}}  {:{}}  {}", indent, names, wide,
                        line.stage.empty() ? "-" : line.stage, stage, line.reason_text());
  }
  return text;
}

std::string bad_host_line(const BadHost& host) {
  const std::string name = clean(host.name);
  std::string reason = clean(host.reason);
  if (!reason.starts_with(name + ": ") && !reason.starts_with(name + " ("))
    reason = fmt::format("{}: {}", name, reason);
  return host.stage.empty() ? reason : fmt::format("{} (stage: {})", reason, clean(host.stage));
}

}  // namespace ds::launcher
