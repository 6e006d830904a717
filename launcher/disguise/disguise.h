// dslaunch under the name of another launcher: its command line becomes words of dslaunch. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

/// What of this machine decides what a foreign command line means.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<int()> cores;  // of this process
  std::function<int()> gpus;
};

/// Where a value stands that nobody else shall see: word and first byte.
struct SecretPlace {
  std::size_t word = 0;
  std::size_t offset = 0;
  friend bool operator==(const SecretPlace&, const SecretPlace&) = default;
};

struct Disguised {
  std::vector<std::string> words{};     // as they would stand behind `dslaunch`
  std::vector<std::string> notes{};     // for people: what has no effect, and why
  std::vector<SecretPlace> secrets{};   // in the foreign words
  std::vector<std::string> programs{};  // that may want an MPI, which is not here
};

struct Disguise {
  std::string_view name;
  std::string_view summary;
  /// Errors:  Error{usage} for words that launcher would not know, or that cannot be had here;
  ///          Error{config} for values that do not fit this machine.
  Disguised (*translate)(std::span<const std::string> words, const Surroundings& around);
  std::vector<ForeignOption> (*options)();  // and what becomes of each
};

std::span<const Disguise> disguises();
/// By the last part of a path: "/usr/bin/torchrun". Null: none.
const Disguise* find_disguise(std::string_view program);

/// The whole --help of a disguise.
std::string disguise_help(const Disguise& disguise);

}  // namespace ds::launcher
