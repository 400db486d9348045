// The CUDA path of the group-by.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cuda/cuda_device.hpp"

namespace garuda::cuda {

/// Opens the CUDA path for one group-by: a stream for each of `options.lanes`. Keys of a slice go up and are numbered
/// through one table, then columns one after the other, whose states are added up by number. `device` and what
/// `options` refers to outlive the backend. Phases reported: upload, group, number, range, aggregate, download.
/// Errors: no_device, out_of_memory, device_failure.
Result<std::unique_ptr<contract::GroupByBackend>> open_cuda_group_by(CudaDevice& device,
                                                                     contract::GroupByBackendOptions const& options);

/// Device bytes that a slice of `rows` rows takes at most, with keys and one column of values of so many words.
std::uint64_t cuda_group_by_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words);

}  // namespace garuda::cuda
