// A name as people write it -> the full names to ask for, in order. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// The most names that one look asks for: as many as one search list gives in practice.
inline constexpr std::size_t kMaxCandidates = 8;

/// Full names without the trailing dot. As glibc: a name that ends with a dot is the only one;
/// one with at least `ndots` dots is asked as it is before the search list, others behind it.
/// Unlike it: a name that already ends with a domain of the list is asked as it is alone, which
/// saves the questions whose answer is always no (gpt-0.gpt.ns.svc.cluster.local with ndots:5).
/// At most kMaxCandidates, the name as it is always among them. None: nothing that DNS can hold (an
/// empty label or one above 63 bytes, more than 253 bytes).
std::vector<std::string> candidate_names(std::string_view name, std::span<const std::string> search,
                                         int ndots);

}  // namespace ds::launcher
