// Tests of reading a Hugging Face folder: values, other names, other vocabularies, and config.json
// at its limits.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/config/folder_head.h"
#include "engine/config/hf_config.h"
#include "engine/exchange/hf_config_json.h"
#include "engine/exchange/hf_model.h"
#include "engine/exchange/hf_tensors.h"
#include "engine/exchange/shards.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"
#include "tests/unit/exchange/small_models.h"

namespace {

/// Writes a folder of `config` whose tensors hold small numbers, exact in every type, and returns
/// our tensors as they must be read; rows that the folder lacks are zeros.
std::map<std::string, std::vector<float>> write_folder(const std::string& folder,
                                                       const ds::ModelConfig& config,
                                                       std::int64_t vocab, ds::DType dtype) {
  std::map<std::string, std::vector<float>> ours;
  const auto tensors = ds::hf_tensors(config, vocab, 16);
  const auto shards = ds::cut_shards(tensors, dtype, std::int64_t{1} << 60);
  std::ofstream(folder + "/config.json") << ds::hf_config_json(config, vocab, 16, dtype);
  std::ofstream file(folder + "/model.safetensors", std::ios::binary);
  file << shards.at(0).header;
  int next = 0;
  for (const std::size_t i : shards[0].tensors) {
    const ds::HfTensor& tensor = tensors[i];
    auto& values = ours[tensor.ours];
    values.resize(static_cast<std::size_t>(tensor.our_rows * tensor.our_columns));
    for (std::int64_t element = 0; element < tensor.elements(); ++element) {
      const auto value = static_cast<float>(next++ % 251 - 125);
      const std::int64_t row = tensor.transposed ? element % tensor.rows : element / tensor.columns,
                         column =
                             tensor.transposed ? element / tensor.rows : element % tensor.columns;
      values[static_cast<std::size_t>(row * tensor.our_columns + tensor.first_column + column)] =
          value;
      std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
      if (dtype == ds::DType::bf16) bits = ds::bf16_from_float(value);
      if (dtype == ds::DType::f16) bits = ds::f16_from_float(value);
      file.write(reinterpret_cast<const char*>(&bits), ds::size_of(dtype));
    }
  }
  return ours;
}

}  // namespace

TEST_CASE("any piece of any tensor is read from a folder") {
  std::string folder = std::filesystem::temp_directory_path() / "hf_model_test.XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::mt19937 random(7);  // NOLINT: a fixed seed
  for (const ds::DType dtype : {ds::DType::f32, ds::DType::bf16, ds::DType::f16}) {
    for (const char* arch : {"gpt2", "llama", "qwen2", "t5"}) {
      CAPTURE(arch);
      ds::ModelConfig config = config_of(arch, std::string(arch) == "gpt2");
      config.activation = ds::FeedForward::relu;  // T5's
      config.decoder_layers = 3;
      const auto ours = write_folder(folder, config, 300, dtype);
      ds::HfModel model(folder, {.model = config, .positions = 16});
      for (const auto& [name, values] : ours) {
        CAPTURE(name);
        const auto size = std::ssize(values);
        for (int piece = 0; piece < 12; ++piece) {
          // The whole tensor, then pieces from less than a row to nearly all.
          const std::int64_t first = piece == 0 ? 0 : static_cast<std::int64_t>(random()) % size;
          const std::int64_t most =
              piece % 2 == 0 ? size - first : std::min<std::int64_t>(size - first, 100);
          std::vector<float> into(
              static_cast<std::size_t>(piece == 0 ? size
                                                  : 1 + static_cast<std::int64_t>(random()) % most),
              7.0F);
          model.read(name, first, into);
          CHECK(std::memcmp(into.data(), values.data() + first, into.size() * sizeof(float)) == 0);
        }
      }
    }
  }
  std::filesystem::remove_all(folder);
}

namespace {

/// A new folder, removed at the end.
class NewFolder {
 public:
  NewFolder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~NewFolder() { std::filesystem::remove_all(path_); }
  NewFolder(const NewFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_ + "/model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set_text(const std::string& text) const {
    std::ofstream(path_ + "/model.safetensors", std::ios::binary) << text;
  }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "hf_model_test.XXXXXX";
};

}  // namespace

