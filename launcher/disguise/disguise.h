// Disguises: translate the command line of another launcher into dslaunch's. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

/// Facts of this machine that affect the meaning of a foreign command line.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<int()> cores;  // cores of this process
  std::function<int()> gpus;
};

/// Place of a value that other users must not see: index of the word and first byte.
struct SecretPlace {
  std::size_t word = 0;
  std::size_t offset = 0;
  friend bool operator==(const SecretPlace&, const SecretPlace&) = default;
};

struct Disguised {
  std::vector<std::string> words{};    // arguments of `dslaunch`
  std::vector<std::string> notes{};    // lines about options without effect
  std::vector<SecretPlace> secrets{};  // places in the foreign words
};

struct Disguise {
  std::string_view name;
  std::string_view summary;
  /// Errors:  Error{usage} for words that the launcher does not know or that are not supported
  /// here;
  ///          Error{config} for values that do not fit this machine.
  Disguised (*translate)(std::span<const std::string> words, const Surroundings& around);
  std::vector<ForeignOption> (*options)();  // all options, with what becomes of each
};

std::span<const Disguise> disguises();
/// Finds a disguise by the last part of a path ("/usr/bin/torchrun"). Null if there is none.
const Disguise* find_disguise(std::string_view program);

/// Quotes a word in single quotes for a shell.
std::string shell_quoted(const std::string& word);

/// Returns the complete --help of a disguise.
std::string disguise_help(const Disguise& disguise);

}  // namespace ds::launcher
