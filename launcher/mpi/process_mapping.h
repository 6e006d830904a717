// PMI_process_mapping: which ranks share a node, in the form that MPICH reads. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// Returns "(vector,(FIRST_NODE,NODES,RANKS_PER_NODE),...)": blocks of consecutive nodes that have
/// as many consecutive ranks each. `node_of_rank` has the node of each rank. Returns an empty text
/// if the blocks need more than `limit` bytes; MPI libraries then compare host names.
/// Source: MPICH, src/util/mpir_nodemap.h: blocks are read again from the first while ranks are
///         left, which is how ranks that go round the nodes need one block.
std::string process_mapping(const std::vector<int>& node_of_rank, std::size_t limit);

}  // namespace ds::launcher
