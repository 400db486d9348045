// The CPU path's join without keys, and its strategies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/offers/offer.hpp"

namespace garuda::cpu {

/// The build column whose order is used, by options.tuning.method sorted_ranges: of those that `condition` bounds by
/// columns of the other side the one that leaves the fewest pairs of a sample; nullopt: none is.
std::optional<std::uint32_t> sorted_column(expr::PairCondition const& condition, Side build);

/// Opens the CPU path for one join without keys, by options.tuning.method: nested_loops or sorted_ranges, and build
/// side. `condition` and what `options` refers to outlive the backend. Slices that follow each other with one build
/// side share what is made of it. Thread-safe. Errors: out_of_memory; usage for sorted_ranges where no column of the
/// build side is bounded.
Result<std::unique_ptr<contract::ConditionBackend>> open_cpu_condition_join(contract::BackendOptions const& options,
                                                                            expr::PairCondition const& condition);

/// Upper bound of the host memory that a build side of so many rows and its kernels take.
std::uint64_t cpu_condition_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows) noexcept;

/// See ConditionRow::offers. Errors: usage for method=sorted_ranges where no column is bounded.
Result<contract::JoinOffers> cpu_condition_offers(contract::JoinInquiry const& inquiry);

}  // namespace garuda::cpu
