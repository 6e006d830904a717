// Any bytes as a manifest and as a part, as they are and with a checksum that is right: values that
// write and read back the same and whose every element can be found, or an error fit for a
// terminal. As the head and as the part of a kept share: what one node describes, all ranks can
// read and choose from.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/box_order.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/text_form.h"
#include "engine/keep/copies_text.h"
#include "fuzz/check_text.h"

using namespace ds;

namespace {

constexpr std::int64_t kCounted = 4096;

/// Every piece lies in its tensor and chunk, and no allocation that follows from it is large.
void check_piece(const TensorEntry& tensor, const StateEntry& state, const Piece& piece,
                 const std::vector<ChunkFile>& chunks) {
  DS_ASSERT(piece.chunk >= 0 && static_cast<std::size_t>(piece.chunk) < chunks.size());
  const std::int64_t bytes = piece.elements * size_of(state.dtype);
  DS_ASSERT(piece.elements > 0 && piece.elements <= kPieceBytes && bytes <= kPieceBytes);
  const std::int64_t held = chunks[static_cast<std::size_t>(piece.chunk)].bytes;
  DS_ASSERT(piece.at >= 0 && piece.at <= held && bytes <= held - piece.at);
  const std::int64_t last = piece.first + piece.elements - 1;
  DS_ASSERT(piece.first >= 0 && last < box_elements(piece.box.extent));
  DS_ASSERT(element_in_tensor(tensor.shape, piece.box, last) < box_elements(tensor.shape));
}

/// Of a covered state, every element is in one run.
void check_runs(const TensorEntry& tensor, const StateEntry& state) {
  const std::int64_t all = box_elements(tensor.shape);
  if (all > kCounted || state.held == StateClass::per_rank) return;
  std::vector<int> counts(static_cast<std::size_t>(all), 0);
  for_each_run(tensor.shape, state.pieces, -1, {0, all}, [&](const Run& run) {
    for (std::int64_t i = 0; i < run.elements; ++i)
      ++counts[static_cast<std::size_t>(run.element + i)];
  });
  for (const int count : counts) DS_ASSERT(count == 1);
}

void check_names(const std::vector<ChunkFile>& chunks) {
  for (const ChunkFile& chunk : chunks) {
    DS_ASSERT(!chunk.name.empty() && chunk.name.find('/') == std::string::npos);
    DS_ASSERT(chunk.name != "." && chunk.name != ".." && chunk.bytes >= 0);
  }
}

void check_tensors(const std::vector<TensorEntry>& tensors, const std::vector<ChunkFile>& chunks,
                   bool covered) {
  check_names(chunks);
  for (const TensorEntry& tensor : tensors) {
    for (const StateEntry& state : tensor.states) {
      for (const Piece& piece : state.pieces) check_piece(tensor, state, piece, chunks);
      if (covered) check_runs(tensor, state);
    }
  }
}

void check_error(const Error& error) {
  DS_ASSERT(error.kind() == ErrorKind::config || error.kind() == ErrorKind::system);
  const std::string text = error.for_people();
  DS_ASSERT(text.size() < 2048, "long names are cut");
  ds::test::check_for_terminal(text);
}

/// Returns whether it is one.
bool try_manifest(const std::string& text) {
  try {
    const Manifest manifest = parse_manifest(text);
    check_tensors(manifest.tensors, manifest.chunks, true);
    DS_ASSERT(parse_manifest(manifest_text(manifest)) == manifest, "it reads back the same");
    return true;
  } catch (const Error& error) {
    check_error(error);
    return false;
  }
}

/// Keeps and describes a share, if its slot is small.
void try_share(const KeptShare& share) {
  constexpr std::int64_t kSmall = 1 << 20;
  const std::int64_t bytes = share.part.chunk.bytes;
  if (bytes > kSmall) return;
  KeptSlot slot = KeptSlot::create(KeptSlot::bytes_for(share.part, share.head), {});
  slot.finish(share);
  std::string problem;
  const std::optional<KeptShare> read = slot.read(&problem);
  ds::test::check_for_terminal(problem);
  DS_ASSERT(read.has_value() == problem.empty());
  if (!read) return;
  const std::vector<KeptCopy> copies{{.file = "own.0", .share = *read}};
  DS_ASSERT(parse_copies(copies_text(copies), 0).size() == 1);
  ds::test::check_for_terminal(choose_kept(copies, share.run).incomplete);
}

void try_head(const std::string& text) {
  try {
    try_share({.run = "job", .head = parse_head(text), .part = {.chunk = {"c", 0}}});
  } catch (const Error& error) {
    check_error(error);
  }
}

void try_part(const std::string& text) {
  try {
    const ChunkPart part = parse_part(text);
    check_tensors(part.tensors, {part.chunk}, false);
    DS_ASSERT(parse_part(part_text(part)) == part, "it reads back the same");
    Manifest head;
    head.world_size = 2;
    head.tensors = part.tensors;
    for (TensorEntry& tensor : head.tensors) {
      for (StateEntry& state : tensor.states) state.pieces.clear();
    }
    try_share({.run = "job", .head = head, .part = part});
    const Manifest joined = join_parts(head, {part});
    check_tensors(joined.tensors, joined.chunks, true);
  } catch (const Error& error) {
    check_error(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string body = text.substr(0, text.rfind(kSealBefore));
  const std::string sealed =
      body + std::string(kSealBefore) + checksum_of_text(body) + std::string(kSealAfter);
  if (try_manifest(text)) DS_ASSERT(sealed == text, "only what has the right checksum is taken");
  try_manifest(sealed);
  try_head(sealed);
  try_part(sealed);
  return 0;
}
