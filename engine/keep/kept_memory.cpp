// The stages of the exchange: describe, choose, gather what is needed, move, share within a node.
#include "engine/keep/kept_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/comm/pieces.h"
#include "engine/keep/copies_text.h"
#include "engine/keep/piece_stream.h"

namespace ds {
namespace {

constexpr auto kAgentTimeout = std::chrono::seconds(20);
// Ranks that are lost are noticed much earlier; those that make progress are waited for.
constexpr auto kStageTimeout = std::chrono::minutes(5);
// Of all peers of a rank, in each direction: what a processor's cache holds.
constexpr std::int64_t kRoundBytes = 4 << 20;
constexpr std::int64_t kLeastBytes = 64 << 10;  // of one peer in a round
constexpr std::string_view kReceived = "received-";

Deadline stage() { return Deadline::after(kStageTimeout); }

template <class T>
std::vector<T> gather_values(Group& world, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(world.size()));
  all[static_cast<std::size_t>(world.rank())] = own;
  world.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()), stage());
  return all;
}

/// Returns the texts of all ranks. Their sizes may differ.
std::vector<std::string> gather_texts(Group& world, std::string own) {
  const auto sizes = gather_values(world, std::uint64_t{own.size()});
  std::vector<std::string> texts(sizes.size());
  std::vector<std::span<std::byte>> pieces;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    if (static_cast<int>(rank) == world.rank()) texts[rank] = std::move(own);
    texts[rank].resize(sizes[rank]);
    pieces.push_back(std::as_writable_bytes(std::span(texts[rank])));
  }
  world.all_gather(pieces, stage());
  return texts;
}

/// A rank that died before release() leaves such a file with the agent. It is not a share.
bool is_received(const KeptFile& file) { return file.name.starts_with(kReceived); }

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

KeptMemory::KeptMemory(Group& world, std::unique_ptr<NodeStore> store, const std::string& node,
                       const std::string& run)
    : world_(world), store_(std::move(store)), run_(run) {
  world_.about("kept.nodes");
  number_nodes(node);
  describe();
}

KeptMemory::~KeptMemory() { release(); }

// By the lowest rank of each.
void KeptMemory::number_nodes(const std::string& own) {
  for (const std::string& name : gather_texts(world_, own)) {
    const auto known = std::ranges::find(node_names_, name);
    nodes_.push_back(static_cast<int>(known - node_names_.begin()));
    if (known == node_names_.end()) node_names_.push_back(name);
  }
  node_ = nodes_[static_cast<std::size_t>(world_.rank())];
}

// A file that cannot be used leaves the other copy of its share, or an older step.
std::vector<KeptCopy> KeptMemory::own_copies(std::string& problems) const {
  std::vector<KeptCopy> copies;
  for (const KeptFile& file : files_) {
    if (is_received(file)) continue;
    std::string problem;
    try {
      std::optional<KeptShare> share = KeptSlot(UniqueFd(::dup(file.fd.get()))).read(&problem);
      if (share && share->run == run_)
        copies.push_back({.node = node_, .file = file.name, .share = std::move(*share)});
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      problems += fmt::format("the kept file {} of node {} is not used: {}\n", file.name,
                              node_names_[static_cast<std::size_t>(node_)], problem);
  }
  return copies;
}

bool KeptMemory::describes() const {
  return std::ranges::find(nodes_, node_) - nodes_.begin() == world_.rank();
}

// One rank of each node, the first one, describes what the node keeps.
void KeptMemory::describe() {
  std::string problem;
  try {
    if (store_ != nullptr) files_ = store_->kept(Deadline::after(kAgentTimeout));
  } catch (const Error& error) {
    problem = fmt::format("the agent of node {} did not hand out what it keeps: {}\n",
                          node_names_[static_cast<std::size_t>(node_)], error.what());
  }
  std::vector<KeptCopy> own;
  if (describes()) own = own_copies(problem);
  world_.about("kept.describe");
  const std::vector<std::string> texts =
      gather_texts(world_, describes() ? copies_text(own) : std::string());
  std::vector<KeptCopy> copies;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    for (KeptCopy& copy : parse_copies(texts[rank], nodes_[rank]))
      copies.push_back(std::move(copy));
  }
  for (const std::string& text : gather_texts(world_, describes() ? problem : std::string()))
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty()) problems_.emplace_back(line);
  choice_ = choose_kept(copies, run_);
}

const KeptStep* KeptMemory::step() const {
  return current_ < choice_.steps.size() ? &choice_.steps[current_] : nullptr;
}

std::string KeptMemory::received_name(int rank) const {
  return fmt::format("{}{}-{}", kReceived, world_.spec().epoch, rank);
}

