// What the converters share: settings, and the list of added tokens with a post-processor.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/tokenizer/converters.h"
#include "engine/tokenizer/special_tokens.h"

namespace ds {

/// Returns a setting that is true or false; `otherwise` if it is missing or null. Errors:
/// Error{config}: it is something else.
bool setting_of(const ConverterInput& input, const char* key, bool otherwise);

/// Returns a TemplateProcessing with tokens before and behind a text, which have numbers.
nlohmann::json template_around(const SpecialTokens& tokens, const std::vector<std::string>& before,
                               const std::vector<std::string>& behind);

/// Returns the template of add_bos_token and add_eos_token.
nlohmann::json template_of_settings(const ConverterInput& input, const SpecialTokens& tokens);

}  // namespace ds
