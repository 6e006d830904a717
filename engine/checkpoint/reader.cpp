// Opens checkpoints and reads ranges of tensors from pieces of any form.
#include "engine/checkpoint/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include "engine/base/text_error.h"
#include "engine/checkpoint/box_order.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace ds {
namespace {

constexpr std::int64_t kMostManifest = std::int64_t{1} << 30;  // enough for some millions of pieces
constexpr const char* kManifestName = "manifest.json";
constexpr const char* kOther = "use another checkpoint (checkpoint.resume = its folder)";

[[noreturn]] void refuse(const std::string& what, const std::string& hint = kOther) {
  throw Error(ErrorKind::config, what, hint);
}

[[noreturn]] void refuse_file(const std::string& path, int error_number) {
  const std::string why = std::generic_category().message(error_number);
  refuse(fmt::format("{} cannot be read: {}", path, why),
         error_number == EACCES ? "give this user read permission" : kOther);
}

/// Opens a plain file of at least `least` bytes. Devices and pipes, which could block, are refused.
UniqueFd open_file(const std::string& path, std::int64_t least, std::int64_t& bytes) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) refuse_file(path, errno);
  if (!S_ISREG(about.st_mode)) refuse(path + " is not a regular file");
  bytes = about.st_size;
  if (bytes < least) {
    refuse(fmt::format("{} is truncated: it has {} bytes, but the manifest says {}", path, bytes,
                       least));
  }
  return file;
}

/// Reads at `at` and returns the bytes read, fewer only at the file's end; on an error -errno.
std::int64_t read_at(int file, std::span<std::byte> into, std::int64_t at) {
  std::int64_t done = 0;
  while (done < std::ssize(into)) {
    const auto rest = into.subspan(static_cast<std::size_t>(done));
    const ssize_t size = ::pread(file, rest.data(), rest.size(), at + done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return -errno;
    if (size == 0) break;
    done += size;
  }
  return done;
}

std::string read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    refuse(
        fmt::format("{} is not a checkpoint: it has no {}; it was never completed, or is another "
                    "kind of folder",
                    folder, kManifestName));
  }
  std::int64_t bytes = 0;
  const UniqueFd file = open_file(path, 0, bytes);
  if (bytes > kMostManifest) refuse(path + " is larger than any manifest");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const std::int64_t got = read_at(file.get(), std::as_writable_bytes(std::span(text)), 0);
  if (got < 0) refuse_file(path, static_cast<int>(-got));
  text.resize(static_cast<std::size_t>(got));
  return text;
}

float to_float(const std::byte* from, DType dtype) {
  std::uint16_t half = 0;
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  std::memcpy(&half, from, sizeof(half));
  return dtype == DType::bf16 ? float_from_bf16(half) : float_from_f16(half);
}

void copy_floats(const std::byte* from, DType dtype, std::span<float> into) {
  if (dtype == DType::f32) {
    std::memcpy(into.data(), from, into.size_bytes());
    return;
  }
  for (float& value : into) {
    value = to_float(from, dtype);
    from += size_of(dtype);
  }
}

}  // namespace

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& folder) {
  const std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->folder_ = folder;
  try {
    checkpoint->manifest_ = parse_manifest(read_manifest(folder));
  } catch (const NewerVersion& error) {
    throw NewerVersion(error.kind(), fmt::format("{}/{}: {}", folder, kManifestName, error.what()),
                       error.hint());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(folder)) throw;
    throw Error(error.kind(), fmt::format("{}/{}: {}", folder, kManifestName, error.what()),
                error.hint().empty() ? kOther : error.hint());
  }
  const Manifest& manifest = checkpoint->manifest_;
  for (int chunk = 0; chunk < static_cast<int>(manifest.chunks.size()); ++chunk) {
    static_cast<void>(checkpoint->open_chunk(chunk));
  }
  checkpoint->index_names();
  return checkpoint;
}

std::shared_ptr<const Checkpoint> Checkpoint::of(Manifest manifest, std::vector<OpenChunk> chunks,
                                                 std::string name) {
  DS_ASSERT(chunks.size() == manifest.chunks.size());
  const std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->folder_ = std::move(name);
  checkpoint->manifest_ = std::move(manifest);
  checkpoint->open_chunks_ = std::move(chunks);
  checkpoint->index_names();
  return checkpoint;
}

