// Only engine/storage talks to io_uring.
#pragma once
#include <linux/io_uring.h>
