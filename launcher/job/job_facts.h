// Facts that a job needs about this machine, its terminal, its nodes and its files. Also creates
// ids and secrets of jobs, and log folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/job/output_plan.h"
#include "launcher/job/rank_environment.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

std::uint64_t random_job_id();
/// Returns 16 random bytes.
std::string random_secret();

/// Creates a random key, and an id unless given.
JobIdentity new_identity(std::uint64_t id = 0);

bool is_ignored(int signo);
/// Returns whether two descriptors are the same terminal, file or pipe.
bool same_file(int fd, int other_fd);

/// Returns this machine's source address for packets to `address`; empty if `address` is not
/// numeric or has no route. Sends nothing.
std::string own_address_towards(const std::string& address);

/// Returns whether the rank is on the node; false for `node` -1.
bool is_rank_of(const Placement& placement, int node, int rank);

/// Returns why an agent of another version cannot be used.
std::string version_reason(const std::string& host, const Hello& hello);

/// Returns why the ranks of a node cannot be bound there; empty if they can.
std::string bind_problem(const std::string& host, Bind bind, std::size_t ranks, const Hello& hello);

Screens look_at_screens(int out_fd, int err_fd);
/// Returns the size of the first of these descriptors that is a terminal.
std::optional<Window> terminal_size(int fd, int other_fd);

/// Makes the folders of these files, before anything runs.
/// Errors:  Error{config} for a folder that cannot be made or written.
void make_log_folders(const std::vector<std::string>& files);

}  // namespace ds::launcher
