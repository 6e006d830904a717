// Groups tensors into blocks by name and folds equal neighbors.
#include "engine/checkpoint/tools/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ds {
namespace {

bool is_alike(const TensorEntry& a, const TensorEntry& b) {
  const auto tail = [](const TensorEntry& tensor) {
    return std::string_view(tensor.name).substr(block_of(tensor.name).size());
  };
  const auto same_state = [](const StateEntry& x, const StateEntry& y) {
    return x.name == y.name && x.dtype == y.dtype && x.held == y.held;
  };
  return tail(a) == tail(b) && a.shape == b.shape &&
         std::ranges::equal(a.states, b.states, same_state);
}

bool is_alike(const TensorBlock& a, const TensorBlock& b) {
  return !a.name.empty() && !b.name.empty() &&
         std::ranges::equal(a.tensors, b.tensors, [](const TensorEntry* x, const TensorEntry* y) {
           return is_alike(*x, *y);
         });
}

}  // namespace

std::string_view block_of(std::string_view tensor) {
  for (std::size_t dot = tensor.find('.'); dot != std::string_view::npos;) {
    const std::size_t end = tensor.find('.', dot + 1);
    if (end == std::string_view::npos) return {};
    const std::string_view part = tensor.substr(dot + 1, end - dot - 1);
    const bool is_number =
        !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) return tensor.substr(0, end);
    dot = end;
  }
  return {};
}

std::vector<TensorBlock> blocks_of(const Manifest& manifest, bool fold) {
  std::vector<TensorBlock> blocks;
  for (const TensorEntry& tensor : manifest.tensors) {
    const std::string_view name = block_of(tensor.name);
    if (blocks.empty() || blocks.back().name != name) blocks.push_back({.name = std::string(name)});
    blocks.back().tensors.push_back(&tensor);
  }
  if (!fold) return blocks;
  std::vector<TensorBlock> folded;
  for (TensorBlock& block : blocks) {
    if (folded.empty() || !is_alike(folded.back(), block)) {
      folded.push_back(std::move(block));
      continue;
    }
    ++folded.back().count;
    folded.back().last = block.name;
  }
  return folded;
}

std::int64_t elements_of(const TensorEntry& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  return elements;
}

std::int64_t bytes_of(const StateEntry& state) {
  std::int64_t elements = 0;
  for (const Piece& piece : state.pieces) elements += piece.elements;
  return elements * size_of(state.dtype);
}

std::int64_t bytes_of(const TensorEntry& tensor) {
  std::int64_t bytes = 0;
  for (const StateEntry& state : tensor.states) bytes += bytes_of(state);
  return bytes;
}

std::int64_t pieces_of(const TensorEntry& tensor) {
  std::int64_t pieces = 0;
  for (const StateEntry& state : tensor.states) pieces += std::ssize(state.pieces);
  return pieces;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

}  // namespace ds
