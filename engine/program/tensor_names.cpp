// matches_name() and no_such_tensor().
#include "engine/program/tensor_names.h"

#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "engine/base/nearest_word.h"

namespace ds {
namespace {

/// Returns the name with `*` for each number: one text for the tensors of all blocks.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) text += c;
    if (is_digit && !text.ends_with('*')) text += '*';
  }
  return text;
}

}  // namespace

bool matches_name(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

Error no_such_tensor(std::string_view key, const std::string& entry, const Program& model,
                     std::span<const std::string_view> words) {
  std::vector<std::string_view> known(words.begin(), words.end());
  std::vector<std::string> kinds;
  for (const ParamGroup& group : model.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      known.emplace_back(tensor.name);
      std::string kind = without_numbers(tensor.name);
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(std::move(kind));
    }
  }
  const std::string near = nearest_word(entry, known);
  return {ErrorKind::config, fmt::format("{}: no tensor of this model matches \"{}\"", key, entry),
          near.empty()
              ? fmt::format("patterns of the names of its tensors: {}", fmt::join(kinds, ", "))
              : fmt::format("did you mean \"{}\"?", near)};
}

}  // namespace ds
