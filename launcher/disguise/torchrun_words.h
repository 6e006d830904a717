// Parsed options of torchrun. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/disguise/disguise.h"
#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

struct TorchWords {
  std::string nodes = "1";
  std::string ranks = "1";
  std::optional<std::string> node_rank{}, master_addr{}, master_port{};
  std::string backend = "static";
  std::string endpoint{}, local_addr{};
  std::string run_id = "none";
  bool standalone = false;
  PythonForm form{};
  std::string max_restarts = "0";
  std::string role = "default";
  std::string log_dir{};
  std::string redirects = "0", tee = "0";
  std::string shown_ranks{};
  std::optional<std::string> grace{}, bind{};
};

inline constexpr std::string_view kOfTorch =
    "it applies to torchrun's own rendezvous, which is not used";

std::span<const ForeignDef<TorchWords>> torchrun_table();

}  // namespace ds::launcher
