// A pass that asks which of a model's ops it has, instead of reading the op's row.
#pragma once

inline bool is_dear(const Op& op) { return is<ops::Update>(op) || is<ops::Attention>(op); }
