// Checks the notes in one pass; they are in the order in which the calls began.
#include "e2e/checkpoint/sync_order.h"

#include <fmt/format.h>

#include <set>

#include "engine/checkpoint/save_folder.h"

namespace ds::test {
namespace {

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Order {
 public:
  void take(const FileNote& note) {
    if (note.fault == "error") return;  // the call did nothing
    const std::string& path = note.path;
    if (note.call == "write" || note.call == "truncate") unsynced_.insert(path);
    if (note.call == "sync") {
      unsynced_.erase(path);
      if (path == uncertain_) uncertain_.clear();
      std::erase_if(leaving_, [&](const std::string& each) { return parent_of(each) == path; });
    }
    if (note.call == "unlink")  // a removed file need not reach the disk
      std::erase_if(unsynced_, [&](const std::string& each) {
        return each == path || each.starts_with(path + "/");
      });
    if (note.call == "rename" && step_of(name_of(path))) {
      renamed(path);
    } else if (note.call == "rename" || note.call == "unlink") {
      taken_away(path);
    }
    if (note.call == "rename" && name_of(path).find(".removed-") != std::string::npos)
      leaving_.insert(path);
    if (note.call == "open" || note.call == "unlink" || note.call == "rename")
      unsynced_.insert(parent_of(path));
  }
  [[nodiscard]] std::vector<std::string> violations() const { return violations_; }

 private:
  void renamed(const std::string& path) {
    for (const std::string& each : unsynced_)
      if (each.starts_with(path + ".tmp-"))
        violations_.push_back(fmt::format("{} is not synced, and gets its name", each));
    uncertain_ = parent_of(path);
  }

  void taken_away(const std::string& path) {
    const bool is_checkpoint =
        path.find("/step-") != std::string::npos && path.find(".tmp-") == std::string::npos;
    if (leaving_.contains(parent_of(path)))
      violations_.push_back(fmt::format("{} goes before its folder's new name is synced", path));
    if (is_checkpoint && !uncertain_.empty())
      violations_.push_back(fmt::format("{} goes before the rename is synced", path));
  }

  std::set<std::string> unsynced_;  // files, and folders whose names changed
  std::string uncertain_;           // folder of a rename that a power failure may undo
  std::set<std::string> leaving_;   // checkpoints whose last rename a power failure may undo
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> order_violations(const std::vector<FileNote>& notes) {
  Order order;
  for (const FileNote& note : notes) order.take(note);
  return order.violations();
}

}  // namespace ds::test
