// The CUDA path of the join.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/cuda/cuda_device.hpp"

namespace garuda::cuda {

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

}  // namespace garuda::cuda
