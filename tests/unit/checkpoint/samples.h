// Manifests for tests: a small one with every kind of state, and random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds::test {

using Random = std::mt19937_64;

inline std::int64_t below(Random& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

inline std::int64_t elements_of_box(const Box& box) {
  std::int64_t count = 1;
  for (const std::int64_t extent : box.extent) count *= extent;
  return count;
}

/// Cuts every axis of `shape` at random places. Returns the boxes in row-major order.
inline std::vector<Box> random_boxes(Random& random, const std::vector<std::int64_t>& shape,
                                     std::int64_t cuts) {
  std::vector<Box> boxes{{}};
  for (const std::int64_t extent : shape) {
    std::vector<std::int64_t> edges{0, extent};
    for (std::int64_t i = 0; i < cuts; ++i) edges.push_back(below(random, extent));
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<Box> next;
    for (const Box& box : boxes) {
      for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
        next.push_back(box);
        next.back().offset.push_back(edges[i]);
        next.back().extent.push_back(edges[i + 1] - edges[i]);
      }
    }
    boxes = std::move(next);
  }
  return boxes;
}

/// Returns flat ranges that cover each box once.
inline std::vector<Piece> random_pieces(Random& random, const std::vector<Box>& boxes,
                                        std::int64_t most) {
  std::vector<Piece> pieces;
  for (const Box& box : boxes) {
    const std::int64_t all = elements_of_box(box);
    for (std::int64_t first = 0; first < all; first += pieces.back().elements) {
      Piece piece;
      piece.box = box;
      piece.first = first;
      piece.elements = std::min(all - first, 1 + below(random, most));
      piece.checksum = random();
      pieces.push_back(piece);
    }
  }
  return pieces;
}

/// Assigns places in a chunk file to the pieces, one after the other.
inline void lay_out(std::vector<Piece>& pieces, int chunk, std::int64_t& bytes) {
  for (Piece& piece : pieces) {
    piece.chunk = chunk;
    piece.at = (bytes + 63) / 64 * 64;
    bytes = piece.at + piece.elements * 4;
  }
}

inline Manifest head_of(int world_size) {
  Manifest manifest;
  manifest.state = {.step = 40,
                    .next_sample = 1280,
                    .seed = -7,
                    .updates = 39,
                    .skipped = 1,
                    .lr = 0.1,
                    .loss_scale = {65536.0, 2, 40, -1}};
  manifest.saved_ms = 1'700'000'000'123;
  manifest.program = "dslaunch 0.1.0";
  manifest.build = "g++ 12.2";
  manifest.world_size = world_size;
  manifest.origin = {"/data/\"odd\" path\\", "all"};
  manifest.arithmetic = "seed = 7\norder = boundary\n";
  manifest.config = "[model]\npreset = \"gpt-tiny\"  # \x01 \xc3\xa4\n";
  return manifest;
}

/// Returns a manifest of two ranks: one tensor in flat ranges, one in blocks of columns, one per
/// rank.
inline Manifest small_manifest() {
  Random random(3);
  Manifest manifest = head_of(2);
  manifest.chunks = {{"rank-00000.chunk", 0}, {"rank-00001.chunk", 0}};
  TensorEntry flat{"wte", {6, 4}, {{"master", DType::f32, StateClass::sharded, {}}}};
  flat.states[0].pieces = random_pieces(random, {{{0, 0}, {6, 4}}}, 16);
  lay_out(flat.states[0].pieces, 0, manifest.chunks[0].bytes);
  TensorEntry blocks{"h.0.w", {4, 6}, {{"moment1", DType::f32, StateClass::replicated, {}}}};
  blocks.states[0].pieces = random_pieces(random, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 4}}}, 5);
  lay_out(blocks.states[0].pieces, 1, manifest.chunks[1].bytes);
  TensorEntry own{"error", {3}, {{"error", DType::f32, StateClass::per_rank, {}}}};
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Piece> pieces = random_pieces(random, {{{0}, {3}}}, 3);
    lay_out(pieces, rank, manifest.chunks[static_cast<std::size_t>(rank)].bytes);
    for (Piece& piece : pieces) {
      piece.rank = rank;
      own.states[0].pieces.push_back(piece);
    }
  }
  manifest.tensors = {flat, blocks, own};
  return manifest;
}

/// Returns a manifest of random shapes, classes and cuts, with every state covered once.
inline Manifest random_manifest(std::uint64_t seed) {
  Random random(seed);
  Manifest manifest = head_of(1 + static_cast<int>(below(random, 4)));
  manifest.state.next_sample = static_cast<std::int64_t>(random() >> 1);
  manifest.state.lr = static_cast<double>(below(random, 1000)) / 977.0;
  for (int rank = 0; rank < manifest.world_size; ++rank) {
    manifest.chunks.push_back({"chunk " + std::to_string(rank), 0});
  }
  const auto place = [&](std::vector<Piece>& pieces, std::int64_t rank) {
    const auto chunk = static_cast<std::size_t>(rank);
    lay_out(pieces, static_cast<int>(chunk), manifest.chunks[chunk].bytes);
  };
  for (std::int64_t t = 0, count = below(random, 5); t < count; ++t) {
    TensorEntry tensor{"t" + std::to_string(t), {}, {}};
    for (std::int64_t axis = below(random, 4); axis > 0; --axis) {
      tensor.shape.push_back(1 + below(random, 7));
    }
    for (const char* name : {"master", "moment1", "moment2"}) {
      if (below(random, 4) == 0) continue;
      StateEntry state{name, DType::f32, static_cast<StateClass>(below(random, 3)), {}};
      const int ranks = state.held == StateClass::per_rank ? manifest.world_size : 1;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto boxes = random_boxes(random, tensor.shape, below(random, 3));
        std::vector<Piece> pieces = random_pieces(random, boxes, 1 + below(random, 40));
        const bool own = state.held == StateClass::per_rank;
        place(pieces, own ? rank : below(random, manifest.world_size));
        for (Piece& piece : pieces) {
          piece.rank = state.held == StateClass::per_rank ? rank : -1;
          state.pieces.push_back(std::move(piece));
        }
      }
      tensor.states.push_back(std::move(state));
    }
    manifest.tensors.push_back(std::move(tensor));
  }
  return manifest;
}

/// Returns the part that each rank would have written, and removes the pieces from `manifest`.
inline std::vector<ChunkPart> take_apart(Manifest& manifest) {
  std::vector<ChunkPart> parts;
  for (std::size_t chunk = 0; chunk < manifest.chunks.size(); ++chunk) {
    ChunkPart part{static_cast<int>(chunk), manifest.chunks[chunk], manifest.tensors};
    for (TensorEntry& tensor : part.tensors) {
      for (StateEntry& state : tensor.states) {
        std::erase_if(state.pieces,
                      [&](const Piece& piece) { return piece.chunk != static_cast<int>(chunk); });
        for (Piece& piece : state.pieces) piece.chunk = 0;
      }
    }
    parts.push_back(std::move(part));
  }
  manifest.chunks.clear();
  for (TensorEntry& tensor : manifest.tensors) {
    for (StateEntry& state : tensor.states) state.pieces.clear();
  }
  return parts;
}

}  // namespace ds::test