const UniqueFd* KeptMemory::file_of(const std::string& name) const {
  if (received_ && received_->name == name) return &received_->fd;
  for (const std::vector<KeptFile>* const files : {&files_, &siblings_}) {
    const auto found = std::ranges::find(*files, name, &KeptFile::name);
    if (found != files->end()) return &found->fd;
  }
  return nullptr;
}

std::vector<std::vector<bool>> KeptMemory::exchange_needs(const std::vector<bool>& needed) {
  std::string bits((needed.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
  world_.about("kept.needed");
  std::vector<std::vector<bool>> needs;
  for (const std::string& text : gather_texts(world_, bits)) {
    if (text.size() != bits.size())
      throw Error(ErrorKind::comm, "the ranks chose kept steps with different pieces");
    std::vector<bool>& of_rank = needs.emplace_back(needed.size());
    for (std::size_t i = 0; i < needed.size(); ++i) of_rank[i] = (text[i / 8] >> i % 8 & 1) != 0;
  }
  return needs;
}

std::shared_ptr<const Checkpoint> KeptMemory::fetch(const std::vector<bool>& needed) {
  DS_ASSERT(step() != nullptr);
  release();
  failure_.clear();
  const std::vector<PieceAt> pieces = pieces_of(step()->manifest);
  DS_ASSERT(needed.size() == pieces.size());
  const auto needs = exchange_needs(needed);
  const MoveRequest request{.step = *step(), .pieces = pieces, .nodes = nodes_, .needed = needs};
  const std::vector<PieceMove> moves = plan_moves(request);
  chunks_ = received_chunks(request, moves, node_);
  moved_bytes_ = 0;
  for (const PieceMove& move : moves) moved_bytes_ += pieces[move.piece].bytes;
  open_received();
  move(moves, pieces);
  share_received(moves, needs);
  if (!failure_.empty()) throw Error(ErrorKind::system, failure_);
  return checkpoint();
}

// Memory with holes: only pieces that arrive take pages. A piece has the place in its chunk that it
// has in the slot.
void KeptMemory::open_received() {
  std::int64_t bytes = -1;
  for (const auto& [chunk, place] : chunks_)
    if (place.rank == world_.rank())
      bytes = place.begin + step()->manifest.chunks[static_cast<std::size_t>(chunk)].bytes;
  if (bytes < 0) return;
  received_.emplace(KeptFile{.name = received_name(world_.rank()), .bytes = bytes, .fd = {}});
  received_->fd.reset(::memfd_create("dslaunch-received", MFD_CLOEXEC));
  if (!received_->fd || ::ftruncate(received_->fd.get(), bytes) != 0)
    note_failure("no memory for received pieces: " + error_text(errno));
}

void KeptMemory::note_failure(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

void KeptMemory::move(const std::vector<PieceMove>& moves, const std::vector<PieceAt>& pieces) {
  const auto size = static_cast<std::size_t>(world_.size());
  const std::int64_t most = std::max(kRoundBytes / world_.size(), kLeastBytes);
  std::vector<PieceStream> out(size), in(size);
  std::map<std::pair<int, int>, std::int64_t> pairs;  // bytes
  std::int64_t longest = 0;
  for (const PieceMove& move : moves) {
    const PieceAt& piece = pieces[move.piece];
    const auto chunk = static_cast<std::size_t>(piece.chunk);
    const auto add = [&](PieceStream& stream, const std::string& name, std::int64_t begin) {
      const UniqueFd* const file = file_of(name);
      stream.add(file != nullptr ? file->get() : -1, begin + piece.at, piece.bytes);
    };
    const int receiver = nodes_[static_cast<std::size_t>(move.to)];
    if (move.from == world_.rank())
      add(out[static_cast<std::size_t>(move.to)], step()->place_for(chunk, receiver).file,
          KeptSlot::kPieces);
    if (move.to == world_.rank())
      add(in[static_cast<std::size_t>(move.from)], received_name(move.to),
          chunks_.at(piece.chunk).begin);
    longest = std::max(longest, pairs[{move.from, move.to}] += piece.bytes);
  }
  const auto part_of = [&](const PieceStream& stream) {
    return static_cast<std::size_t>(std::min(stream.left(), most));
  };
  std::vector<std::vector<std::byte>> sent(size), got(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    sent[rank].resize(part_of(out[rank]));
    got[rank].resize(part_of(in[rank]));
  }
  std::vector<std::span<const std::byte>> send(size);
  std::vector<std::span<std::byte>> receive(size);
  for (std::int64_t done = 0; done < longest; done += most) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      const std::span<std::byte> bytes = std::span(sent[rank]).first(part_of(out[rank]));
      out[rank].read(bytes);  // the receiver notices bytes that could not be read
      send[rank] = bytes;
      receive[rank] = std::span(got[rank]).first(part_of(in[rank]));
    }
    world_.about("kept.move");
    world_.all_to_all(send, receive, stage());
    for (std::size_t rank = 0; rank < size; ++rank) {
      const int problem = in[rank].write(receive[rank]);
      if (problem != 0) note_failure("no memory for received pieces: " + error_text(problem));
    }
  }
}

// A node receives a chunk once. The rank that received it hands it to the agent, from which the
// other ranks of the node get it.
void KeptMemory::share_received(const std::vector<PieceMove>& moves,
                                const std::vector<std::vector<bool>>& needs) {
  bool gives = false,
       takes = false;  // this rank, pieces that another rank of the node needs or has
  for (const PieceMove& move : moves) {
    if (nodes_[static_cast<std::size_t>(move.to)] != node_) continue;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      if (nodes_[rank] != node_ || static_cast<int>(rank) == move.to || !needs[rank][move.piece])
        continue;
      gives = gives || move.to == world_.rank();
      takes = takes || static_cast<int>(rank) == world_.rank();
    }
  }
  try {
    if (gives && store_ != nullptr && failure_.empty()) {
      is_handed_in_ = true;
      store_->keep(*received_);
      store_->await_held(received_->name, Deadline::after(kAgentTimeout));
    }
  } catch (const Error& error) {
    note_failure(error.what());
  }
  world_.about("kept.share");
  world_.barrier(stage());
  try {
    if (takes && store_ != nullptr) siblings_ = store_->kept(Deadline::after(kAgentTimeout));
  } catch (const Error& error) {
    note_failure(error.what());
  }
}

