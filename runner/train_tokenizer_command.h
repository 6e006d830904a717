// `dsrunner data train-tokenizer`: makes a tokenizer of texts.
#pragma once

#include "engine/base/tool_options.h"

namespace ds {

/// Writes the folder --out, complete or not at all. Errors: Error{usage}: what is missing or does
/// not fit together; as OutFolder, count_pieces() and train_bpe().
int train_tokenizer(const ToolWords& read);

}  // namespace ds
