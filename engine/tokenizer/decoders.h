// make_decoder(): how tokens become text again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/tokenizer/component.h"

namespace ds {

/// Changes the texts of tokens; joined, they are the text. The joined text may be no UTF-8.
using TokenDecoder = std::function<void(std::vector<std::string>& tokens)>;

/// Errors: Error{config}: a type that is not built, or a key with an impossible value.
TokenDecoder make_decoder(const Component& component);

}  // namespace ds
