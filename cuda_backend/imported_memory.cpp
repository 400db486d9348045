#include "cuda_backend/imported_memory.hpp"

#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {

Result<std::unique_ptr<ImportedMemory>> ImportedMemory::import(GarudaCudaImport const& request) {
  if (request.bytes == 0) return fail(ErrorCode::usage, "memory to import has no bytes");
  std::unique_ptr<ImportedMemory> imported(new ImportedMemory);
  cudaExternalMemoryHandleDesc handle{};
  handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
  handle.handle.fd = request.fd;
  handle.size = request.bytes;
  handle.flags = request.is_dedicated != 0 ? cudaExternalMemoryDedicated : 0;
  GARUDA_CUDA_TRY(cudaImportExternalMemory(&imported->memory_, &handle));
  cudaExternalMemoryBufferDesc range{};
  range.size = request.bytes;
  GARUDA_CUDA_TRY(cudaExternalMemoryGetMappedBuffer(&imported->mapped_, imported->memory_, &range));
  return imported;
}

ImportedMemory::~ImportedMemory() {
  // A device that is lost has lost its mappings, too.
  if (mapped_ != nullptr) (void)cudaFree(mapped_);
  if (memory_ != nullptr) (void)cudaDestroyExternalMemory(memory_);
}

}  // namespace garuda::cuda_backend
