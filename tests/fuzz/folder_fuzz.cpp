// Fuzz target: what a Hugging Face folder says, its config.json ("c" and the text) and the header
// of a safetensors file ("s" and the text).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/config/hf_config.h"
#include "engine/config/keys.h"
#include "engine/safetensors/safetensors.h"
#include "fuzz/check_text.h"

namespace {

constexpr std::int64_t kBytes = 1 << 20;

void read_config(std::string_view text) {
  const ds::HfConfig config = ds::read_hf_config(text, "llama", 128);
  for (const ds::HfConfig::Field& field : config.fields)
    DS_ASSERT(ds::find_key(field.key) != nullptr, "every field is a key of [model]");
  for (const char* arch : {"gpt2", "llama", "mistral", "qwen2", "qwen3", "bert", "roberta", "t5"}) {
    ds::ModelConfig model;
    model.arch = arch;
    model.layers = model.hidden = model.heads = model.kv_heads = 4;
    for (const std::string& line : ds::hf_config_mismatches(text, model, 128)) {
      ds::test::check_for_terminal(line);
      DS_ASSERT(line.size() < 1024, "long values are cut");
    }
  }
}

void read_header(std::string_view text) {
  for (const ds::SafetensorsEntry& entry : ds::parse_safetensors(text, kBytes)) {
    std::int64_t bytes = ds::size_of(entry.dtype);
    for (const std::int64_t extent : entry.shape) bytes *= extent;
    DS_ASSERT(entry.from >= 0 && entry.to <= kBytes && entry.to - entry.from == bytes,
              "every tensor lies in the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty()) return 0;
  const bool is_config = text[0] == 'c';
  text.remove_prefix(1);
  try {
    is_config ? read_config(text) : read_header(text);
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
