// Text format of the algorithm cache: a version line, the identity, a line per product, a checksum.
#include "engine/kernels/cuda/algorithm_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace ds::cuda {
namespace {

constexpr std::string_view kFirstLine = "dslaunch matrix products, version 1\n";
constexpr std::string_view kChecksum = "checksum ";
constexpr std::size_t kChecksumLine = 9 + 16 + 1;

/// FNV-1a. Detects a truncated or edited file; offers no protection against forgery.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3U;
  }
  return hash;
}

/// Returns the text up to the next `end` and removes both from `text`.
std::optional<std::string_view> cut(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at + 1);
  return piece;
}

template <class T>
bool read(std::optional<std::string_view> word, int base, T& to) {
  if (!word || word->empty()) return false;
  const auto [end, problem] = std::from_chars(word->data(), word->data() + word->size(), to, base);
  return problem == std::errc{} && end == word->data() + word->size();
}

bool read_line(std::string_view line, ProductKey& key, Algorithm& algorithm) {
  for (std::int64_t& number : key.numbers) {
    if (!read(cut(line, ' '), 10, number)) return false;
  }
  for (std::uint64_t& word : algorithm.words) {
    if (!read(cut(line, ' '), 16, word)) return false;
  }
  return read(std::optional(line), 10, algorithm.workspace_bytes);
}

}  // namespace

const Algorithm* AlgorithmCache::find(const ProductKey& key) const {
  const auto at = algorithms_.find(key);
  return at == algorithms_.end() ? nullptr : &at->second;
}

const Algorithm& AlgorithmCache::put(const ProductKey& key, const Algorithm& algorithm) {
  return algorithms_[key] = algorithm;
}

std::string AlgorithmCache::text() const {
  std::string text = fmt::format("{}{}\n", kFirstLine, identity_);
  for (const auto& [key, algorithm] : algorithms_) {
    text += key.text();
    for (const std::uint64_t word : algorithm.words) text += fmt::format(" {:x}", word);
    text += fmt::format(" {}\n", algorithm.workspace_bytes);
  }
  return text + fmt::format("{}{:016x}\n", kChecksum, checksum(text));
}

std::string AlgorithmCache::take(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return "not a file of chosen algorithms of this version";
  if (text.size() < kFirstLine.size() + kChecksumLine) return "the file is truncated";
  const std::string_view body = text.substr(0, text.size() - kChecksumLine);
  if (text.substr(body.size()) != fmt::format("{}{:016x}\n", kChecksum, checksum(body))) {
    return "the file is damaged: its checksum does not match";
  }
  std::string_view lines = body.substr(kFirstLine.size());
  const auto identity = cut(lines, '\n');
  if (!identity || *identity != identity_) {
    return fmt::format("the file was made for \"{}\", but this machine is \"{}\"",
                       identity.value_or(""), identity_);
  }
  std::map<ProductKey, Algorithm> taken;
  while (!lines.empty()) {
    ProductKey key;
    Algorithm algorithm;
    const auto line = cut(lines, '\n');
    if (!line || !read_line(*line, key, algorithm)) return "a line cannot be read";
    taken[key] = algorithm;
  }
  algorithms_.merge(taken);
  return {};
}

std::string AlgorithmCache::path(const std::string& folder) const {
  return fmt::format("{}/products-{:016x}.txt", folder, checksum(identity_));
}

std::string AlgorithmCache::load(const std::string& folder) {
  const std::string name = path(folder);
  std::ifstream file(name, std::ios::binary);
  if (!file) return {};
  std::ostringstream text;
  text << file.rdbuf();
  const std::string reason = take(text.str());
  return reason.empty() ? reason : fmt::format("{}: {}", name, reason);
}

std::string AlgorithmCache::save(const std::string& folder) const {
  const std::string name = path(folder), part = fmt::format("{}.{}.part", name, ::getpid());
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return fmt::format("{}: {}", folder, problem.message());
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << text();
    file.flush();
    if (!file) {
      const std::string reason = std::strerror(errno);
      std::filesystem::remove(part, problem);
      return fmt::format("{}: {}", part, reason);
    }
  }
  std::filesystem::rename(part, name, problem);
  return problem ? fmt::format("{}: {}", name, problem.message()) : std::string();
}

}  // namespace ds::cuda
