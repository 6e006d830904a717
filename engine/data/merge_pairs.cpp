// merge_pairs(): copies documents from pair to pair.
#include "engine/data/merge_pairs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"
#include "engine/data/token_file.h"
#include "engine/packing/token_writer.h"

namespace ds {
namespace {

void rename_or_fail(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  throw Error(ErrorKind::system, fmt::format("{}: {}", to, std::strerror(errno)));
}

void copy(const TokenFile& from, TokenWriter& to) {
  EncodedDocument document;
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < from.documents(); ++i) {
    document.clear();
    const auto [first, last] = from.sequences_of(i);
    for (std::int64_t k = first; k < last; ++k) {
      const TokenSequence sequence = from.sequence(k);
      tokens.clear();
      for (std::int64_t t = sequence.begin; t < sequence.end; ++t)
        tokens.push_back(static_cast<std::int32_t>(from.tokens()[t]));
      document.add(tokens, sequence.is_trained);
    }
    to.add(document);
  }
}

}  // namespace

PairFacts merge_pairs(const std::vector<std::string>& parts, const std::string& name) {
  std::vector<std::shared_ptr<const TokenFile>> files;
  bool is_short = true;
  for (const std::string& part : parts) {
    files.push_back(TokenFile::open(part));
    is_short = is_short && size_of(files.back()->tokens().type) == 2;
  }
  // Beside the result, so that a rename suffices; the process in the name keeps two apart.
  const std::string unfinished = fmt::format("{}.part-{}", name, ::getpid());
  PairFacts facts;
  try {
    TokenWriter writer(unfinished, is_short ? 1 : INT32_MAX);
    for (const auto& file : files) copy(*file, writer);
    writer.finish(unfinished + "-index");
    facts = {writer.documents(), writer.tokens()};
    rename_or_fail(unfinished, name + ".bin");
    rename_or_fail(unfinished + "-index", name + ".idx");
  } catch (...) {
    ::unlink(unfinished.c_str());
    ::unlink((unfinished + "-index").c_str());
    throw;
  }
  return facts;
}

}  // namespace ds
