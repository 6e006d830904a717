// Included by NCCL's header; the backend has no fp8.
#pragma once
