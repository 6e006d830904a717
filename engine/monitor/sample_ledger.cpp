// SampleLedger: lines formatted into one buffer; the file is only appended to.
#include "engine/monitor/sample_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::string_view kPrefix = "samples-rank", kSuffix = ".jsonl";

/// Formats one member of all samples of a micro-batch as a list.
void add_numbers(std::string& text, std::string_view key, std::span<const TakenSample> batch,
                 std::int64_t TakenSample::*member) {
  fmt::format_to(std::back_inserter(text), ",\"{}\":[", key);
  for (std::size_t i = 0; i < batch.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", batch[i].*member);
  text += ']';
}

/// Returns where the last complete line of the file ends.
std::int64_t end_of_lines(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) throw_errno(path, errno, "check log.dir");
  std::array<char, 4096> block;
  std::int64_t end = facts.st_size;
  while (end > 0) {
    const auto count = std::min<std::int64_t>(end, block.size());
    const ssize_t got = ::pread(file, block.data(), static_cast<std::size_t>(count), end - count);
    if (got != count) throw_errno(path, got < 0 ? errno : EIO, "check log.dir");
    for (std::int64_t i = count; i > 0; --i)
      if (block[static_cast<std::size_t>(i - 1)] == '\n') return end - count + i;
    end -= count;
  }
  return 0;
}

}  // namespace

void ledger_line(std::int64_t step, std::uint64_t epoch, std::span<const TakenSample> taken,
                 std::string& text) {
  text.clear();
  fmt::format_to(std::back_inserter(text), "{{\"step\":{}", step);
  if (epoch > 0) fmt::format_to(std::back_inserter(text), ",\"epoch\":{}", epoch);
  text += ",\"taken\":[";
  for (std::size_t first = 0; first < taken.size();) {
    const TakenSample& head = taken[first];
    std::size_t last = first;
    while (last < taken.size() && taken[last].virtual_rank == head.virtual_rank &&
           taken[last].micro_step == head.micro_step)
      ++last;
    const std::span<const TakenSample> batch = taken.subspan(first, last - first);
    fmt::format_to(std::back_inserter(text), "{}{{\"virtual_rank\":{},\"micro_step\":{}",
                   first == 0 ? "" : ",", head.virtual_rank, head.micro_step);
    add_numbers(text, "samples", batch, &TakenSample::sample);
    add_numbers(text, "offsets", batch, &TakenSample::offset);
    text += '}';
    first = last;
  }
  text += "]}\n";
}

std::string ledger_name(int rank) { return fmt::format("{}{:04}{}", kPrefix, rank, kSuffix); }

bool is_ledger_name(const std::string& name) {
  if (name.size() <= kPrefix.size() + kSuffix.size()) return false;
  const auto digits =
      std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

SampleLedger::SampleLedger(const std::string& folder, int rank, std::uint64_t epoch)
    : path_(fmt::format("{}/{}", folder, ledger_name(rank))), epoch_(epoch) {
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (status) throw_errno(folder, status.value(), "check log.dir");
  file_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_) throw_errno(path_, errno, "check log.dir");
  if (::ftruncate(file_.get(), end_of_lines(file_.get(), path_)) != 0)
    throw_errno(path_, errno, "check log.dir");
}

void SampleLedger::write(std::int64_t step, std::span<const TakenSample> taken) {
  ledger_line(step, epoch_, taken, text_);
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t sent = ::write(file_.get(), rest.data(), rest.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw_errno(path_, errno, "check the free space on the disk");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace ds
