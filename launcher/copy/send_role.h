// The root's end of `dslaunch copy`: sends the list, judges what nodes have already, sends bytes.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/copy/copy_role.h"
#include "launcher/copy/copy_source.h"
#include "launcher/copy/copy_tree.h"

namespace ds::launcher::copy {

class SendRole : public CopyRole {
 public:
  /// `tree`: who sends to whom. `address_of`: the address by which a node is known, or empty.
  SendRole(RoleContext& context, const CopyTask& task, SourceList list, CopyTree tree,
           std::function<std::string(int node)> address_of);

  void pump(int node) override;
  void on_message(int node, const CopyMessage& message) override;
  void left(int node) override;
  void work() override;

 private:
  struct Peer {
    std::size_t listed = 0;  // bytes of the list that were sent
    std::deque<CopyClaim> claims;
    std::deque<CopyFetch> fetches;
    std::size_t results = 0;
    std::size_t asked = 0;  // claims and fetches so far
    bool orphaned = false;  // has said that it lost its parent
    bool left = false;
  };
  void on(int node, const CopyHello& hello);
  void on(int node, const CopyClaim& claim);
  void on(int node, const CopyFetch& fetch);
  void on(int node, const CopyResult& result);
  void on(int node, const CopyServes& serves);
  void on(int node, const CopyOrphan& orphan);
  bool judge(int node, const CopyClaim& claim);
  bool send_some(int node, CopyFetch& fetch);
  bool may_ask(int node, std::uint32_t id);
  void finish_all_done();
  [[nodiscard]] bool is_known(std::uint32_t id) const { return id < source_.entries().size(); }
  Peer& peer(int node) { return peers_[static_cast<std::size_t>(node)]; }

  SharedSource source_;
  CopyTree tree_;
  std::function<std::string(int)> address_of_;
  std::string key_;
  Bytes list_;  // the same for all nodes
  std::vector<Peer> peers_;
  std::map<int, std::uint16_t> ports_;  // of nodes that serve others
  std::set<std::uint32_t> grown_;       // files that were counted as grown
};

}  // namespace ds::launcher::copy