void Checkpoint::index_names() {
  by_name_.resize(manifest_.tensors.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(
      by_name_, {}, [&](std::size_t i) -> const auto& { return manifest_.tensors[i].name; });
}

const TensorEntry* Checkpoint::tensor(std::string_view name) const {
  const auto name_of = [&](std::size_t i) -> std::string_view { return manifest_.tensors[i].name; };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return at != by_name_.end() && name_of(*at) == name ? &manifest_.tensors[*at] : nullptr;
}

const StateEntry* Checkpoint::state(std::string_view tensor_name, std::string_view name) const {
  const TensorEntry* const entry = tensor(tensor_name);
  if (entry == nullptr) return nullptr;
  const auto at = std::ranges::find(entry->states, name, &StateEntry::name);
  return at == entry->states.end() ? nullptr : &*at;
}

std::string Checkpoint::chunk_path(int chunk) const {
  if (!open_chunks_.empty()) return open_chunks_.at(static_cast<std::size_t>(chunk)).name;
  return folder_ + "/" + manifest_.chunks.at(static_cast<std::size_t>(chunk)).name;
}

std::int64_t Checkpoint::chunk_begin(int chunk) const {
  return open_chunks_.empty() ? 0 : open_chunks_.at(static_cast<std::size_t>(chunk)).begin;
}

UniqueFd Checkpoint::open_chunk(int chunk) const {
  if (!open_chunks_.empty()) {
    const OpenChunk& open = open_chunks_.at(static_cast<std::size_t>(chunk));
    UniqueFd copy(open.file ? ::fcntl(open.file.get(), F_DUPFD_CLOEXEC, 0) : -1);
    if (!copy) refuse_file(open.name, open.file ? errno : ENODATA);
    return copy;
  }
  std::int64_t bytes = 0;
  return open_file(chunk_path(chunk), manifest_.chunks.at(static_cast<std::size_t>(chunk)).bytes,
                   bytes);
}

PieceReader::PieceReader(std::shared_ptr<const Checkpoint> checkpoint)
    : checkpoint_(std::move(checkpoint)) {}

std::span<const std::byte> PieceReader::verified(const TensorEntry& tensor, const StateEntry& state,
                                                 const Piece& piece) {
  const auto bytes = static_cast<std::size_t>(piece.elements * size_of(state.dtype));
  if (held_ != &piece) {
    held_ = nullptr;
    buffer_.resize(std::max(buffer_.size(), bytes));
    fetch(tensor, state, piece, std::span(buffer_).first(bytes));
    held_ = &piece;
  }
  return std::span(buffer_).first(bytes);
}

/// Reads and verifies one piece into memory of its size.
void PieceReader::fetch(const TensorEntry& tensor, const StateEntry& state, const Piece& piece,
                        std::span<std::byte> into) {
  const std::int64_t bytes = std::ssize(into);
  const std::string path = checkpoint_->chunk_path(piece.chunk);
  const auto broken = [&](const std::string& why) {
    broken_chunk_ = piece.chunk;
    refuse(fmt::format("{}: {} of the {} of {} (bytes {} to {}) {}", path,
                       described(tensor.shape, piece), printable_text(state.name, 80),
                       printable_text(tensor.name, 80), piece.at, piece.at + bytes - 1, why));
  };
  if (chunk_number_ != piece.chunk) {
    chunk_number_ = -1;
    broken_chunk_ = piece.chunk;
    chunk_ = checkpoint_->open_chunk(piece.chunk);
    broken_chunk_ = -1;
    chunk_number_ = piece.chunk;
  }
  const std::int64_t got =
      read_at(chunk_.get(), into, checkpoint_->chunk_begin(piece.chunk) + piece.at);
  if (got < 0) {
    broken("cannot be read: " + std::generic_category().message(static_cast<int>(-got)));
  }
  bytes_read_ += got;
  if (got < bytes) broken("are missing: the file is truncated");
  const std::uint64_t found = XXH3_64bits(into.data(), into.size());
  if (found != piece.checksum) {
    broken(fmt::format("differ from what was written: their checksum is {:016x}, not {:016x}",
                       found, piece.checksum));
  }
}

void PieceReader::read(std::string_view tensor_name, std::string_view state_name,
                       std::int64_t first, std::span<float> into, int rank) {
  const TensorEntry* const tensor = checkpoint_->tensor(tensor_name);
  const StateEntry* const state = checkpoint_->state(tensor_name, state_name);
  DS_ASSERT(state != nullptr, "the caller checked that it exists");
  const std::int64_t end = first + std::ssize(into);
  DS_ASSERT(first >= 0 && end <= box_elements(tensor->shape));
  if (state->dtype != DType::f32 && state->dtype != DType::bf16 && state->dtype != DType::f16) {
    refuse(fmt::format("{}: the {} of {} have type {}, which this program cannot load",
                       checkpoint_->folder(), state_name, tensor_name, name_of(state->dtype)));
  }
  std::int64_t done = 0;
  for_each_run(tensor->shape, state->pieces, rank, {first, end}, [&](const Run& run) {
    const std::span<float> out = into.subspan(static_cast<std::size_t>(run.element - first),
                                              static_cast<std::size_t>(run.elements));
    done += run.elements;
    const bool is_whole = run.elements == run.piece->elements;
    if (is_whole && state->dtype == DType::f32 && held_ != run.piece)
      return fetch(*tensor, *state, *run.piece, std::as_writable_bytes(out));
    const auto bytes = verified(*tensor, *state, *run.piece);
    const std::int64_t skip = run.in_piece * size_of(state->dtype);
    copy_floats(bytes.data() + skip, state->dtype, out);
  });
  if (done != std::ssize(into)) {
    refuse(fmt::format("{}: rank {} has no {} of {}", checkpoint_->folder(), rank, state_name,
                       tensor_name));
  }
}

}  // namespace ds
