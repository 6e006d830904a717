// make_float4() and similar functions.
#pragma once

#include "vector_types.h"

#define DS_EMULATION_MAKE2(type, of) \
  constexpr type make_##type(of x, of y) { return type{x, y}; }
#define DS_EMULATION_MAKE4(type, of) \
  constexpr type make_##type(of x, of y, of z, of w) { return type{x, y, z, w}; }
DS_EMULATION_MAKE2(char2, signed char)
DS_EMULATION_MAKE2(uchar2, unsigned char)
DS_EMULATION_MAKE2(short2, short)
DS_EMULATION_MAKE2(ushort2, unsigned short)
DS_EMULATION_MAKE2(int2, int)
DS_EMULATION_MAKE2(uint2, unsigned)
DS_EMULATION_MAKE2(longlong2, long long)
DS_EMULATION_MAKE2(ulonglong2, unsigned long long)
DS_EMULATION_MAKE2(float2, float)
DS_EMULATION_MAKE2(double2, double)
DS_EMULATION_MAKE4(char4, signed char)
DS_EMULATION_MAKE4(uchar4, unsigned char)
DS_EMULATION_MAKE4(short4, short)
DS_EMULATION_MAKE4(ushort4, unsigned short)
DS_EMULATION_MAKE4(int4, int)
DS_EMULATION_MAKE4(uint4, unsigned)
DS_EMULATION_MAKE4(float4, float)
constexpr float3 make_float3(float x, float y, float z) { return float3{x, y, z}; }
constexpr int3 make_int3(int x, int y, int z) { return int3{x, y, z}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }
#undef DS_EMULATION_MAKE2
#undef DS_EMULATION_MAKE4
