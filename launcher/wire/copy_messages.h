// Messages between `dslaunch copy` or `rcopy` and the program that it runs on each node, and their
// field lists (docs/protocol.md). They travel inside Stdin and Output frames.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "launcher/wire/fields.h"

namespace ds::launcher::copy {

enum class EntryKind : std::uint8_t { file, folder, link };
constexpr EntryKind last_value(EntryKind /*any*/) { return EntryKind::link; }

/// XXH3 with 128 bits, seeded by CopyTask::seed.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// The first message to a node: what it does.
struct CopyTask {
  bool gather = false;               // send `paths` to the root; else write to paths[0]
  std::vector<std::string> paths{};  // relative ones start at the home directory
  bool into_folder = false;          // paths[0] must be a folder
  bool recursive = false;            // folders with their content, links as links
  bool keep = false;                 // keep times, and modes regardless of the umask
  bool quick = false;                // a file of equal size and time is equal
  std::uint64_t seed = 0;
};
/// The first message of a node.
struct CopyHello {
  std::uint32_t version = 0;
};
/// A file, folder or link of the source, numbered from 0 in order. A folder comes before its
/// content.
struct CopyEntry {
  std::uint32_t id = 0;
  EntryKind kind = EntryKind::file;
  std::string path{};  // begins with the last name of the source: "models/a.bin"
  std::string link{};
  std::uint32_t mode = 0644;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::uint64_t size = 0;
  friend bool operator==(const CopyEntry&, const CopyEntry&) = default;
};
/// The list of entries is complete. `problem`: a source that cannot be read.
struct CopyListed {
  std::string problem{};
};
/// The target has a file of the same size, or the first `size` bytes of an interrupted copy.
/// Answered by CopyVerdict.
struct CopyClaim {
  std::uint32_t id = 0;
  bool whole = false;
  std::uint64_t size = 0;
  Digest digest{};
};
struct CopyVerdict {
  std::uint32_t id = 0;
  bool equal = false;
};
/// Asks for the bytes of a file from an offset on. Answered by CopyData and CopyEnd.
struct CopyFetch {
  std::uint32_t id = 0;
  std::uint64_t from = 0;
};
struct CopyData {
  std::uint32_t id = 0;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes{};
};
/// The file is complete if its digest agrees. `problem`: it could not be read, or has changed.
/// `grown`: it has more bytes by now than when it was listed.
struct CopyEnd {
  std::uint32_t id = 0;
  Digest digest{};
  std::string problem{};
  bool grown = false;
};
/// An entry is finished on a node.
struct CopyResult {
  std::uint32_t id = 0;
  bool unchanged = false;
  std::string problem{};
};
/// Asks a node to listen for other nodes, with a key of this copy, at the address by which it is
/// known. Answered by CopyServes; port 0: it cannot.
struct CopyServe {
  std::string address{};
  std::string key{};
};
struct CopyServes {
  std::uint16_t port = 0;
};
/// Names the node from which the bytes of files come; no address: from the root.
struct CopyParent {
  std::string address{};
  std::uint16_t port = 0;
};
/// The node cannot get files from its parent; it asks the root from now on.
struct CopyOrphan {
  std::string problem{};
};

void fields(auto& a, Digest& m) { a("low", m.low), a("high", m.high); }
void fields(auto& a, CopyTask& m) {
  a("gather", m.gather), a("paths", m.paths), a("into_folder", m.into_folder),
      a("recursive", m.recursive), a("keep", m.keep), a("quick", m.quick), a("seed", m.seed);
}
void fields(auto& a, CopyHello& m) { a("version", m.version); }
void fields(auto& a, CopyEntry& m) {
  a("id", m.id), a("kind", m.kind), a("path", m.path), a("link", m.link), a("mode", m.mode),
      a("modified", m.modified), a("size", m.size);
}
void fields(auto& a, CopyListed& m) { a("problem", m.problem); }
void fields(auto& a, CopyClaim& m) {
  a("id", m.id), a("whole", m.whole), a("size", m.size), a("digest", m.digest);
}
void fields(auto& a, CopyVerdict& m) { a("id", m.id), a("equal", m.equal); }
void fields(auto& a, CopyFetch& m) { a("id", m.id), a("from", m.from); }
void fields(auto& a, CopyData& m) { a("id", m.id), a("offset", m.offset), a("bytes", m.bytes); }
void fields(auto& a, CopyEnd& m) {
  a("id", m.id), a("digest", m.digest), a("problem", m.problem), a("grown", m.grown);
}
void fields(auto& a, CopyResult& m) {
  a("id", m.id), a("unchanged", m.unchanged), a("problem", m.problem);
}
void fields(auto& a, CopyServe& m) { a("address", m.address), a("key", m.key); }
void fields(auto& a, CopyServes& m) { a("port", m.port); }
void fields(auto& a, CopyParent& m) { a("address", m.address), a("port", m.port); }
void fields(auto& a, CopyOrphan& m) { a("problem", m.problem); }

/// The type byte of a message is its place here, from 1.
using CopyMessage =
    std::variant<CopyHello, CopyTask, CopyEntry, CopyListed, CopyClaim, CopyVerdict, CopyFetch,
                 CopyData, CopyEnd, CopyResult, CopyServe, CopyServes, CopyParent, CopyOrphan>;

}  // namespace ds::launcher::copy
