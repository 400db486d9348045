// Memory that another API allocated on the same GPU, seen by CUDA without a copy.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Owns CUDA's view of the memory; the other API's owner outlives it.
class ImportedMemory {
 public:
  /// Takes over `request.fd` when it succeeds; into the thread's device.
  /// Errors: usage for no bytes; device_failure when the memory is not of this GPU, or not shareable.
  static Result<std::unique_ptr<ImportedMemory>> import(GarudaCudaImport const& request);
  ImportedMemory(ImportedMemory const&) = delete;
  ImportedMemory& operator=(ImportedMemory const&) = delete;
  /// The device is done with it.
  ~ImportedMemory();

  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(mapped_); }

 private:
  ImportedMemory() = default;

  cudaExternalMemory_t memory_ = nullptr;
  void* mapped_ = nullptr;
};

}  // namespace garuda::cuda_backend
