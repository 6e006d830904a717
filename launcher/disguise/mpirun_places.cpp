// Where mpirun's ranks run: reads -map-by, -rank-by, -bind-to and -display.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/mpirun_words.h"

namespace ds::launcher {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, at))
    if (!part.empty()) parts.emplace_back(part);
  return parts;
}

void set_map(MpiWords& part, const ForeignGiven& given) {
  std::string policy;
  std::string modifiers;
  std::string text = lower(given.values[0]);
  std::replace(text.begin(), text.end(), ',', ':');  // Open MPI takes either between modifiers
  for (const std::string& word : split_list(text, ':')) {
    if (word == "seq" || word == "rankfile" || word.starts_with("pe-list="))
      usage_error(fmt::format("mpirun: {} {} is not supported", given.name, given.values[0]),
                  "use slot, node, numa, socket, core or ppr:N:PART");
    if (word == "oversubscribe") {
      part.oversubscribe = true;
    } else if (word == "nolocal") {
      part.no_local = true;
    } else if (word == "span" || word.starts_with("pe=")) {
      modifiers += ":" + word;
    } else if (word == "machine" || word == "board" || word == "nooversubscribe" ||
               word == "inherit" || word == "noinherit" || word == "corecpus") {
      continue;
    } else if (word == "hwtcpus" || (is_number(word) && !policy.starts_with("ppr"))) {
      part.notes.push_back(fmt::format("{} of {} {} has no effect: ranks go round single parts",
                                       word, given.name, given.values[0]));
    } else {
      policy += (policy.empty() ? "" : ":") +
                (word == "l1cache" || word == "l2cache" ? std::string("core") : word);
    }
  }
  part.map_by = (policy.empty() ? "slot" : policy) + modifiers;
}

void set_bind(MpiWords& part, const ForeignGiven& given) {
  const std::vector<std::string> parts = split_list(lower(given.values[0]), ':');
  const std::string what = parts.empty() ? "" : parts[0];
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), what) != names.end();
  };
  if (is_one_of({"none", "board", "machine"})) {
    part.bind = "none";
  } else if (is_one_of({"core", "l1cache", "l2cache", "l1dcache", "l1icache", "l2dcache"})) {
    part.bind = "core";
  } else if (is_one_of({"socket", "package"})) {
    part.bind = "socket";
  } else if (is_one_of({"hwthread", "numa", "l3cache"})) {
    part.bind = what;
  } else if (what == "rr") {
    part.bind = "hwthread";
    part.map_by = "core";
  } else {
    part.notes.push_back(
        fmt::format("{} {} has no effect: it must be none, hwthread, core, l3cache, numa or socket",
                    given.name, given.values[0]));
  }
  if (parts.size() > 1 && is_number(parts[1])) part.cores_per_rank = parts[1];
}

void set_rank(MpiWords& part, const ForeignGiven& given) {
  const std::string what = lower(split_list(given.values[0] + ":", ':').front());
  if (what == "node" || what == "fill" || what == "slot") {
    part.rank_by = what;
  } else if (what == "core" || what == "hwthread") {
    part.rank_by = "fill";
  } else if (what == "span") {
    part.notes.push_back("--rank-by span has no effect: ranks are numbered host after host");
  } else {
    part.rank_by = "slot";
  }
}

void set_display(MpiWords& part, const ForeignGiven& given) {
  for (const std::string& word : split_list(lower(given.values[0]), ',')) {
    if (word.starts_with("map")) {
      part.display_map = true;
    } else if (word.starts_with("bind")) {
      part.report_bindings = true;
    } else {
      part.notes.push_back(fmt::format("--display {} has no effect", word));
    }
  }
}

}  // namespace ds::launcher
