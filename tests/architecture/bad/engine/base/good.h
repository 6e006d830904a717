// A header of the base that keeps every rule.
#pragma once
#include <fmt/format.h>
#include <sys/types.h>

#include <vector>
