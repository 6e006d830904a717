#pragma once
// This comment comes too late.
