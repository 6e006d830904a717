// Fixture: a golden fixture's sizes and losses from NAME.json, arrays from NAME.bin, and weights
// from the formula that make_*_fixture.py use too.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"
#include "engine/kernels/ops_attention.h"

namespace ds::golden {

/// SplitMix64's finalizer.
inline std::uint64_t mix(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// Returns a multiple of 2^-15 in [-1, 1), the same as in Python and exact in f32.
inline double uniform(std::uint64_t stream, std::uint64_t counter) {
  const auto draw = static_cast<std::int64_t>(mix(counter + (stream << 32U)) >> 48U);
  return static_cast<double>(draw - 32768) / 32768;
}

class Fixture {
 public:
  struct Parameter {
    std::string name;
    std::vector<double> values;
  };

  /// Reads both files. Errors: Error{config} if a file cannot be read.
  Fixture(const std::string& folder, const std::string& name)
      : header_(nlohmann::json::parse(read(folder + "/" + name + ".json"))),
        blob_(read(folder + "/" + name + ".bin")) {
    std::uint64_t counter = 0;
    for (const auto& row : header_["parameters"]) {
      Parameter parameter{.name = row["name"], .values = {}};
      std::size_t count = 1;
      for (const std::size_t extent : row["shape"]) count *= extent;
      for (std::size_t i = 0; i < count; ++i) {
        parameter.values.push_back(row["centre"].get<double>() +
                                   row["scale"].get<double>() * uniform(model("seed"), counter++));
      }
      parameters_.push_back(std::move(parameter));
    }
  }

  /// Returns a size: layers, hidden, heads, vocab, valid_vocab, micro, seq_len or seed.
  [[nodiscard]] std::uint64_t model(const char* key) const {
    return header_["model"][key].get<std::uint64_t>();
  }
  /// Returns the model.arch of the fixture's model.
  [[nodiscard]] std::string arch() const { return header_["model"].value("arch", "gpt2"); }
  [[nodiscard]] bool is_llama() const { return llama_family(arch()) != nullptr; }
  [[nodiscard]] bool is_bert() const { return bert_family(arch()) != nullptr; }
  [[nodiscard]] bool is_t5() const { return arch() == "t5"; }
  /// Returns whether there is an array with this name.
  [[nodiscard]] bool has_array(const std::string& name) const {
    for (const auto& row : header_["arrays"])
      if (row["name"] == name) return true;
    return false;
  }
  /// Returns how a model of Llama's family scales its rotary positions.
  [[nodiscard]] RotaryScaling rotary_scaling() const {
    const nlohmann::json& m = header_["model"];
    const std::string kind = m.value("rope_scaling", "");
    if (kind.empty()) return {};
    if (kind == "linear")
      return {.kind = RotaryScaling::Kind::linear, .factor = m["rope_factor"].get<double>()};
    return {.kind = RotaryScaling::Kind::llama3,
            .factor = m["rope_factor"].get<double>(),
            .low = m["rope_low"].get<double>(),
            .high = m["rope_high"].get<double>(),
            .trained = m["rope_trained"].get<std::int64_t>()};
  }
  [[nodiscard]] const nlohmann::json& header() const { return header_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

  template <class Element>
  [[nodiscard]] std::vector<Element> array(const std::string& name) const {
    static_assert(sizeof(Element) == 4);
    for (const auto& row : header_["arrays"]) {
      if (row["name"] != name) continue;
      std::size_t count = 1;
      for (const std::size_t extent : row["shape"]) count *= extent;
      std::vector<Element> values(count);
      DS_ASSERT(row["offset"].get<std::size_t>() + 4 * count <= blob_.size());
      std::memcpy(values.data(), blob_.data() + row["offset"].get<std::size_t>(), 4 * count);
      return values;
    }
    throw Error(ErrorKind::config, "the fixture has no array " + name,
                "run tests/golden/make_gpt2_fixture.py or that of its family");
  }

 private:
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(ErrorKind::config, path + ": cannot be read", "");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  nlohmann::json header_;
  std::string blob_;
  std::vector<Parameter> parameters_;
};

}  // namespace ds::golden
