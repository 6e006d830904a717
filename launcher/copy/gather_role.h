// The root's end of `dslaunch rcopy`: writes the files of each node below one folder, with the
// node's name at the end of their first name.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "launcher/copy/copy_role.h"
#include "launcher/copy/target_files.h"

namespace ds::launcher::copy {

class GatherRole : public CopyRole {
 public:
  /// Errors:  Error{config} if `folder` cannot be opened or made.
  GatherRole(RoleContext& context, CopyTask task, const std::string& folder);

  void pump(int node) override;
  void on_message(int node, const CopyMessage& message) override;
  void left(int node) override;
  void work() override;

 private:
  struct Peer {
    std::unique_ptr<TargetFiles> files;
    std::unique_ptr<CopyTarget> target;
    std::vector<bool> is_file;  // by entry
    bool hashes = false;        // is in hashing_
    bool left = false;
  };
  void answer(int node, const CopyMessage& message);

  CopyTask task_;
  std::vector<Peer> peers_;
  std::vector<bool> asked_;
  std::deque<int> hashing_;  // nodes with files that are here already
};

}  // namespace ds::launcher::copy