std::shared_ptr<const Checkpoint> KeptMemory::checkpoint() const {
  const KeptStep& from = *step();
  std::vector<OpenChunk> chunks;
  for (std::size_t chunk = 0; chunk < from.places.size(); ++chunk) {
    const KeptPlace& place = from.place_for(chunk, node_);
    const auto received = chunks_.find(static_cast<int>(chunk));
    const bool is_received = received != chunks_.end();
    const UniqueFd* const file = is_received ? file_of(received_name(received->second.rank))
                                 : place.node == node_ ? file_of(place.file)
                                                       : nullptr;
    OpenChunk& open = chunks.emplace_back(
        OpenChunk{.file = {},
                  .begin = is_received ? received->second.begin : KeptSlot::kPieces,
                  .name = fmt::format("step {} of rank {}, kept by node {}", from.step(), chunk,
                                      node_names_[static_cast<std::size_t>(place.node)])});
    if (file != nullptr) open.file.reset(::dup(file->get()));
  }
  return Checkpoint::of(from.manifest, std::move(chunks),
                        fmt::format("memory (step {})", from.step()));
}

std::vector<std::string> KeptMemory::report_broken(int chunk) {
  DS_ASSERT(step() != nullptr);
  world_.about("kept.broken");
  const std::vector<int> broken = gather_values(world_, chunk);
  KeptStep& now = choice_.steps[current_];
  std::vector<std::string> lines;
  bool is_usable = std::ranges::count(broken, kUnusable) == 0;
  std::vector<std::pair<std::size_t, KeptPlace>> places;  // as they were read
  for (std::size_t rank = 0; rank < broken.size(); ++rank) {
    if (broken[rank] < 0) continue;
    const auto which = static_cast<std::size_t>(broken[rank]);
    const std::pair<std::size_t, KeptPlace> place{which, now.place_for(which, nodes_[rank])};
    if (std::ranges::count(places, place) == 0) places.push_back(place);
  }
  for (const auto& [which, place] : places) {
    lines.push_back(fmt::format("the kept share of rank {}, step {}, does not verify on node {}",
                                which, now.step(),
                                node_names_[static_cast<std::size_t>(place.node)]));
    if (drop_place(now, which, place)) continue;
    lines.back() += ", and there is no other copy";
    is_usable = false;
  }
  if (!is_usable) ++current_;
  return lines;
}

std::int64_t KeptMemory::held_bytes() const {
  std::int64_t bytes = 0;
  for (const KeptFile& file : files_)
    if (!is_received(file) && ::fcntl(file.fd.get(), F_GET_SEALS) >= 0)
      bytes += file.bytes;  // memory, not a file on disk
  return bytes;
}

void KeptMemory::drop_other_steps() {
  if (step() == nullptr) return;
  std::set<std::string> used;
  for (const std::vector<KeptPlace>& places : step()->places)
    for (const KeptPlace& place : places)
      if (place.node == node_) used.insert(place.file);
  drop_all_but(used);
}

void KeptMemory::drop_all() { drop_all_but({}); }

void KeptMemory::drop_all_but(const std::set<std::string>& used) {
  if (store_ == nullptr || !describes()) return;
  for (const KeptFile& file : files_)
    if (!used.contains(file.name)) store_->drop(file.name);
}

void KeptMemory::release() {
  if (std::exchange(is_handed_in_, false)) store_->drop(received_->name);
  received_.reset();
  siblings_.clear();
}

}  // namespace ds
