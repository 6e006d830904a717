// Fuzz target: Megatron's index and tokens, or a shard of llm.c, with every window and every row of
// whole documents.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/base/error.h"
#include "engine/data/packed_part.h"
#include "engine/data/window_part.h"
#include "fuzz/check_text.h"

namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kTokens = 4, kMostRows = 50;

/// A folder in memory, for the two files.
const std::string& folder() {
  static const std::string path = [] {
    std::string name = (fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) +
                       std::string("/token_fileXXXXXX");
    DS_ASSERT(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
  return path;
}

void write(const std::string& path, const std::uint8_t* data, std::size_t size) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void read_rows(const ds::DataPart& part, std::int64_t places) {
  for (std::int64_t place = 0; place < std::min(places, kMostRows); ++place) {
    const ds::SampleRow row = part.row({place, place});
    for (const ds::FieldRow& field : row.fields)
      for (std::int64_t i = 0; field && i < field.count; ++i) DS_ASSERT(field[i] >= -1);
  }
}

void read_file(const std::string& path) {
  const auto file = ds::TokenFile::open(path);
  if (file->documents() > 100'000) return;  // of an index that says so; nothing to be found
  ds::TokenStream stream;
  stream.add(file, 0, false);
  ds::TokenStream again = stream;
  if (stream.size() > kTokens)
    read_rows(ds::WindowPart(std::move(stream), kTokens, true), again.size() - kTokens);
  const ds::PackedPart part(std::move(again),
                            {.task = ds::Task::next_token,
                             .length = kTokens,
                             .encoder_length = 0,
                             .longs = ds::LongDocuments::split},
                            std::nullopt);
  read_rows(part, part.size());
}

}  // namespace

// The first byte says how long the index is; the tokens follow it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t length = std::min<std::size_t>(data[0], size - 2);
  const std::string tokens = folder() + "/a.bin", index = folder() + "/a.idx";
  write(tokens, data + 1 + length, size - 1 - length);
  fs::remove(index);
  if (length > 0) write(index, data + 1, length);
  try {
    read_file(tokens);
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
