// Parses manifests and parts: first the seal, then the version, then the rest.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/checkpoint/coverage.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/tensor_parse.h"
#include "engine/checkpoint/text_form.h"

namespace ds {
namespace {

const std::string kTop = "the manifest";

/// Refuses a text whose bytes differ from those written.
void check_seal(std::string_view text) {
  const std::size_t seal = kSealBefore.size() + kSealDigits + kSealAfter.size();
  const std::string_view end = text.substr(text.size() - std::min(seal, text.size()));
  if (end.size() < seal || !end.starts_with(kSealBefore) || !end.ends_with(kSealAfter)) {
    refuse("it is truncated or is not a manifest: its last line is not a checksum");
  }
  const std::string_view written = end.substr(kSealBefore.size(), kSealDigits);
  const std::string found = checksum_of_text(text.substr(0, text.size() - seal));
  if (written != found) {
    refuse(
        fmt::format("it was changed after it was written: the checksum of its bytes is {}, not "
                    "{}",
                    found, shown(written)));
  }
}

void check_version(const Node& node, std::string_view format) {
  if (node.string("format") != format) {
    refuse(fmt::format("it is a \"{}\", not a \"{}\"", shown(node.string("format")), format));
  }
  const std::int64_t version = node.integer("version", 1, kMost);
  if (version > kCheckpointVersion) {
    throw NewerVersion(
        ErrorKind::config,
        fmt::format("it has format version {}, but this program reads versions up to {}", version,
                    kCheckpointVersion),
        "use the program that wrote it, or a newer one");
  }
}

Json document(std::string_view text, std::string_view format) {
  check_seal(text);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse("it is not valid JSON");
  check_version({json, kTop}, format);
  return json;
}

TrainingState training_in(const Json& json) {
  static const std::string kPlace = "\"state\"", kScalePlace = "\"loss_scale\"";
  const Node node{json, kPlace};
  const Node scale{node.at("loss_scale"), kScalePlace};
  TrainingState state;
  state.step = node.integer("step", 0, kMost);
  state.next_sample = node.integer("next_sample", 0, kMost);
  state.seed = node.integer("seed", -kMost - 1, kMost);
  state.updates = node.integer("updates", 0, kMost);
  state.skipped = node.integer("skipped", 0, kMost);
  state.lr = node.real("lr");
  state.loss_scale = {scale.real("scale"), scale.integer("hysteresis", -kMost - 1, kMost),
                      scale.integer("iteration", 0, kMost),
                      scale.integer("last_overflow", -1, kMost)};
  return state;
}

std::vector<ChunkFile> chunks_in(const Node& node) {
  std::vector<ChunkFile> chunks;
  const Json::array_t& list = node.list("chunks");
  for (std::size_t i = 0; i < list.size(); ++i) {
    chunks.push_back(chunk_in(list[i], fmt::format("chunk {}", i)));
  }
  std::set<std::string_view> names;
  for (const ChunkFile& chunk : chunks) {
    if (!names.insert(chunk.name).second) {
      refuse(fmt::format("two chunks have the name \"{}\"", shown(chunk.name)));
    }
  }
  return chunks;
}

void check_coverage(const std::vector<TensorEntry>& tensors) {
  for (const TensorEntry& tensor : tensors) {
    for (const StateEntry& state : tensor.states) {
      const std::string hole = uncovered(tensor, state);
      if (!hole.empty()) {
        refuse(fmt::format("{} of {}: {}", shown(state.name), shown(tensor.name), hole));
      }
    }
  }
}

}  // namespace

Manifest parse_head(std::string_view text) {
  const Json json = document(text, kManifestFormat);
  const Node node{json, kTop};
  static const std::string kOriginPlace = "\"origin\"";
  const Node origin{node.at("origin"), kOriginPlace};
  Manifest manifest;
  manifest.version = static_cast<int>(node.integer("version", 1, kCheckpointVersion));
  manifest.state = training_in(node.at("state"));
  manifest.saved_ms = node.integer("saved_ms", -kMost - 1, kMost);
  manifest.program = node.string("program");
  manifest.build = node.string("build");
  manifest.world_size = static_cast<int>(node.integer("world_size", 1, kMostRanks));
  manifest.origin = {origin.string("path"), origin.string("load")};
  manifest.arithmetic = node.string("arithmetic");
  manifest.config = node.string("config");
  manifest.chunks = chunks_in(node);
  manifest.tensors = tensors_in(node, {manifest.chunks, 0, manifest.world_size - 1});
  return manifest;
}

Manifest parse_manifest(std::string_view text) {
  Manifest manifest = parse_head(text);
  check_coverage(manifest.tensors);
  return manifest;
}

ChunkPart parse_part(std::string_view text) {
  const Json json = document(text, kPartFormat);
  const Node node{json, kTop};
  ChunkPart part;
  part.rank = static_cast<int>(node.integer("rank", 0, kMostRanks));
  part.chunk = chunk_in(node.at("chunk"), "\"chunk\"");
  const std::vector<ChunkFile> chunks{part.chunk};
  part.tensors = tensors_in(node, {chunks, part.rank, part.rank});
  return part;
}

}  // namespace ds
