/* A CUDA plug-in of another version of garuda: it has the entry, and does not speak ours. */
#include <stddef.h>
#include <stdint.h>

void const* garuda_cuda_api(uint32_t version);

void const* garuda_cuda_api(uint32_t version) {
  (void)version;
  return NULL;
}
