// Parses tensors, states and pieces and checks every value.
#include "engine/checkpoint/tensor_parse.h"

#include <algorithm>
#include <set>

#include "engine/checkpoint/coverage.h"
#include "engine/checkpoint/text_form.h"

namespace ds {
namespace {

template <class Names>
std::size_t place_in(const Names& names, std::string_view word, const std::string& place) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) refuse(fmt::format("{}: unknown \"{}\"", place, shown(word)));
  return static_cast<std::size_t>(found - names.begin());
}

DType dtype_of(std::string_view word, const std::string& place) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::i64,
                            DType::u8, DType::i16}) {
    if (name_of(dtype) == word) return dtype;
  }
  refuse(fmt::format("{}: unknown type \"{}\"", place, shown(word)));
}

std::uint64_t checksum_in(const std::string& text, const std::string& place) {
  std::uint64_t value = 0;
  for (const char c : text) {
    const bool letter = c >= 'a' && c <= 'f';
    if (text.size() != 16 || (!letter && (c < '0' || c > '9'))) {
      refuse(place + ": \"checksum\" is not 16 hexadecimal digits");
    }
    value = value * 16 + static_cast<std::uint64_t>(letter ? c - 'a' + 10 : c - '0');
  }
  if (text.empty()) refuse(place + ": \"checksum\" is empty");
  return value;
}

void check_box(const Box& box, const std::vector<std::int64_t>& shape, const std::string& place) {
  const bool axes = box.offset.size() == shape.size() && box.extent.size() == shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!axes || box.offset[axis] < 0 || box.extent[axis] < 1 || box.extent[axis] > shape[axis] ||
        box.offset[axis] > shape[axis] - box.extent[axis]) {
      refuse(place + ": its box is not inside the tensor");
    }
  }
  if (!axes) refuse(place + ": its box is not inside the tensor");
}

Piece piece_in(const Json& json, const std::string& place, const TensorEntry& tensor,
               const StateEntry& state, const Limits& limits) {
  const Node node{json, place};
  Piece piece;
  piece.box = {node.numbers("offset"), node.numbers("extent")};
  check_box(piece.box, tensor.shape, place);
  const std::int64_t in_box = elements_of(piece.box.extent).value_or(0);
  piece.first = node.integer("first", 0, in_box - 1);
  piece.elements = node.integer("elements", 1, in_box - piece.first);
  const auto chunks = static_cast<std::int64_t>(limits.chunks.size());
  piece.chunk = static_cast<int>(node.integer("chunk", 0, std::min(chunks, kMostRanks) - 1));
  const std::int64_t bytes = piece.elements * size_of(state.dtype);
  if (bytes > kPieceBytes) {
    refuse(fmt::format("{}: it has {} bytes, more than {}", place, bytes, kPieceBytes));
  }
  const std::int64_t held = limits.chunks[static_cast<std::size_t>(piece.chunk)].bytes;
  if (bytes > held) refuse(place + ": it does not fit its chunk");
  piece.at = node.integer("at", 0, held - bytes);
  piece.checksum = checksum_in(node.string("checksum"), place);
  if (state.held == StateClass::per_rank) {
    piece.rank = static_cast<int>(node.integer("rank", limits.least_rank, limits.most_rank));
  } else if (json.contains("rank")) {
    refuse(place + ": it has a rank, but its state is not per rank");
  }
  return piece;
}

StateEntry state_in(const Json& json, const std::string& place, const TensorEntry& tensor,
                    const Limits& limits) {
  const Node node{json, place};
  StateEntry state;
  state.name = node.string("name");
  const std::string named = fmt::format("{}, state \"{}\"", place, shown(state.name));
  state.dtype = dtype_of(node.string("dtype"), named);
  state.held = static_cast<StateClass>(place_in(kClassNames, node.string("class"), named));
  const Json::array_t& pieces = node.list("pieces");
  state.pieces.reserve(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    try {
      static const std::string kPiece = "a piece";
      state.pieces.push_back(piece_in(pieces[i], kPiece, tensor, state, limits));
    } catch (const Error& error) {  // the full place is formatted only when shown
      throw error.with_context(fmt::format("{}, number {} from 0", named, i));
    }
  }
  sort_pieces(state);
  return state;
}

TensorEntry tensor_in(const Json& json, const std::string& place, const Limits& limits) {
  const Node node{json, place};
  TensorEntry tensor;
  tensor.name = node.string("name");
  const std::string named = fmt::format("{} \"{}\"", place, shown(tensor.name));
  if (tensor.name.empty()) refuse(place + " has no name");
  tensor.shape = node.numbers("shape");
  if (!elements_of(tensor.shape)) refuse(named + ": invalid shape");
  std::set<std::string_view> names;
  for (const Json& state : node.list("states")) {
    tensor.states.push_back(state_in(state, named, tensor, limits));
  }
  for (const StateEntry& state : tensor.states) {
    if (!names.insert(state.name).second) {
      refuse(fmt::format("{} has two states \"{}\"", named, shown(state.name)));
    }
  }
  return tensor;
}

}  // namespace

/// Parses a chunk. Its name must be a plain file name in this folder.
ChunkFile chunk_in(const Json& json, const std::string& place) {
  const Node node{json, place};
  ChunkFile chunk{node.string("name"), node.integer("bytes", 0, kMost)};
  const auto odd = [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20; };
  if (chunk.name.empty() || chunk.name.size() > 255 || chunk.name.starts_with('.') ||
      std::ranges::any_of(chunk.name, odd)) {
    refuse(fmt::format("{}: \"{}\" is not a file name in this folder", place, shown(chunk.name)));
  }
  return chunk;
}

std::vector<TensorEntry> tensors_in(const Node& node, const Limits& limits) {
  std::vector<TensorEntry> tensors;
  const Json::array_t& list = node.list("tensors");
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensors.push_back(tensor_in(list[i], fmt::format("tensor {}", i), limits));
  }
  std::set<std::string_view> names;
  for (const TensorEntry& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      refuse(fmt::format("two tensors have the name \"{}\"", shown(tensor.name)));
    }
  }
  return tensors;
}

}  // namespace ds
