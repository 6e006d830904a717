// Where mpirun's ranks run: reads -map-by, -rank-by, -bind-to and -display, and the parameters and
// variables that stand for them.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "engine/base/split.h"
#include "launcher/cli/forward_env.h"
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

bool is_one_of(std::string_view what, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), what) != names.end();
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
    if (word == "rankfile" || word.starts_with("pe-list="))
      usage_error(
          fmt::format("{}: {} {} is not supported", part.program, given.name, given.values[0]),
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

namespace {

/// Sets the part of a node that each rank is bound to.
void set_bind_policy(MpiWords& part, const ForeignGiven& given, const std::string& what) {
  if (is_one_of(what, {"none", "board", "machine"})) {
    part.bind = "none";
  } else if (is_one_of(what, {"core", "l1cache", "l2cache", "l1dcache", "l1icache", "l2dcache"})) {
    part.bind = "core";
  } else if (is_one_of(what, {"socket", "package"})) {
    part.bind = "socket";
  } else if (is_one_of(what, {"hwthread", "numa", "l3cache"})) {
    part.bind = what;
  } else if (what == "rr") {
    part.bind = "hwthread";
    part.map_by = "core";
  } else {
    usage_error(fmt::format("{}: {} cannot be '{}'", part.program, given.name, given.values[0]),
                "choose one of: none, hwthread, core, l1cache, l2cache, l3cache, numa, socket, "
                "package, board, machine; of Hydra also rr");
  }
}

/// Reads a word after a ':'. Open MPI also takes the beginnings of its words.
void add_bind_qualifier(MpiWords& part, const ForeignGiven& given, const std::string& word) {
  constexpr std::string_view kWithoutEffect[] = {"if-supported", "no-overload", "ordered",
                                                 "overload-allowed", "oversubscribe-allowed"};
  const auto begins = [&](std::string_view name) { return name.starts_with(word); };
  if (is_number(word) && !given.values[0].starts_with(':'))
    part.cores_per_rank = word;
  else if (begins("report"))
    part.report_bindings = true;
  else if (std::ranges::none_of(kWithoutEffect, begins))
    usage_error(fmt::format("{}: {} {}: '{}' is not known", part.program, given.name,
                            given.values[0], word),
                "after the ':' may stand if-supported, no-overload, ordered, overload-allowed, "
                "oversubscribe-allowed, report, or Hydra's number");
}

}  // namespace

void set_bind(MpiWords& part, const ForeignGiven& given) {
  std::string text = lower(given.values[0]);
  const bool only_qualifiers = text.starts_with(':') && text.size() > 1;
  std::replace(text.begin(), text.end(), ',', ':');
  const std::vector<std::string> words = split_list(text, ':');
  const std::string what = words.empty() || only_qualifiers ? "" : words[0];
  if (is_one_of(what, {"cpu-list", "cpulist", "user"})) {
    part.notes.push_back(
        fmt::format("{} {} has no effect: see -cpu-set", given.name, given.values[0]));
    return;
  }
  if (only_qualifiers)
    part.bind.reset();  // a variable may have set it; Open MPI binds by its own rule then
  else
    set_bind_policy(part, given, what);
  for (std::size_t i = only_qualifiers ? 0 : 1; i < words.size(); ++i)
    add_bind_qualifier(part, given, words[i]);
}

void set_rank(MpiWords& part, const ForeignGiven& given) {
  const std::string text = lower(given.values[0]);
  const std::string what = text.substr(0, text.find(':'));
  if (what == "span") {
    part.notes.push_back("--rank-by span has no effect: ranks are numbered host after host");
  } else if (is_one_of(what, {"core", "hwthread"})) {
    part.rank_by = "fill";
  } else if (is_one_of(what,
                       {"socket", "package", "numa", "board", "l1cache", "l2cache", "l3cache"})) {
    part.rank_by = "slot";
  } else if (is_one_of(what, {"slot", "node", "fill"})) {
    part.rank_by = what;
  } else {
    usage_error(fmt::format("{}: {} cannot be '{}'", part.program, given.name, given.values[0]),
                "choose one of: slot, node, fill, core, hwthread, numa, socket, package, board, "
                "l1cache, l2cache, l3cache");
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

void take_agent(MpiWords& part, const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  if (name != "ssh" && name != "rsh") part.rsh_agent = program;
}

namespace {

struct Setting {
  std::string_view name;
  void (*apply)(MpiWords& part, const ForeignGiven& given);
};

/// Parameters of Open MPI 4 and 5 that stand for an option.
constexpr Setting kParameters[] = {
    {"hwloc_base_binding_policy", set_bind},
    {"hwloc_default_binding_policy", set_bind},
    {"rmaps_base_mapping_policy", set_map},
    {"rmaps_default_mapping_policy", set_map},
    {"rmaps_base_ranking_policy", set_rank},
    {"rmaps_default_ranking_policy", set_rank},
    {"rmaps_base_oversubscribe",
     [](MpiWords& part, const ForeignGiven& given) {
       part.oversubscribe = given.values[0] != "0";
     }},
};

/// Variables of Hydra that stand for an option.
constexpr Setting kVariablesOfHydra[] = {
    {"HYDRA_BINDING", set_bind},
    {"HYDRA_MAPPING", set_map},
    {"HYDRA_IFACE", set<&MpiWords::iface>},
    {"HYDRA_LAUNCHER_EXEC",
     [](MpiWords& part, const ForeignGiven& given) { take_agent(part, given.values[0]); }},
};

/// A variable of both.
constexpr Setting kTimeout = {"MPIEXEC_TIMEOUT", set<&MpiWords::timeout>};

}  // namespace

void take_module(MpiWords& part, const ForeignGiven& given) {
  const std::string& name = given.values[0];
  const std::string& value = given.values[1];
  if (name == "orte_default_hostfile" || name == "prte_default_hostfile") {
    part.hostfile = value;
  } else if (name == "plm_rsh_agent" || name == "plm_ssh_agent") {
    take_agent(part, value);
  } else if (const auto* const known = std::ranges::find(kParameters, name, &Setting::name);
             known != std::end(kParameters)) {
    known->apply(part, {.name = given.name + " " + name, .values = {value}});
  } else if (!given.name.ends_with("prtemca") && !is_parameter_of_mpirun(name)) {
    part.common.push_back(
        {(given.name.ends_with("pmixmca") ? "PMIX_MCA_" : "OMPI_MCA_") + name, value});
  } else if (std::find(part.modules.begin(), part.modules.end(), name) == part.modules.end()) {
    part.modules.push_back(name);
  }
}

void take_variables(MpiWords& job, bool hydra, const Surroundings& around) {
  const auto take = [&](const std::string& variable, const Setting& setting) {
    if (const auto value = around.variable(variable); value && !value->empty())
      setting.apply(job, {.name = variable, .values = {*value}});
  };
  for (const Setting& setting : kParameters)
    for (const char* family : {"OMPI_MCA_", "PRTE_MCA_"})
      if (!hydra) take(family + std::string(setting.name), setting);
  for (const Setting& setting : kVariablesOfHydra)
    if (hydra) take(std::string(setting.name), setting);
  take(std::string(kTimeout.name), kTimeout);
}

}  // namespace ds::launcher
