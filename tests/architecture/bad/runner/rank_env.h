// A runner file that reaches up into the launcher.
#pragma once
#include "engine/train/trainer.h"
#include "launcher/wire/cycle.h"
