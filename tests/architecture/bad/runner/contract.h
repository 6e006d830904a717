// A contract that drags in the engine.
#pragma once
#include "engine/train/trainer.h"
