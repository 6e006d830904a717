// Fuzz target: a file of samples, with its header and every row of every field.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/base/error.h"
#include "engine/data/sample_file.h"
#include "fuzz/check_text.h"

namespace {

constexpr std::int64_t kTokens = 4, kLimit = 100, kMostRows = 100;

/// Puts the bytes into one file in memory and returns its path.
std::string path_of(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("samples", MFD_CLOEXEC);
  DS_ASSERT(::ftruncate(file, 0) == 0);
  DS_ASSERT(::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  return "/proc/self/fd/" + std::to_string(file);
}

void read_row(const ds::SampleFile& file, std::int64_t index) {
  const ds::SampleRow row = file.row(index);
  try {
    ds::check_row(row);
    for (const std::string_view name : ds::kFieldNames) {
      const bool of_encoder = name.starts_with("encoder_");
      const std::int64_t count =
          of_encoder ? std::min<std::int64_t>(file.encoder_len(), 64) : kTokens;
      std::array<std::int32_t, 64> out{};
      ds::fill_from_row(row, {.name = name, .first = 2, .limit = kLimit}, count, out.data());
      const bool is_number = name != ds::input::kDocuments && name != ds::input::kEncoderDocuments;
      for (const std::int32_t number : out)
        DS_ASSERT(number >= -1 && (!is_number || number < kLimit), "numbers are in range");
    }
  } catch (const ds::RowError& error) {
    DS_ASSERT(error.column < row[error.field].count || !row[error.field]);
    ds::test::check_for_terminal(error.what);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const ds::SampleFile file(path_of(data, size), kTokens);
    for (std::int64_t row = 0; row < std::min(file.rows(), kMostRows); ++row) read_row(file, row);
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
