// make_normalizer(): how a tokenizer changes a text before it looks for words.
#pragma once

#include <functional>
#include <string>

#include "engine/tokenizer/component.h"

namespace ds {

/// Changes valid UTF-8 into valid UTF-8. Errors: as Pattern::find().
using Normalizer = std::function<void(std::string& text)>;

/// Errors: Error{config}: a type that is not built, or a key with an impossible value.
Normalizer make_normalizer(const Component& component);

}  // namespace ds
