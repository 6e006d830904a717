// Helpers for tests of disguises: translate a command line given as one text.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "launcher/cli/options.h"
#include "launcher/disguise/disguise.h"
#include "launcher/groups/node_groups.h"

namespace ds::test {

using Variables = std::map<std::string, std::string>;
using Files = std::map<std::string, std::string>;

inline std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

inline std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + (word.empty() ? "''" : word);
  return text;
}

/// Translates on a node with 6 cores, `gpus` GPUs and `files`.
inline launcher::Disguised translate(const std::string& line, const Variables& variables = {},
                                     int gpus = 0, const Files& files = {}) {
  std::vector<std::string> words = split(line);
  const launcher::Disguise* disguise = launcher::find_disguise(words.front());
  REQUIRE(disguise != nullptr);
  words.erase(words.begin());
  const auto variable = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const auto file = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  const launcher::Surroundings around{
      .variable = variable,
      .cores = [] { return 6; },
      .gpus = [gpus] { return gpus; },
      .user = "ann",
      .uid = 1000,
      .file =
          [&](const std::string& path) {
            if (const auto text = file(path)) return *text;
            throw Error(ErrorKind::config, "cannot read " + path);
          },
      .groups =
          [&] {
            return std::make_shared<launcher::NodeGroups>(launcher::GroupWorld{
                .variable = [&](const char* name) { return variable(name).value_or(""); },
                .file = file,
                .files_of = [](const std::string&) { return std::vector<std::string>(); },
                .run = [](const std::string&,
                          const std::string&) { return launcher::UpcallResult(); }});
          }};
  return disguise->translate(disguise->name, words, around);
}

/// Returns the words; dslaunch's own parser must accept them.
inline std::string meant(const std::string& line, const Variables& variables = {}, int gpus = 0) {
  const std::vector<std::string> words = translate(line, variables, gpus).words;
  std::vector<const char*> pointers = {"dslaunch"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  if (words.front() == "agent")
    launcher::parse_agent_args(static_cast<int>(words.size()), pointers.data() + 1);
  else
    launcher::parse_args(static_cast<int>(pointers.size()), pointers.data());
  return join(words);
}

inline std::string refused(const std::string& line, const Variables& variables = {}) {
  try {
    translate(line, variables);
  } catch (const Error& error) {
    return error.for_people();
  }
  return "none";
}

}  // namespace ds::test
