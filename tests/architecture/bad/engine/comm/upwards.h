// An engine header that includes the runner, Asio and Gloo outside of its folder.
#pragma once
#include <gloo/context.h>

#include <asio.hpp>

#include "runner/rank_env.h"
