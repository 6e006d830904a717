// A launcher file that reaches into the engine, beyond its base.
#include "engine/base/good.h"
#include "engine/train/trainer.h"
