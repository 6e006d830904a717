// make_pre_tokenizer(): how a tokenizer cuts a text into words, which its model then splits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/tokenizer/component.h"

namespace ds {

/// A piece of the text, which is not empty. `is_first`: the text begins with it.
struct Word {
  std::string text;
  bool is_first = false;
};

/// Replaces words by shorter or changed ones. Errors: as Pattern::find().
using PreTokenizer = std::function<void(std::vector<Word>& words)>;

/// Errors: Error{config}: a type that is not built, or a key with an impossible value.
PreTokenizer make_pre_tokenizer(const Component& component);

}  // namespace ds
