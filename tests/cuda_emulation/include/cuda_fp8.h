// Empty header: NCCL's header includes it, but the backend does not use fp8.
#pragma once
