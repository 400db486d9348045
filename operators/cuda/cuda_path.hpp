// The CUDA path: the plug-in of cuda_backend, its joins and group-bys.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/offers/path_row.hpp"
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

/// Opens the CUDA path for one join: a stream for each of `options.lanes`. The keys of a slice go up and are joined as
/// resident tables are, with row numbers as the result; pairs are found once and stay on the device. The table is built
/// of the side that `tuning.build` names, else of the smaller one (the left one of two equal ones). `device` and what
/// `options` refers to outlive the backend. Phases reported: upload, sample, partition, tasks, join, download, mark.
/// Errors: no_device, out_of_memory, device_failure; a kernel whose pairs do not fit the device fails with
/// limit_exceeded: a smaller slice may fit.
Result<std::unique_ptr<contract::JoinBackend>> open_cuda_join(CudaDevice& device,
                                                              contract::BackendOptions const& options);

/// Device bytes that a slice takes with a pair for each row of its larger side.
std::uint64_t cuda_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits);

extern contract::PathRow const kCudaPath;

}  // namespace garuda::cuda
