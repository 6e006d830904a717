// A disk in memory for tests of CopyTarget, which fails where the test says so.
#pragma once

#include <map>
#include <set>
#include <string>

#include "launcher/copy/copy_target.h"

namespace ds::test {

class FakeDisk : public launcher::copy::TargetDisk {
 public:
  std::map<std::string, std::string> files, parts, links;
  std::set<std::string> folders;
  std::string fails;  // the function that fails: "write"
  std::string opened;

  std::string look(const std::string& path, launcher::copy::Existing& found) override {
    using Kind = launcher::copy::Existing::Kind;
    if (folders.contains(path)) found.kind = Kind::folder;
    if (files.contains(path)) {
      found.kind = Kind::file;
      found.size = files[path].size();
      found.modified = 7;
    }
    if (parts.contains(path)) found.part_size = parts[path].size();
    return failure("look");
  }
  std::string make_folder(const std::string& path) override {
    folders.insert(path);
    return failure("make_folder");
  }
  std::string make_link(const std::string& path, const std::string& target) override {
    links[path] = target;
    return failure("make_link");
  }
  std::string hash(const std::string& path, bool part, std::uint64_t from, std::uint64_t size,
                   launcher::copy::Hasher& hasher) override {
    const std::string& text = part ? parts[path] : files[path];
    hasher.add(std::as_bytes(std::span(text).subspan(from, size)));
    return failure("hash");
  }
  std::string open(const std::string& path, std::uint64_t from) override {
    if (const std::string problem = failure("open"); !problem.empty()) return problem;
    opened = path;
    parts[path].resize(from);
    return {};
  }
  std::string write(std::span<const std::byte> bytes) override {
    parts[opened].append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return failure("write");
  }
  std::string commit(const launcher::copy::CopyEntry& /*entry*/) override {
    if (const std::string problem = failure("commit"); !problem.empty()) return problem;
    files[opened] = parts[opened];
    parts.erase(opened);
    opened.clear();
    return {};
  }
  void leave(bool remove) override {
    if (remove) parts.erase(opened);
    opened.clear();
  }
  std::string settle(const std::string& path, const launcher::copy::CopyEntry&) override {
    settled.push_back(path);
    return failure("settle");
  }
  std::vector<std::string> settled;

 private:
  [[nodiscard]] std::string failure(const std::string& function) const {
    return fails == function ? "cannot " + function : std::string();
  }
};

}  // namespace ds::test
