// Opens the Hugging Face folder with the sizes that training needs.
#include "engine/states/imported_weights.h"

#include "engine/data/byte_tokens.h"

namespace ds {

HfModel open_import(const TrainConfig& config) {
  try {
    return {config.model.init,
            {.model = config.model,
             .positions = config.data.seq_len,
             .least_vocab = config.data.tokenizer == "bytes" ? kByteTokens : 1}};
  } catch (const Error& error) {
    throw error.with_context("model.init");
  }
}

}  // namespace ds
