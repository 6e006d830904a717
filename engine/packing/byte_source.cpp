// ByteSource: plain files, gzip by zlib, zstd by libzstd.
#include "engine/packing/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds {
namespace {

Error refuse(const std::string& path, std::string_view why, std::string hint = {}) {
  return {ErrorKind::config, fmt::format("data file {}: {}", path, why), std::move(hint)};
}

class PlainSource : public ByteSource {
 public:
  PlainSource(const std::string& path, std::int64_t begin)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), at_(begin) {
    if (file_.get() < 0) throw refuse(path_, std::strerror(errno));
  }
  std::size_t read(std::span<char> out) override {
    for (;;) {
      const ssize_t got = ::pread(file_.get(), out.data(), out.size(), at_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw refuse(path_, std::strerror(errno));
      at_ += got;
      return static_cast<std::size_t>(got);
    }
  }

 private:
  std::string path_;
  UniqueFd file_;
  off_t at_;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(const std::string& path)
      : path_(path), file_(::gzopen(path.c_str(), "rbe"), ::gzclose) {
    if (!file_) throw refuse(path_, std::strerror(errno));
    ::gzbuffer(file_.get(), 1U << 18U);
  }
  std::size_t read(std::span<char> out) override {
    const int got = ::gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
    int code = Z_OK;
    const char* const why = ::gzerror(file_.get(), &code);
    if (got >= 0 && code != Z_BUF_ERROR) return static_cast<std::size_t>(got);
    throw refuse(path_, fmt::format("it is no whole gzip file: {}", why), "copy it again");
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path),
        file_(path, 0),
        stream_(::ZSTD_createDStream(), ::ZSTD_freeDStream),
        held_(::ZSTD_DStreamInSize()) {}
  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer made{out.data(), out.size(), 0};
    while (made.pos == 0) {
      if (given_.pos == given_.size) {
        given_ = {held_.data(), file_.read(held_), 0};
        if (given_.size == 0 && is_between_) return 0;
        if (given_.size == 0) throw refuse(path_, "it is cut off", "copy it again");
      }
      const std::size_t left = ::ZSTD_decompressStream(stream_.get(), &made, &given_);
      if (::ZSTD_isError(left) != 0U)
        throw refuse(path_, fmt::format("it is no zstd file: {}", ::ZSTD_getErrorName(left)),
                     "copy it again");
      is_between_ = left == 0;
    }
    return made.pos;
  }

 private:
  std::string path_;
  PlainSource file_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> held_;
  ZSTD_inBuffer given_{nullptr, 0, 0};
  bool is_between_ = true;  // two frames, where a file may end
};

}  // namespace

bool is_compressed(const std::string& path) {
  return path.ends_with(".gz") || path.ends_with(".zst");
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, std::int64_t begin) {
  if (path.ends_with(".gz")) return std::make_unique<GzipSource>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdSource>(path);
  return std::make_unique<PlainSource>(path, begin);
}

std::string read_all(ByteSource& source) {
  std::string text;
  constexpr std::size_t kPiece = 1 << 18;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const std::size_t got = source.read(std::span(text).subspan(before));
    text.resize(before + got);
    if (got == 0) return text;
  }
}

}  // namespace ds
