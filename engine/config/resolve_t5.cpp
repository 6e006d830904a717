// resolve_t5(): T5's defaults, and the keys that belong to it alone.
#include <algorithm>

#include "engine/config/keys.h"
#include "engine/config/resolve_sections.h"
#include "engine/config/t5_sizes.h"

namespace ds {
namespace {

constexpr std::string_view kOwnKeys[] = {"model.decoder_layers", "model.relative_buckets",
                                         "model.relative_distance", "model.scaled"};
constexpr std::string_view kOtherKeys[] = {
    "model.rope_theta", "model.rope_scaling", "model.rope_factor", "model.rope_low",
    "model.rope_high",  "model.rope_trained", "model.type_vocab",  "model.first_position"};

/// Returns the first of `keys` whose value is not that of a model without it; empty if none is.
template <class Keys>
std::string_view first_changed(const Keys& keys, const ModelConfig& model) {
  const TrainConfig usual;
  TrainConfig config;
  config.model = model;
  const auto* const found = std::ranges::find_if(keys, [&](std::string_view key) {
    return find_key(key)->get(config) != find_key(key)->get(usual);
  });
  return found == std::ranges::end(keys) ? std::string_view() : *found;
}

void require_buckets(const ModelConfig& model, const GivenKeys& given) {
  if (model.relative_distance > model.relative_buckets / 2) return;
  throw given.error(
      {"model.relative_distance", "model.relative_buckets"},
      fmt::format("model.relative_distance = {} is not above half of model.relative_buckets = {}",
                  model.relative_distance, model.relative_buckets),
      "half of the buckets hold one distance each; T5 has 32 and 128");
}

}  // namespace

void refuse_t5_keys(const TrainConfig& config, const GivenKeys& given) {
  std::string_view key = first_changed(kOwnKeys, config.model);
  if (key.empty() && config.data.encoder_len != 0) key = "data.encoder_len";
  if (key.empty()) return;
  throw given.error({key},
                    fmt::format("{} does not apply to arch = \"{}\"", key, config.model.arch),
                    "leave it out, or use model.arch = \"t5\"");
}

void resolve_t5(ModelConfig& model, const GivenKeys& given) {
  const auto is_given = [&](std::string_view key) { return given.places.contains(key); };
  if (const std::string_view key = first_changed(kOtherKeys, model); !key.empty()) {
    throw given.error(
        {key}, fmt::format("{} does not apply to arch = \"t5\": its positions are distances", key),
        "leave it out");
  }
  if (model.kv_heads != model.heads)
    throw given.error({"model.kv_heads"}, "model.kv_heads does not apply to arch = \"t5\"",
                      "leave it out: every head of queries has its own head of keys");
  if (model.preset.empty()) {
    if (!is_given("model.activation")) model.activation = FeedForward::relu;
    if (!is_given("model.norm_eps")) model.norm_eps = kT5NormEps;
    if (!is_given("model.scaled")) model.scaled = model.tied;
  }
  if (model.activation != FeedForward::relu && model.activation != FeedForward::gated_gelu)
    throw given.error({"model.activation"}, "model.activation of arch = \"t5\" is another one",
                      "use \"relu\", as T5 1.0, or \"gated_gelu\", as T5 1.1");
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  if (model.decoder_layers == 0) model.decoder_layers = model.layers;
  require_buckets(model, given);
}

void require_t5_data(TrainConfig& config, const GivenKeys& given) {
  DataConfig& data = config.data;
  if (data.encoder_len == 0)
    throw given.error({}, "missing key data.encoder_len", "write encoder_len = 512 under [data]");
  data.fields.encoder_len = data.encoder_len;  // also where the files are not opened
}

}  // namespace ds
