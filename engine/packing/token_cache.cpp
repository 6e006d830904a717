// TokenCache: claims chunks by locks on files of their own, and renames finished pairs.
#include "engine/packing/token_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

std::string cache_folder(const std::string& given) {
  if (given != "auto") return given;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/dslaunch/tokens";
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/dslaunch/tokens";
  throw Error(ErrorKind::config, "data.cache: $HOME is not set, so there is no folder for tokens",
              "set data.cache to a folder");
}

Error failed(const std::string& path) {
  return {ErrorKind::system, fmt::format("{}: {}", path, std::strerror(errno)),
          "the tokens of texts are kept there; data.cache names another folder"};
}

/// A file that is locked while somebody works on a chunk. The kernel ends the lock with the
/// process, however it ends.
class Claim {
 public:
  /// Tries to lock the file at `path`, which is made if it is missing.
  explicit Claim(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_.get() < 0) throw failed(path);
    struct stat held {
    }, there{};
    is_ours_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file_.get(), &held) == 0 &&
               ::stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino;
  }
  [[nodiscard]] bool is_ours() const { return is_ours_; }

 private:
  UniqueFd file_;
  bool is_ours_ = false;
};

/// Returns whether a chunk's pair is finished, and nothing has been cut off since then.
bool is_made(const std::string& name) { return is_whole_pair(name + ".bin", name + ".idx"); }

void rename_or_fail(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw failed(to);
}

}  // namespace

TokenCache::TokenCache(const DataConfig& config, const DocumentEncoder& encoder)
    : config_(config), encoder_(encoder), folder_(cache_folder(config.cache)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw Error(ErrorKind::config,
                fmt::format("data.cache: {} cannot be made: {}", folder_, error.message()),
                "set data.cache to a folder that can be written");
}

std::string TokenCache::name_of(const RawChunk& chunk) const {
  const std::string text = encoder_.identity() + "\n" + chunk.identity;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{}/{:016x}{:016x}", folder_, hash.high64, hash.low64);
}

void TokenCache::write(const RawChunk& chunk, const std::string& part,
                       const std::string& name) const {
  TokenWriter writer(part + "-tokens", encoder_.vocab());
  EncodedDocument encoded;
  read_documents(chunk, config_, [&](RawDocument& document, const auto& place) {
    try {
      encoder_.encode(document, encoded);
      writer.add(encoded);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;  // of the writer, which names its file
      throw Error(error.kind(), fmt::format("{}: {}", place(), error.what()), error.hint());
    }
  });
  writer.finish(part + "-index");
  rename_or_fail(part + "-tokens", name + ".bin");
  rename_or_fail(part + "-index", name + ".idx");  // with it, the pair counts as finished
}

/// Returns false if another process works on it. `waits`: makes it all the same.
bool TokenCache::make(const RawChunk& chunk, const std::string& name, bool waits) const {
  if (is_made(name)) return true;
  // Locks of dead hosts on network disks may stay; such a chunk is made beside them.
  const std::string part = waits ? fmt::format("{}.part-{}", name, ::getpid()) : name + ".part";
  const Claim claim(part);
  if (!claim.is_ours()) return is_made(name);
  if (is_made(name)) {  // since the first look
    ::unlink(part.c_str());
    return true;
  }
  try {
    write(chunk, part, name);
  } catch (...) {
    for (const char* const ending : {"-tokens", "-index", ""}) ::unlink((part + ending).c_str());
    throw;
  }
  ::unlink(part.c_str());  // the last step, so that nobody else claims the chunk before
  return true;
}

std::vector<std::string> TokenCache::fill(const std::vector<RawChunk>& chunks,
                                          const PackShare& share) const {
  constexpr auto kPoll = std::chrono::milliseconds(50);
  constexpr auto kPatience = std::chrono::minutes(10);  // for one chunk of another process
  std::vector<std::string> names;
  std::int64_t all = 0;
  for (const RawChunk& chunk : chunks) {
    names.push_back(name_of(chunk));
    all += chunk.bytes;
  }
  const std::size_t first = chunks.size() * static_cast<std::size_t>(share.rank) /
                            static_cast<std::size_t>(std::max(share.ranks, 1));
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error;
  std::mutex mutex;
  const auto tell = [&](std::int64_t bytes) {
    const std::int64_t now = done += bytes;
    const std::scoped_lock lock(mutex);
    if (share.tell) share.tell(now, all);
  };
  const auto work = [&] {
    std::vector<std::size_t> others;  // in work elsewhere
    for (std::size_t i = next++; i < chunks.size() && !failed; i = next++) {
      const std::size_t at = (first + i) % chunks.size();
      if (make(chunks[at], names[at], false)) {
        tell(chunks[at].bytes);
      } else {
        others.push_back(at);
      }
    }
    for (const std::size_t at : others) {
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      while (!failed && !make(chunks[at], names[at], std::chrono::steady_clock::now() >= deadline))
        std::this_thread::sleep_for(kPoll);
      if (!failed) tell(chunks[at].bytes);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(share.threads, 1); ++i)
      threads.emplace_back([&] {
        try {
          work();
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (!failed.exchange(true)) error = std::current_exception();
        }
      });
  }
  if (error) std::rethrow_exception(error);
  for (std::string& name : names) {
    name += ".bin";
    std::error_code ignored;
    if (fs::file_size(name, ignored) == 0) name.clear();
  }
  return names;
}

}  // namespace ds
