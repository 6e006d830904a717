// build_model(): the list of architectures.
#include "engine/models/build_model.h"

#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"
#include "engine/models/bert.h"
#include "engine/models/gpt2.h"
#include "engine/models/llama.h"
#include "engine/models/t5.h"

namespace ds {

Program build_model(const ModelConfig& config, const ModelShape& shape) {
  if (bert_family(config.arch) != nullptr) return build_bert(config, shape);
  if (llama_family(config.arch) != nullptr) return build_llama(config, shape);
  if (config.arch == "t5") return build_t5(config, shape);
  DS_ASSERT(config.arch == "gpt2", "the key table and this list must name the same architectures");
  return build_gpt2(config, shape);
}

}  // namespace ds
