// The row of a model's op, which may name the op.
#pragma once

using GoodRow = ops::Attention;
