// Contract between launcher and runner: names of environment variables, and exit codes.
#pragma once

#include "engine/base/error.h"

namespace ds::contract {

// Variables of every rank (ARCHITECTURE.md, "Environment contract").
inline constexpr const char* kRank = "RANK";
inline constexpr const char* kLocalRank = "LOCAL_RANK";
inline constexpr const char* kWorldSize = "WORLD_SIZE";
inline constexpr const char* kLocalWorldSize = "LOCAL_WORLD_SIZE";
inline constexpr const char* kNodeRank = "NODE_RANK";
inline constexpr const char* kGroupRank = "GROUP_RANK";
inline constexpr const char* kMasterAddr = "MASTER_ADDR";
inline constexpr const char* kMasterPort = "MASTER_PORT";
inline constexpr const char* kCrossRank = "CROSS_RANK";
inline constexpr const char* kCrossSize = "CROSS_SIZE";
inline constexpr const char* kLocalSize = "LOCAL_SIZE";
// Variables of torch for several programs in one job.
inline constexpr const char* kGroupWorldSize = "GROUP_WORLD_SIZE";
inline constexpr const char* kRoleName = "ROLE_NAME";
inline constexpr const char* kRoleRank = "ROLE_RANK";
inline constexpr const char* kRoleWorldSize = "ROLE_WORLD_SIZE";
inline constexpr const char* kCudaVisibleDevices = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kOmpNumThreads = "OMP_NUM_THREADS";
inline constexpr const char* kRunId = "TORCHELASTIC_RUN_ID";
inline constexpr const char* kUseAgentStore = "TORCHELASTIC_USE_AGENT_STORE";
inline constexpr const char* kGlooInterface = "GLOO_SOCKET_IFNAME";
inline constexpr const char* kNcclInterface = "NCCL_SOCKET_IFNAME";
inline constexpr const char* kAsyncErrorHandling = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
inline constexpr const char* kRestartCount = "TORCHELASTIC_RESTART_COUNT";
inline constexpr const char* kMaxRestarts = "TORCHELASTIC_MAX_RESTARTS";
// Variables of dslaunch. The key proves membership of the job; it has 64 hexadecimal digits.
inline constexpr const char* kJobId = "DSLAUNCH_JOB_ID";
inline constexpr const char* kJobKey = "DSLAUNCH_JOB_KEY";
inline constexpr const char* kEpoch = "DSLAUNCH_EPOCH";
/// Columns of the launcher's terminal for a line of rank 0 behind its prefix. Rank 0 then draws one
/// live line, ended by '\r'. "0": standard output is not a terminal, or --log-dir writes files.
inline constexpr const char* kLiveProgress = "DSLAUNCH_LIVE";
/// --grace: seconds between TERM and KILL of a rank that must stop ("10", "0.5").
inline constexpr const char* kGrace = "DSLAUNCH_GRACE";
/// Number of the descriptor of the channel to the agent (rank_channel.h).
inline constexpr const char* kRankChannel = "DSLAUNCH_RANK_CHANNEL";
/// "MIN:MAX" numbers of ranks between which the job may change (--nodes MIN:MAX).
inline constexpr const char* kElasticRanks = "DSLAUNCH_ELASTIC_RANKS";
// For measurements, set by users: collectives sleep as if the network had this speed.
inline constexpr const char* kTestWire = "DSLAUNCH_TEST_WIRE";

// Exit codes. In other cases a job exits with the code of the first failed rank, or 128 + its
// signal.
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfig = 65;
inline constexpr int kExitUnreachable = 69;
inline constexpr int kExitBug = 70;
inline constexpr int kExitDoNotRestart = 93;
// The state is kept or saved: begin again with whoever is there.
inline constexpr int kExitPaused = 94;
inline constexpr int kExitDeadline = 124;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalBase = 128;
inline constexpr int kExitHungUp = 129;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitTerminated = 143;

/// Returns the exit code of a process that ends with an Error.
constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return kExitUsage;
    case ErrorKind::config:
      return kExitConfig;
    case ErrorKind::unreachable:
      return kExitUnreachable;
    case ErrorKind::deadline:
      return kExitDeadline;
    case ErrorKind::comm:
      return kExitUnreachable;
    case ErrorKind::system:
      return 1;
    case ErrorKind::bug:
      return kExitBug;
  }
  return kExitBug;
}

}  // namespace ds::contract