TEST_CASE("new rows of a larger vocabulary are the mean of the folder's; padding stays zero") {
  const NewFolder folder;
  for (const bool tied : {true, false}) {
    ds::ModelConfig config = config_of("llama", tied);
    config.tokens = 310;
    const auto ours = write_folder(folder.path(), config, 300, ds::DType::f32);
    ds::HfModel model(folder.path(), {.model = config, .positions = 16});
    CHECK(model.note() == folder.path() + " has 300 tokens: rows 300 to 309 of the embedding" +
                              (tied ? "" : " and of the head") + " begin as the mean of its rows");
    for (const char* name : {"embed_tokens.weight", "lm_head.weight"}) {
      if (tied && std::string(name) == "lm_head.weight") continue;
      const std::vector<float>& old = ours.at(name);
      std::vector<double> mean(48);
      for (std::size_t i = 0; i < std::size_t{300} * 48; ++i)
        mean[i % 48] += static_cast<double>(old[i]) / 300;
      std::vector<float> all(std::size_t{320} * 48), piece(100);
      model.read(name, 0, all);
      CHECK(std::memcmp(all.data(), old.data(), std::size_t{300} * 48 * 4) == 0);
      for (std::size_t i = std::size_t{300} * 48; i < all.size(); ++i)
        CHECK(static_cast<double>(all[i]) ==
              doctest::Approx(i < std::size_t{310} * 48 ? mean[i % 48] : 0.0));
      // A rank that reads only a part of the new rows has the same bits.
      for (const std::int64_t first : {300 * 48 - 7, 305 * 48 + 5, 310 * 48 - 50}) {
        model.read(name, first, piece);
        CHECK(std::memcmp(piece.data(), all.data() + first, 400) == 0);
      }
    }
  }
  ds::ModelConfig same = config_of("llama", true);
  same.tokens = 300;
  write_folder(folder.path(), same, 300, ds::DType::f32);
  CHECK(ds::HfModel(folder.path(), {.model = same, .positions = 16}).note().empty());
}

TEST_CASE("weights that are no finite numbers are named once they were read") {
  const NewFolder folder;
  const ds::ModelConfig config = config_of("llama", true);
  for (const auto& [dtype, infinite] :
       {std::pair{ds::DType::bf16, 0x7F80}, {ds::DType::f16, 0xFE00}}) {
    const auto ours = write_folder(folder.path(), config, 300, dtype);
    std::string text = folder.text();
    const auto tensors = ds::hf_tensors(config, 300, 16);
    const auto shards = ds::cut_shards(tensors, dtype, std::int64_t{1} << 60);
    std::size_t at = shards[0].header.size();
    for (const std::size_t i : shards[0].tensors) {
      if (tensors[i].name == "model.layers.1.self_attn.v_proj.weight")  // (16, 48)
        std::memcpy(&text[at + 2 * (3 * 48 + 5)], &infinite, 2);
      if (tensors[i].name == "model.norm.weight") std::memcpy(&text[at + 2 * 7], &infinite, 2);
      at += static_cast<std::size_t>(tensors[i].elements()) * 2;
    }
    folder.set_text(text);
    ds::HfModel model(folder.path(), {.model = config, .positions = 16});
    model.require_finite();  // nothing was read
    for (const auto& [name, values] : ours) {
      std::vector<float> into(values.size());
      model.read(name, 0, into);
    }
    try {
      model.require_finite();
      FAIL("it must throw");
    } catch (const ds::Error& error) {
      const std::string wrong = error.what();
      CHECK(wrong.find("\n  model.layers.1.self_attn.v_proj.weight: ") != std::string::npos);
      CHECK(wrong.find(" at [3, 5]\n") != std::string::npos);
      CHECK(wrong.find("model.norm.weight: ") != std::string::npos);
      CHECK(wrong.find(" at [7]") != std::string::npos);
      CHECK(wrong.find("v_proj") == wrong.rfind("v_proj"));
    }
  }
}

