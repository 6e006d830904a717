// recognize_chat_template(): the named template that a Hugging Face folder's Jinja text is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/chat/chat_template.h"

namespace ds {

/// Reads a folder's chat_template.jinja, or "chat_template" of its tokenizer_config.json, and
/// returns the template whose known text it is, with the folder's begin and end tokens; nothing if
/// the folder has no template. Texts are compared as a whole, by a hash, because no part of a text
/// tells what the rest of it writes. Errors: Error{config}: the text is not known (the hint names
/// the likeliest template and all names), or a file is damaged.
std::optional<ChatTemplate> recognize_chat_template(const std::string& folder);

/// Sets `bos` and `eos` to the folder's tokens, for a template that was chosen by its name. A token
/// that the folder does not name stays as it is in a template whose texts do not have it, and is
/// empty for {bos}. Errors: Error{config}: the template writes {eos}, and the folder names none.
void use_tokens_of_folder(ChatTemplate& chat, const std::string& folder);

/// Returns the XXH3-128 of a Jinja text, as 32 digits, without what Jinja does not read: carriage
/// returns of line ends, and one line end at the end.
std::string hash_of_jinja(std::string_view text);

}  // namespace ds
