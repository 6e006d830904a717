// NodeStore: the memory that the agent of a node holds for the ranks there.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/rank_channel.h"

namespace ds {

/// As the calls of RankChannel with these names. Threads: one at a time.
class NodeStore {
 public:
  virtual ~NodeStore() = default;
  virtual std::vector<KeptFile> kept(Deadline deadline) = 0;
  virtual void keep(const KeptFile& file) = 0;
  virtual void await_held(std::string_view name, Deadline deadline) = 0;
  virtual void drop(std::string_view name) = 0;
};

/// The store behind a rank channel, which outlives it.
class ChannelStore final : public NodeStore {
 public:
  explicit ChannelStore(RankChannel& channel) : channel_(channel) {}
  std::vector<KeptFile> kept(Deadline deadline) override { return channel_.kept(deadline); }
  void keep(const KeptFile& file) override { channel_.keep(file); }
  void await_held(std::string_view name, Deadline deadline) override {
    channel_.await_held(name, deadline);
  }
  void drop(std::string_view name) override { channel_.drop(name); }

 private:
  RankChannel& channel_;
};

}  // namespace ds
