// What a job must learn from this machine, and small questions about nodes and files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/job/rank_environment.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

std::uint64_t random_job_id();

/// 16 bytes, any.
std::string random_secret();

/// A random key, and a random id unless one is given; live progress if `err_fd` is a terminal.
JobIdentity new_identity(int err_fd, std::uint64_t id = 0);

bool is_ignored(int signo);

/// Both are the same terminal, file or pipe.
bool same_file(int fd, int other_fd);

/// The address this machine would use as its own on the way to `address`; empty if it is not
/// numeric or has no route. Sends nothing.
std::string own_address_towards(const std::string& address);

EnvList master_env(const std::string& address, std::uint16_t port);

/// `node` -1 has none.
bool is_rank_of(const Placement& placement, int node, int rank);

/// Why an agent of another version is no use.
std::string version_reason(const std::string& host, const Hello& hello);

/// Why the ranks of a node cannot be bound there; empty if they can.
std::string bind_problem(const std::string& host, Bind bind, std::size_t ranks, const Hello& hello);

}  // namespace ds::launcher