TEST_CASE("norms may be called gamma and beta, and names may lack their prefix") {
  const NewFolder folder;
  for (const char* arch : {"gpt2", "llama"}) {
    const ds::ModelConfig config = config_of(arch, true);
    const auto ours = write_folder(folder.path(), config, 320, ds::DType::f32);
    std::string text = folder.text();
    std::uint64_t length = 0;
    std::memcpy(&length, text.data(), 8);
    nlohmann::ordered_json header = nlohmann::ordered_json::parse(text.substr(8, length)), renamed;
    for (const auto& [name, entry] : header.items()) {
      std::string old = name;
      if (old.starts_with("transformer.") || old.starts_with("model."))
        old.erase(0, old.find('.') + 1);
      if (old.find("ln_") != std::string::npos || old.find("norm.") != std::string::npos) {
        const std::size_t dot = old.rfind('.') + 1;
        old = old.substr(0, dot) + (old.substr(dot) == "weight" ? "gamma" : "beta");
      }
      renamed[old] = entry;
    }
    const std::string new_header = renamed.dump();
    const std::uint64_t new_length = new_header.size();
    std::string out(8, ' ');
    std::memcpy(out.data(), &new_length, 8);
    folder.set_text(out + new_header + text.substr(8 + length));
    ds::HfModel model(folder.path(), {.model = config, .positions = 16});
    for (const auto& [name, values] : ours) {
      std::vector<float> into(values.size());
      model.read(name, 0, into);
      CHECK(std::memcmp(into.data(), values.data(), values.size() * 4) == 0);
    }
  }
}

TEST_CASE("T5: a tied model refuses a folder whose own head would be lost") {
  std::string folder = std::filesystem::temp_directory_path() / "t5_head_test.XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  ds::ModelConfig t5 = config_of("t5", false);
  t5.activation = ds::FeedForward::relu;
  t5.decoder_layers = 3;
  write_folder(folder, t5, 300, ds::DType::f32);
  CHECK(ds::has_own_head(folder));
  t5.tied = true;
  try {
    const ds::HfModel model(folder, {.model = t5, .positions = 16});
    FAIL("the head was passed over");
  } catch (const ds::Error& error) {
    CHECK(std::string(error.what()).find("lm_head.weight: differs from shared.weight") !=
          std::string::npos);
  }
  write_folder(folder, t5, 300, ds::DType::f32);
  CHECK(!ds::has_own_head(folder));
  CHECK(!ds::has_own_head(folder + "/nothing"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("sizes beyond all limits are read, also where a default follows from them") {
  const ds::HfConfig config = ds::read_hf_config(R"({"n_embd": 500000000})", "gpt2", 16);
  CHECK(config.refused.empty());
  const auto ffn = std::ranges::find(config.fields, "model.ffn", &ds::HfConfig::Field::key);
  REQUIRE(ffn != config.fields.end());
  CHECK(ffn->theirs == "n_inner: 2000000000 (not given)");
  CHECK(ds::read_hf_config(R"({"n_embd": 2000000000})", "gpt2", 16).refused ==
        std::vector<std::string>{"n_embd: 2000000000; expected 0 to 1073741824"});
}

TEST_CASE("null heads of keys are as many as heads; missing ones have each class's default") {
  const auto kv_heads = [](const std::string& text) {
    const ds::HfConfig config = ds::read_hf_config(text, "", 16);
    return std::ranges::find(config.fields, "model.kv_heads", &ds::HfConfig::Field::key)->theirs;
  };
  for (const auto& [arch, missing] :
       {std::pair{"llama", 4}, {"mistral", 8}, {"qwen2", 32}, {"qwen3", 32}}) {
    const std::string keys =
        fmt::format(R"("model_type": "{}", "hidden_size": 64, "num_attention_heads": 4)", arch);
    CHECK(kv_heads("{" + keys + "}") ==
          fmt::format("num_key_value_heads: {} (not given)", missing));
    CHECK(kv_heads("{" + keys + R"(, "num_key_value_heads": null})") ==
          "num_key_value_heads: 4 (not given)");
  }
}

TEST_CASE("a config.json that would take too much stack is refused") {
  const auto nested = [](std::size_t depth) {
    return R"({"model_type": "llama", "hidden_act": )" + std::string(depth, '[') +
           std::string(depth, ']') + "}";
  };
  CHECK(ds::read_hf_config(nested(50), "", 16).refused.size() == 1);
  CHECK_THROWS_AS(ds::read_hf_config(nested(500'000), "", 16), ds::Error);
}
