// Writes manifests and parts as JSON, member by member, so that each piece is on one line.
#include "engine/checkpoint/manifest_text.h"

#include <xxhash.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/text_form.h"

namespace ds {
namespace {

/// Returns a JSON string. Bytes that are not UTF-8 (possible in paths) become U+FFFD.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Formats a finite number. JSON has no numbers that are not finite.
std::string real(double value) {
  if (!std::isfinite(value)) throw Error(ErrorKind::system, "a number to be saved is not finite");
  return fmt::format("{}", value);
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

/// Appends the elements of a list, one per line.
template <class Items, class Write>
void list_to(std::string& text, std::string_view indent, const Items& items, const Write& write) {
  text += '[';
  const char* before = "\n";
  for (const auto& item : items) {
    text += before;
    text += indent;
    text += "  ";
    write(text, item);
    before = ",\n";
  }
  if (!items.empty()) text.append("\n").append(indent);
  text += ']';
}

void piece_to(std::string& text, const Piece& piece) {
  fmt::format_to(std::back_inserter(text),
                 R"({{"chunk": {}, "at": {}, "checksum": "{:016x}", "offset": {}, "extent": {}, )"
                 R"("first": {}, "elements": {})",
                 piece.chunk, piece.at, piece.checksum, numbers(piece.box.offset),
                 numbers(piece.box.extent), piece.first, piece.elements);
  if (piece.rank >= 0) fmt::format_to(std::back_inserter(text), R"(, "rank": {})", piece.rank);
  text += '}';
}

void state_to(std::string& text, const StateEntry& state) {
  fmt::format_to(std::back_inserter(text),
                 R"({{"name": {}, "dtype": "{}", "class": "{}", "pieces": )",
                 json_string(state.name), name_of(state.dtype), name_of(state.held));
  list_to(text, "      ", state.pieces, piece_to);
  text += '}';
}

void tensor_to(std::string& text, const TensorEntry& tensor) {
  fmt::format_to(std::back_inserter(text), R"({{"name": {}, "shape": {}, "states": )",
                 json_string(tensor.name), numbers(tensor.shape));
  list_to(text, "    ", tensor.states, state_to);
  text += '}';
}

std::string chunk_text(const ChunkFile& chunk) {
  return fmt::format(R"({{"name": {}, "bytes": {}}})", json_string(chunk.name), chunk.bytes);
}

void member(std::string& text, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(text), "  \"{}\": {},\n", name, value);
}

std::string training_text(const TrainingState& state) {
  const LossScaleState& scale = state.loss_scale;
  return fmt::format(
      R"({{"step": {}, "next_sample": {}, "seed": {}, "updates": {}, "skipped": {}, "lr": {},)"
      "\n"
      R"(    "loss_scale": {{"scale": {}, "hysteresis": {}, "iteration": {}, "last_overflow": {}}}}})",
      state.step, state.next_sample, state.seed, state.updates, state.skipped, real(state.lr),
      real(scale.scale), scale.hysteresis, scale.iteration, scale.last_overflow);
}

void tensors_to(std::string& text, const std::vector<TensorEntry>& tensors) {
  text += "  \"tensors\": ";
  list_to(text, "  ", tensors, tensor_to);
  text += ",\n";
}

std::string sealed(std::string text) {
  const std::string sum = checksum_of_text(text);
  return text.append(kSealBefore).append(sum).append(kSealAfter);
}

}  // namespace

std::string checksum_of_text(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = "{\n";
  member(text, "format", json_string(kManifestFormat));
  member(text, "version", std::to_string(manifest.version));
  member(text, "program", json_string(manifest.program));
  member(text, "build", json_string(manifest.build));
  member(text, "saved_ms", std::to_string(manifest.saved_ms));
  member(text, "world_size", std::to_string(manifest.world_size));
  member(text, "state", training_text(manifest.state));
  member(text, "origin",
         fmt::format(R"({{"path": {}, "load": {}}})", json_string(manifest.origin.path),
                     json_string(manifest.origin.load)));
  member(text, "arithmetic", json_string(manifest.arithmetic));
  member(text, "config", json_string(manifest.config));
  text += "  \"chunks\": ";
  list_to(text, "  ", manifest.chunks,
          [](std::string& to, const ChunkFile& chunk) { to += chunk_text(chunk); });
  text += ",\n";
  tensors_to(text, manifest.tensors);
  return sealed(std::move(text));
}

std::string part_text(const ChunkPart& part) {
  std::string text = "{\n";
  member(text, "format", json_string(kPartFormat));
  member(text, "version", std::to_string(kCheckpointVersion));
  member(text, "rank", std::to_string(part.rank));
  member(text, "chunk", chunk_text(part.chunk));
  tensors_to(text, part.tensors);
  return sealed(std::move(text));
}

}  // namespace ds
