// A header of the base that includes a library and the engine above it.
#pragma once
#include <nlohmann/json.hpp>

#include "engine/train/trainer.h"
